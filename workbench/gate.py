"""Runs scenarios one after the other, each judged and held against what it is declared to be."""

import datetime
import json
import shutil
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from workbench import console, oracle, recording, stack
from workbench.console import Course
from workbench.lab import ROOT, Lab, Scenario
from workbench.oracle import Judgement
from workbench.recording import Run

RUNS = ROOT / "runs"
SUMMARY = "summary.json"
#: Runs that are kept of each scenario: more would fill the disk of whoever runs the gate often.
KEPT = 5


@dataclass(frozen=True)
class Result:
    """One scenario, run and judged."""

    scenario: Scenario
    name: str
    run: Run
    judgement: Judgement

    @property
    def as_expected(self) -> bool:
        return self.judgement.verdict == self.scenario.expected


def run_scenarios(
    lab: Lab,
    names: list[str],
    settings: dict[str, str] | None = None,
    *,
    closely: Collection[str] | None = None,
    course: Course | None = None,
) -> list[Result]:
    """Runs the named scenarios, and writes runs/<lab>/summary.json after each. `settings` are compose variables to
    start from; what a drive changes in them, the scenarios after it keep. `closely` names those of which more than what
    decides is wanted; all, unless told. `course` is the one that these runs are a part of. Raises StackError where an image does
    not build; a stack that does not start is a result with the verdict failed."""
    settings = {} if settings is None else settings
    course = course or course_of([(lab, names)], closely)
    for project in stack.sweep():
        console.err.print(f"  removed what a killed run of {project} left behind")
    build(lab, names)
    results = []
    for name in names:
        console.err.print(f"[bold]{lab.name}[/bold] ({course.next()}): {name} – {lab.scenarios[name].says}")
        run, judgement = measured(stack.of_scenario(lab, name), settings, RUNS / lab.name / name, closely=_wanted(name, closely))
        result = Result(lab.scenarios[name], name, run, judgement)
        results.append(result)
        _write_summary(lab, result)
        colour = "green" if result.as_expected else "red"
        console.err.print(f"  {result.judgement.verdict}, as declared" if result.as_expected
                          else f"  {result.judgement.verdict}, but declared {result.scenario.expected}", style=colour)  # fmt: skip
        for reason in result.judgement.reasons:
            console.err.print(f"    {reason}", style="dim", markup=False)
    return results


def tested(lab: Lab) -> list[str]:
    """What `make test` runs of a lab: its story, and a wrong fix where the story has none."""
    wrong = [name for name, scenario in lab.scenarios.items() if scenario.kind == "wrong_fix"]
    story = lab.story()
    return story if set(story) & set(wrong) else story + wrong[:1]


def course_of(chosen: list[tuple[Lab, list[str]]], closely: Collection[str] | None = None) -> Course:
    """The course of these labs' scenarios: each should take as long as its recorded run, which was looked at closely; those
    that are not (`closely` as in run_scenarios), and those that are not recorded, as long as the lab says."""
    return Course([_expected(lab, name, _wanted(name, closely)) for lab, names in chosen for name in names])


def _expected(lab: Lab, name: str, closely: bool) -> float:
    try:
        recorded = recording.published(lab.name, name).meta["seconds"]
    except FileNotFoundError:
        return lab.seconds
    return recorded if closely else min(recorded, lab.seconds)


def _wanted(name: str, closely: Collection[str] | None) -> bool:
    """Whether more than what decides is wanted of a scenario."""
    return closely is None or name in closely


def build(lab: Lab, names: list[str]) -> None:
    """Builds the images of the named scenarios, where anything has changed. Raises StackError."""
    with console.step(f"case {lab.case}: building what has changed"), tempfile.TemporaryDirectory() as folder:
        # Most scenarios differ in nothing that is built.
        built = []
        for name in dict.fromkeys(names):
            wanted = stack.Stack(stack.of_scenario(lab, name), {}, Path(folder))
            builds = {service: (entry.get("image"), entry.get("build")) for service, entry in wanted.model["services"].items()}
            if builds not in built:
                wanted.build()
                built.append(builds)


def measured(
    setup: stack.Setup, settings: dict[str, str], folder: Path, *, closely: bool = False, again: bool = True
) -> tuple[Run, Judgement]:
    """Runs a setup and judges it; `again`, once, where others used the machine, and never because of the verdict. The
    newest runs in `folder` are kept."""
    run = recording.record(setup, settings, folder / _timestamp(), closely=closely)
    if again and run.meta["disturbed"]:
        console.err.print(f"  others used {run.meta['cpu_of_others']} cores meanwhile: once more")
        run = recording.record(setup, settings, folder / _timestamp(), closely=closely)
    _drop_old(folder)
    with console.step("decoding"):
        return run, oracle.judge(setup.lab, run)


def _timestamp() -> str:
    """The name of a run's folder: when it began, in UTC, to the millisecond."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]


def _drop_old(folder: Path) -> None:
    """Keeps the newest runs of a folder."""
    runs = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    for old in runs[:-KEPT]:
        shutil.rmtree(old)


def read_summary(lab: Lab) -> dict:
    """runs/<lab>/summary.json: the latest result of each scenario that was run here."""
    path = RUNS / lab.name / SUMMARY
    return json.loads(path.read_text()) if path.is_file() else {"lab": lab.name, "host": {}, "scenarios": {}}


def _write_summary(lab: Lab, result: Result) -> None:
    meta = result.run.meta
    summary = read_summary(lab)
    summary["host"] = meta.get("host", summary["host"])
    summary["scenarios"][result.name] = {
        "kind": result.scenario.kind,
        "expected": result.scenario.expected,
        "verdict": result.judgement.verdict,
        "reasons": result.judgement.reasons,
        "facts": result.judgement.facts,
        "versions": meta["versions"],
        "disturbed": meta["disturbed"],
        "seconds": meta["seconds"],
        "run": str(result.run.folder.relative_to(ROOT)),
    }
    path = RUNS / lab.name / SUMMARY
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(summary, indent=1) + "\n")
    partial.replace(path)
