"""A lab's matrices: every row with every column, run and judged as scenarios are. Who is affected?"""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import altair as alt
from rich.table import Table

from workbench import console, gate, ledger, plots, recording, report, stack
from workbench.lab import ROOT, Axis, Lab, LabError, load, names
from workbench.stack import Setup

#: Recorded results, captures/<lab>/matrices/<name>.json, and fresh ones, runs/<lab>/matrices/<name>.json.
FOLDER = "matrices"


@dataclass(frozen=True)
class Cell:
    """One row with one column, judged. `facts` are those that the oracles look at; `disturbed`: others used the machine."""

    row: str
    column: str
    verdict: str
    reasons: list[str]
    facts: dict
    disturbed: bool = False

    def figures(self, lab: Lab) -> str:
        """What decided, in the order of the lab's columns; empty where nothing came so far."""
        return " / ".join(report.figure(self.facts, column) for column in lab.deciding()) if self.facts else ""


@dataclass(frozen=True)
class Result:
    """A matrix, run. `host` and `started` are those of its first run that came up."""

    lab: Lab
    name: str
    host: dict
    started: str
    cells: list[Cell]

    def at(self, row: str, column: str) -> Cell:
        return next(cell for cell in self.cells if (cell.row, cell.column) == (row, column))

    def rows(self) -> Iterator[tuple[str, list[Cell]]]:
        """Each row with its cells, in the order of lab.toml."""
        matrix = self.lab.matrices[self.name]
        for row in matrix.rows.values:
            yield row, [self.at(row, column) for column in matrix.columns.values]


def measure(lab: Lab, name: str) -> Result:
    """Runs every cell of a matrix, and writes what is known after each. Raises StackError where an image does not build."""
    matrix = lab.matrices[name]
    stack.sweep()
    values = (*matrix.rows.values.values(), *matrix.columns.values.values())
    gate.build(lab, ["broken", *(value for value in values if isinstance(value, str) and value in lab.scenarios)])
    target = gate.RUNS / lab.name / FOLDER / f"{name}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    settings: dict[str, str] = {}
    cells: list[Cell] = []
    host, started = {}, ""
    pairs = list(itertools.product(matrix.rows.values, matrix.columns.values))
    for number, (row, column) in enumerate(pairs, start=1):
        console.err.print(f"[bold]{lab.name}[/bold] {name} {number}/{len(pairs)}: {row} with {column}")
        run, judgement = gate.measured(_setup(lab, name, row, column, target.parent), settings, _runs(target, row, column))
        host, started = host or run.meta.get("host", {}), started or run.meta["started"]
        asked = {fact for each in lab.oracles_of("broken").values() for fact in (each.fact, each.samples)}
        facts = {fact: value for fact, value in judgement.facts.items() if fact in asked}
        cells.append(Cell(row, column, judgement.verdict, judgement.reasons, facts, run.meta["disturbed"]))
        console.err.print(f"  {judgement.verdict}", style=report.STYLE[judgement.verdict])
        for reason in judgement.reasons:
            console.err.print(f"    {reason}", style="dim", markup=False)
        result = Result(lab, name, host, started, cells)
        write(result, target)
    return result


def _setup(lab: Lab, name: str, row: str, column: str, folder: Path) -> Setup:
    """A cell's stack: the broken one, with the row's and the column's overlays."""
    matrix = lab.matrices[name]
    overlays = [
        _overlay(lab, axis, label, folder / f"{name}.{which}.json")
        for which, axis, label in (("row", matrix.rows, row), ("column", matrix.columns, column))
    ]
    files = (lab.folder / "compose.yaml", *(overlay for overlay in overlays if overlay))
    return Setup(lab, f"{row} x {column}", files, f"case-{lab.case}{stack.RUN_SUFFIX}")


def _overlay(lab: Lab, axis: Axis, label: str, fresh: Path) -> Path | None:
    value = axis.values[label]
    if isinstance(value, str):
        return lab.overlay(value)
    # Compose reads JSON as well.
    fresh.write_text(json.dumps({"services": {service: {"environment": value} for service in axis.services}}))
    return fresh


def _runs(target: Path, row: str, column: str) -> Path:
    return target.with_suffix("") / re.sub(r"[^\w.]+", "_", f"{row} x {column}")


def write(result: Result, path: Path) -> None:
    """Writes a result as JSON, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    data = {"lab": result.lab.name, "matrix": result.name, "host": result.host, "started": result.started}
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(data | {"cells": [vars(cell) for cell in result.cells]}, indent=1) + "\n")
    partial.replace(path)


def recorded(lab: Lab, name: str) -> Result:
    """The recorded result of a matrix. Raises FileNotFoundError, and LabError where lab.toml has another matrix by now."""
    path = ROOT / "captures" / lab.name / FOLDER / f"{name}.json"
    if not path.is_file():
        raise FileNotFoundError(f"{path.relative_to(ROOT)}: not there; make matrix LAB={lab.name} RECORD=yes makes it")
    data = json.loads(path.read_text())
    result = Result(lab, name, data["host"], data["started"], [Cell(**cell) for cell in data["cells"]])
    matrix = lab.matrices[name]
    if [(cell.row, cell.column) for cell in result.cells] != list(itertools.product(matrix.rows.values, matrix.columns.values)):
        raise LabError(f"{path.relative_to(ROOT)}: other rows or columns than in lab.toml; record it again")
    return result


def missing() -> str | None:
    """What some lab has not recorded yet, and how that is done; None where all is recorded."""
    try:
        for lab in map(load, names()):
            for scenario in lab.scenarios:
                recording.published(lab.name, scenario)
            for name in lab.matrices:
                recorded(lab, name)
    except FileNotFoundError as error:
        return str(error)
    return None


def publish(result: Result) -> None:
    """Makes a fresh result the recorded one, unless others used the machine meanwhile."""
    for cell in result.cells:
        if cell.disturbed:
            when = f"{cell.row} with {cell.column}"
            said = f"  {result.name}: others used the machine during {when}, so what is recorded stays as it was"
            console.err.print(said, style="yellow", markup=False)
            return
    write(result, ROOT / "captures" / result.lab.name / FOLDER / f"{result.name}.json")


def unlike(fresh: Result) -> list[str]:
    """Where a fresh result comes to other verdicts than the recorded one; empty as well where none is recorded."""
    try:
        before = recorded(fresh.lab, fresh.name)
    except (FileNotFoundError, LabError):
        return []
    return [
        f"{now.row} with {now.column}: {now.verdict}, recorded as {then.verdict}"
        for now in fresh.cells
        if (then := before.at(now.row, now.column)).verdict != now.verdict
    ]


def table(result: Result) -> Table:
    """A matrix on the terminal."""
    matrix = result.lab.matrices[result.name]
    shown = Table(title=f"{matrix.says}\n{legend(result.lab)}", title_justify="left")
    shown.add_column(matrix.rows.title)
    for column in matrix.columns.values:
        shown.add_column(column, overflow="fold")
    for row, cells in result.rows():
        shown.add_row(row, *(f"[{report.STYLE[cell.verdict]}]{cell.verdict}[/] {cell.figures(result.lab)}" for cell in cells))
    return shown


def legend(lab: Lab) -> str:
    """What the figures in a cell are."""
    return " / ".join(column.title for column in lab.deciding())


def picture(result: Result) -> alt.LayerChart:
    """A matrix, drawn."""
    matrix = result.lab.matrices[result.name]
    cells = [
        {"row": cell.row, "column": cell.column, "verdict": cell.verdict, "figures": cell.figures(result.lab)}
        for cell in result.cells
    ]
    return plots.matrix(cells, matrix.rows.title, matrix.columns.title, matrix.says, legend(result.lab))


def draw(result: Result) -> Path:
    """Writes a fresh result's picture beside it."""
    path = gate.RUNS / result.lab.name / FOLDER / f"{result.name}.svg"
    path.write_text(plots.svg(picture(result)))
    return path


def pages() -> dict[Path, str]:
    """docs/matrices.md, with every recorded matrix of every lab: path to text."""
    lines = [
        "# Who is affected",
        "",
        "Versions and settings, each with each: every cell was run on the whole stack and judged as scenarios are. Generated by "
        "`make publish` from what `make matrix` recorded in captures/; nothing here is typed.",
    ]
    for lab in map(load, names()):
        for name, matrix in lab.matrices.items():
            result = recorded(lab, name)
            lines += ["", f"## Case {lab.case}: {matrix.says}", ""]
            lines += [f"Recorded on {result.started[:10]}: {ledger.machine(result.host)}. Figures: {legend(lab)}.", ""]
            lines += [f"| {matrix.rows.title} \\ {matrix.columns.title} | " + " | ".join(matrix.columns.values) + " |"]
            lines += ["|---" * (1 + len(matrix.columns.values)) + "|"]
            for row, cells in result.rows():
                lines.append(f"| {row} | " + " | ".join(f"{cell.verdict} {cell.figures(lab)}".strip() for cell in cells) + " |")
            if failed := [cell for cell in result.cells if cell.verdict == "failed"]:
                lines += ["", *(f"- {cell.row} with {cell.column}: {cell.reasons[0]}" for cell in failed)]
    return {ROOT / "docs" / "matrices.md": "\n".join(lines).rstrip() + "\n"}
