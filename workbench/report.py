"""The results of a lab as a table on the terminal, and as one self-contained page."""

from pathlib import Path

import jinja2
import pandas as pd
from rich.table import Table

from workbench import connections, gate, plots
from workbench.lab import ROOT, Column, Lab
from workbench.recording import Run

_TEMPLATE = Path(__file__).with_name("report.html.j2")
STYLE = {"green": "green", "red": "red", "failed": "magenta", "undecided": "yellow", "refused": "magenta"}


def table(lab: Lab, summary: dict, names: list[str]) -> Table:
    """The closing table: scenario, kind, the article's figure, ours, verdict, evidence grade."""
    shown = Table(title=f"Case {lab.case}: {lab.title}", title_justify="left")
    for heading in ("scenario", "kind", "the article's figure", "ours", "verdict", "evidence"):
        shown.add_column(heading, overflow="fold")
    for name in names:
        entry = summary["scenarios"][name]
        article = [f"{column.article[name]} {column.title}" for column in lab.columns if name in column.article]
        verdict = f"[{STYLE[entry['verdict']]}]{entry['verdict']}[/]"
        if entry["verdict"] != entry["expected"]:
            verdict += f" (declared {entry['expected']})"
        grade = lab.grade + (", helped" if lab.scenarios[name].help else "")
        ours = [f"{figure(entry['facts'], column)} {column.title}" for column in lab.columns]
        shown.add_row(name, entry["kind"].replace("_", " "), "\n".join(article) or "–", "\n".join(ours), verdict, grade)
    return shown


def write(lab: Lab, summary: dict) -> Path:
    """Writes runs/<lab>/report.html of the latest result of each scenario, and returns its path."""
    scenarios = {name: summary["scenarios"][name] for name in lab.scenarios if name in summary["scenarios"]}
    page = _environment().from_string(_TEMPLATE.read_text()).render(
        lab=lab, host=summary["host"], scenarios=scenarios, figure=figure, pictures=_pictures(lab, scenarios)
    )  # fmt: skip
    path = gate.RUNS / lab.name / "report.html"
    path.write_text(page)
    return path


def _pictures(lab: Lab, scenarios: dict) -> list[str]:
    drawn = []
    tables = {}
    for name, entry in scenarios.items():
        run = Run(ROOT / entry["run"])
        if run.capture.is_file() and lab.scenarios[name].story:
            # Every tenth of a crowd still shows what it does, and keeps the page small.
            found = connections.table(run.capture)
            tables[name] = found.iloc[:: max(1, len(found) // 300)]
    if tables:
        drawn.append(plots.svg(plots.handshakes(tables, "What each connection paid: full or resumed handshakes, as they came")))
    for column in lab.columns:
        values = [(name, entry["verdict"], entry["facts"].get(column.fact)) for name, entry in scenarios.items()]
        data = pd.DataFrame([row for row in values if row[2] is not None], columns=["scenario", "verdict", "value"])
        if len(data):
            drawn.append(plots.svg(plots.bars(data, "value", column.title, column.title[0].upper() + column.title[1:])))
    return drawn


def figure(facts: dict, column: Column) -> str:
    """A column's figure; a dash where it was not measured."""
    value = facts.get(column.fact)
    return "–" if value is None else format(value, column.format)


def _environment() -> jinja2.Environment:
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
