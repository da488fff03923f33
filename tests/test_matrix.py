"""The matrices: what is recorded is whole, agrees with the oracles and with the scenarios, and is drawn as it is."""

import dataclasses

import pytest
import yaml
from composed import ComposeLoader, stack_of

from workbench import gate, lab, matrix, report
from workbench.lab import ROOT, Axis, LabError


def results(chosen: lab.Lab) -> list[matrix.Result]:
    return [matrix.recorded(chosen, name) for name in chosen.matrices]


def chosen_by(lab_: lab.Lab, value: str | dict, services: list[str]) -> set[tuple]:
    """What a value changes in the broken stack, service by service."""
    if isinstance(value, dict):
        made = {service: {"environment": value} for service in services}
    else:
        overlay = lab_.overlay(value)
        # A SafeLoader under another name.
        made = yaml.load(overlay.read_text(), ComposeLoader)["services"] if overlay else {}
    flat = set()
    for service, change in made.items():
        flat |= {(service, name, str(to)) for name, to in change.get("environment", {}).items()}
        flat |= {(service, "volume", entry) for entry in change.get("volumes", [])}
        flat |= {(service, key, str(to)) for key, to in change.items() if key not in ("environment", "volumes", "build")}
    return flat


def broken_choice(lab_: lab.Lab) -> set[tuple]:
    services = stack_of(lab_)["services"].items()
    return {(name, variable, str(to)) for name, each in services for variable, to in each.get("environment", {}).items()}


def test_every_lab_has_a_matrix_with_both_colours(each_lab):
    assert each_lab.matrices
    for result in results(each_lab):
        assert {"red", "green"} <= {cell.verdict for cell in result.cells}
        assert result.host["cpus"] > 0


def test_a_recorded_verdict_is_what_the_oracles_say(each_lab):
    for result in results(each_lab):
        for cell in result.cells:
            again = gate.oracle.weigh(each_lab.oracles_of("broken"), cell.facts)[0] if cell.facts else "failed"
            assert cell.verdict == again, cell
            assert cell.reasons


def test_a_cell_that_is_a_scenario_is_what_that_is_declared_to_be(each_lab):
    """Found by what the overlays change; what is set to what the broken stack has is no change."""
    default = broken_choice(each_lab)
    declared = {frozenset(chosen_by(each_lab, name, []) - default): entry for name, entry in each_lab.scenarios.items()}
    met, named = 0, set()
    for result in results(each_lab):
        axes = each_lab.matrices[result.name]
        named |= {value for value in (*axes.rows.values.values(), *axes.columns.values.values()) if isinstance(value, str)}
        for cell in result.cells:
            both = chosen_by(each_lab, axes.rows.values[cell.row], axes.rows.services)
            both |= chosen_by(each_lab, axes.columns.values[cell.column], axes.columns.services)
            if entry := declared.get(frozenset(both - default)):
                met += 1
                assert cell.verdict == entry.expected, cell
    assert met >= min(4, len(named))


def test_what_is_drawn_says_what_was_measured(each_lab):
    for result in results(each_lab):
        (drawn,) = matrix.picture(result).to_dict()["datasets"].values()
        said = [(field["row"], field["column"], field["verdict"], field["figures"]) for field in drawn]
        assert said == [(cell.row, cell.column, cell.verdict, cell.figures(each_lab)) for cell in result.cells]
        assert matrix.table(result).row_count == len(each_lab.matrices[result.name].rows.values)


def test_figures_are_those_that_decide(each_lab):
    (first, *_) = results(each_lab)
    cell = next(cell for cell in first.cells if cell.facts)
    assert cell.figures(each_lab) == " / ".join(report.figure(cell.facts, column) for column in each_lab.deciding())


def test_another_verdict_than_the_recorded_one_is_named(each_lab):
    (first, *_) = results(each_lab)
    assert matrix.unlike(first) == []
    before, *others = first.cells
    turned = matrix.Cell(before.row, before.column, "undecided", [], {})
    fresh = matrix.Result(each_lab, first.name, {}, "", [turned, *others])
    assert matrix.unlike(fresh) == [f"{before.row} with {before.column}: undecided, recorded as {before.verdict}"]


def test_what_others_disturbed_is_not_recorded(each_lab, monkeypatch):
    (first, *_) = results(each_lab)
    written = []
    monkeypatch.setattr(matrix, "write", lambda result, path: written.append(path))
    matrix.publish(dataclasses.replace(first, cells=[*first.cells[1:], dataclasses.replace(first.cells[0], disturbed=True)]))
    assert not written
    matrix.publish(first)
    assert written == [ROOT / "captures" / each_lab.name / "matrices" / f"{first.name}.json"]


def test_a_recorded_matrix_with_other_rows_is_refused(each_lab):
    name = next(iter(each_lab.matrices))
    axes = each_lab.matrices[name]
    rows = Axis(title=axes.rows.title, services=axes.rows.services, values=axes.rows.values | {"one more": "broken"})
    longer = axes.model_copy(update={"rows": rows})
    with pytest.raises(LabError, match="other rows or columns"):
        matrix.recorded(each_lab.model_copy(update={"matrices": {name: longer}}), name)


def test_a_lab_without_a_record_says_how_to_make_one(each_lab):
    name = next(iter(each_lab.matrices))
    bare = each_lab.model_copy(update={"matrices": {"none": each_lab.matrices[name]}})
    with pytest.raises(FileNotFoundError, match=f"make matrix LAB={each_lab.name} RECORD=yes"):
        matrix.recorded(bare, "none")
    assert (ROOT / "captures" / each_lab.name / "matrices").is_dir()
