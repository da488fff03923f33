"""The results of a lab as a table on the terminal, and as one self-contained page."""

from pathlib import Path

import jinja2
import pandas as pd
from rich.table import Table

from workbench import connections, gate, ledger, oracle, plots, recording
from workbench.gate import Result
from workbench.lab import ROOT, Column, Lab
from workbench.recording import Run

_TEMPLATE = Path(__file__).with_name("report.html.j2")
STYLE = {"green": "green", "red": "red", "failed": "magenta", "undecided": "yellow", "refused": "magenta"}


def latest(lab: Lab) -> list[Result]:
    """The latest result of each scenario that was run here and whose run is still there, in the order of lab.toml."""
    entries = gate.read_summary(lab)["scenarios"]
    found = []
    for name, scenario in lab.scenarios.items():
        if name in entries and (ROOT / entries[name]["run"] / recording.META).is_file():
            entry = entries[name]
            judgement = oracle.Judgement(entry["verdict"], entry["reasons"], entry["facts"])
            found.append(Result(scenario, name, Run(ROOT / entry["run"]), judgement))
    return found


def recorded(lab: Lab) -> list[Result]:
    """The recorded runs of a lab, judged now."""
    runs = recording.available(lab).items()
    return [Result(lab.scenarios[name], name, run, oracle.judge(lab, run)) for name, run in runs]


def replay_note(results: list[Result]) -> str:
    """What keeps a replay from passing for a run: heads its table and its page."""
    return f"A replay of runs recorded on {_provenance(results)}. Nothing ran here."


def table(lab: Lab, results: list[Result], note: str = "") -> Table:
    """The closing table: scenario, kind, the article's figure, ours, verdict, evidence grade."""
    shown = Table(title=f"Case {lab.case}: {lab.title}\n{note}".rstrip(), title_justify="left")
    for heading in ("scenario", "kind", "the article's figure", "ours", "verdict", "evidence"):
        shown.add_column(heading, overflow="fold")
    for result in results:
        name, judgement = result.name, result.judgement
        article = [f"{column.article[name]} {column.title}" for column in lab.columns if name in column.article]
        verdict = f"[{STYLE[judgement.verdict]}]{judgement.verdict}[/]"
        if not result.as_expected:
            verdict += f" (declared {result.scenario.expected})"
        grade = lab.grade + (", helped" if result.scenario.help else "")
        ours = [f"{figure(judgement.facts, column)} {column.title}" for column in with_figures(lab.columns, [result])]
        shown.add_row(name, result.scenario.kind.replace("_", " "), "\n".join(article) or "–", "\n".join(ours), verdict, grade)
    return shown


def summary(found: list[tuple[Lab, list[Result]]]) -> Table:
    """A row for each incident: what its story came to, from the broken stack to the last cure."""
    shown = Table(title="All incidents, each from the broken stack to its cures", title_justify="left", show_lines=True)
    for heading in ("incident", "the article's figure", "ours", "verdict", "evidence"):
        shown.add_column(heading, overflow="fold")
    for lab, results in found:
        story = [result for result in results if result.scenario.story]
        deciding = lab.deciding()
        columns = [column for column in lab.columns if column in deciding or any(each.name in column.article for each in story)]
        article = [f"{column.title}: {column.article[each.name]} ({each.name})" for column in columns for each in story
                   if each.name in column.article]  # fmt: skip
        ours = [f"{column.title}: {' → '.join(figure(each.judgement.facts, column) for each in story)}"
                for column in with_figures(columns, story)]  # fmt: skip
        verdicts = " → ".join(f"[{STYLE[each.judgement.verdict]}]{each.judgement.verdict}[/]" for each in story)
        unlike = sum(not result.as_expected for result in results)
        said = f"{len(results)} runs as declared" if not unlike else f"[red]{unlike} of {len(results)} runs not as declared[/]"
        helped = any(each.scenario.help for each in story)
        shown.add_row(f"{lab.case}: {lab.title}", "\n".join(article) or "–", "\n".join(ours), f"{verdicts}\n{said}",
                      lab.grade + (", helped" if helped else ""))  # fmt: skip
    return shown


def write(lab: Lab, results: list[Result], note: str = "") -> Path:
    """Writes runs/<lab>/report.html, or replay.html where a note heads it, and returns its path."""
    page = _environment().from_string(_TEMPLATE.read_text()).render(
        lab=lab, results=results, note=note, provenance=_provenance(results), figure=figure, pictures=_pictures(lab, results),
        root=f"{ROOT}/",
    )  # fmt: skip
    path = gate.RUNS / lab.name / ("replay.html" if note else "report.html")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page)
    return path


def _provenance(results: list[Result]) -> str:
    """When and on what the runs were made. A stack that never came up has told nothing of its machine."""
    days = sorted({result.run.meta["started"][:10] for result in results})
    machines = dict.fromkeys(ledger.machine(result.run.meta["host"]) for result in results if "host" in result.run.meta)
    return ": ".join(filter(None, [" to ".join(dict.fromkeys([days[0], days[-1]])), "; ".join(machines)]))


def _pictures(lab: Lab, results: list[Result]) -> list[str]:
    drawn = []
    tables = {}
    for result in results:
        if result.scenario.story and not result.run.meta["failure"]:
            symptom = lab.part("questions").symptom(result.run)
            drawn.append(plots.svg(symptom.properties(title=f"{result.name}: {getattr(symptom.title, 'text', symptom.title)}")))
            found = connections.table(result.run.capture)
            if found["handshake"].notna().any():
                # Every tenth of a crowd still shows what it does, and keeps the page small.
                tables[result.name] = found.iloc[:: max(1, len(found) // 300)]
    if tables:
        drawn.append(plots.svg(plots.handshakes(tables, "What each connection paid: full or resumed handshakes")))
    for column in lab.columns:
        values = [(result.name, result.judgement.verdict, result.judgement.facts.get(column.fact)) for result in results]
        data = pd.DataFrame([row for row in values if row[2] is not None], columns=["scenario", "verdict", "value"])
        if len(data):
            drawn.append(plots.svg(plots.bars(data, "value", column.title, column.title[0].upper() + column.title[1:])))
    return drawn


def with_figures(columns: list[Column], results: list[Result]) -> list[Column]:
    """Those of which these runs have a figure: what is told briefly does not measure all."""
    return [column for column in columns if any(each.judgement.facts.get(column.fact) is not None for each in results)]


def figure(facts: dict, column: Column) -> str:
    """A column's figure; a dash where it was not measured."""
    value = facts.get(column.fact)
    return "–" if value is None else format(value, column.format)


def _environment() -> jinja2.Environment:
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
