"""The gate on the real stack: red, green, and a wrong fix as declared. Red again after a reset: test_by_hand."""

import json

import pytest

from workbench import gate, lab, notebooks, recording, report
from workbench.lab import ROOT


@pytest.fixture(scope="module", params=lab.names())
def ran(request):
    """A lab, and what came of what is run of it: the broken stack looked at closely, of the others what decides. `make gate` runs
    all of them, closely."""
    chosen = lab.load(request.param)
    return chosen, gate.run_scenarios(chosen, gate.tested(chosen), closely={"broken"})


def test_every_scenario_is_what_it_is_declared_to_be(ran):
    chosen, results = ran
    assert [(result.name, result.judgement.verdict) for result in results] == [
        (result.name, chosen.scenarios[result.name].expected) for result in results
    ], [result.judgement.reasons for result in results]
    assert {"red", "green"} <= {result.judgement.verdict for result in results}


def test_the_capture_is_whole(ran):
    for result in ran[1]:
        assert result.run.meta["packets"]["dropped"] == 0
        assert result.run.meta["packets"]["captured"] > 0


def test_a_trimmed_run_comes_to_the_same_verdict_by_the_same_facts(ran, tmp_path):
    """Not to the same figures: a recorded run keeps the packets of some connections, and counts those."""
    chosen, results = ran
    for result in results:
        trimmed = gate.oracle.judge(chosen, recording.trim(result.run, chosen, tmp_path / result.name))
        assert trimmed.verdict == result.judgement.verdict
        assert trimmed.facts.keys() == result.judgement.facts.keys()


def test_the_summary_tells_the_latest_of_each_scenario(ran):
    chosen, results = ran
    summary = json.loads((ROOT / "runs" / chosen.name / "summary.json").read_text())
    assert summary["lab"] == chosen.name
    for result in results:
        entry = summary["scenarios"][result.name]
        assert entry["verdict"] == result.judgement.verdict
        assert entry["facts"] == result.judgement.facts
        assert set(entry["versions"]) == set(chosen.versions)
        assert {"kind", "expected", "reasons", "disturbed", "seconds"} <= set(entry)


def test_the_report_is_one_page_that_needs_nothing_else(ran):
    chosen, _ = ran
    page = report.write(chosen, report.latest(chosen)).read_text()
    assert "<svg" in page
    assert "<script" not in page
    assert "src=" not in page.replace('xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    assert all(f"<code>{name}</code>" in page for name in chosen.story())


def test_the_notebook_comes_to_the_same_conclusion_on_a_fresh_run(ran, tmp_path):
    """On that which was looked at closely; of the other scenarios it reads the recorded runs."""
    chosen, results = ran
    runs = recording.available(chosen) | {"broken": results[0].run}
    (tmp_path / chosen.name).mkdir()
    for name, run in runs.items():
        (tmp_path / chosen.name / name).symlink_to(run.folder)
    path = ROOT / "notebooks" / f"{chosen.name}.ipynb"
    fresh = notebooks.executed(path, runs=tmp_path)
    assert notebooks.conclusion(fresh) == notebooks.conclusion(notebooks.nbformat.read(path, as_version=4))
