"""How often the gate errs: every run of the part that `make test` runs is noted, and the rate of wrong verdicts published.

A round may end at any time: what it has noted stays, and the next goes on with those labs that have fewest.
"""

import csv
import datetime
from pathlib import Path

import pandas as pd

from workbench import gate, lab
from workbench.lab import ROOT, Lab

RESULTS, PAGE = ROOT / "docs" / "reliability.csv", ROOT / "docs" / "reliability.md"
FIELDS = ["began", "lab", "scenario", "declared", "verdict", "busy", "cpu_of_others", "disturbed", "seconds", "kernel", "engine"]
BESIDE = {False: "nothing of ours", True: "a loop on each core"}
HEAD = """# How often the gate errs

Each row of [the raw results](reliability.csv) is one run of what `make test` runs of each lab: its story, and a wrong fix where the
story has none. *Wrong* is red where green was declared, or green where red was; *none* is a run that failed, or that was undecided.
A run that others disturbed is repeated once, whatever it came to, and it is the second that counts; beside a load that is there
all the time the second is disturbed as well.

`make reliability` adds a round of those labs that have the fewest, `BUSY=yes` one beside a loop on each core, from its
beginning to its end. What `make test` or `make gate` ran from a clean clone is a round as well, whatever it came to: these rows
were copied from the `run.json` of each run.
"""


def read() -> pd.DataFrame:
    """A row for each run: when it began (UTC), which it was, what it was declared and judged to be, whether both cores were kept
    busy beside it, how many cores others used, whether that disturbed it, and what it ran on."""
    return pd.read_csv(RESULTS) if RESULTS.is_file() else pd.DataFrame(columns=FIELDS)


def due(busy: bool) -> list[Lab]:
    """Every lab of which there are the fewest rounds, with that load or without."""
    done = read()
    done = done[(done["busy"] == busy) & (done["scenario"] == "broken")]
    rounds = {name: int((done["lab"] == name).sum()) for name in lab.names()}
    return [lab.load(name) for name, count in rounds.items() if count == min(rounds.values())]


def measure(busy: bool) -> bool:
    """A round: what `make test` runs of each lab that is due. Whether every verdict was as declared."""
    chosen = [(each, gate.tested(each)) for each in due(busy)]
    closely = {"broken"}
    course = gate.course_of(chosen, closely)
    well = True
    for each, names in chosen:
        results = gate.run_scenarios(each, names, closely=closely, course=course)
        _note(each, results, busy)
        well &= all(result.as_expected for result in results)
    return well


def _note(chosen: Lab, results: list[gate.Result], busy: bool) -> None:
    new = not RESULTS.is_file()
    with RESULTS.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if new:
            writer.writerow(FIELDS)
        for result in results:
            meta = result.run.meta
            began = datetime.datetime.fromisoformat(meta["started"]).strftime("%Y-%m-%dT%H:%M:%S")
            host = meta.get("host", {})
            writer.writerow([
                began, chosen.name, result.name, result.scenario.expected, result.judgement.verdict, busy,
                meta.get("cpu_of_others"), meta["disturbed"], meta["seconds"], host.get("kernel"), host.get("engine"),
            ])  # fmt: skip


def pages() -> dict[Path, str]:
    """docs/reliability.md, where there are results."""
    return {PAGE: page(read())} if RESULTS.is_file() else {}


def page(rows: pd.DataFrame) -> str:
    """Runs, wrong verdicts and those that said nothing, by lab and by load."""
    lines = [HEAD, "| lab | beside it | rounds | runs | wrong | none | CPU of others, cores |", "|---|---|---|---|---|---|---|"]
    for (busy, name), some in rows.groupby(["busy", "lab"], sort=False):
        rounds = int((some["scenario"] == "broken").sum())
        others = some["cpu_of_others"].dropna()
        used = f"{others.min():.2f}–{others.max():.2f}" if len(others) else "–"
        lines.append(f"| {name} | {BESIDE[busy]} | {rounds} | {len(some)} | {len(wrong(some))} | {len(none(some))} | {used} |")
    lines += [f"\nWith {BESIDE[busy]} beside it: {said(some)}." for busy, some in rows.groupby("busy")]
    unlike = rows[rows["declared"] != rows["verdict"]]
    if len(unlike):
        lines.append("\nThose that were not as declared:\n")
    for row in unlike.itertuples():
        run = f"{row.began} {row.lab} {row.scenario}, with {BESIDE[row.busy]} beside it"
        # A run that failed has measured nothing.
        others = "" if pd.isna(row.cpu_of_others) else f"; others used {row.cpu_of_others} cores"
        lines.append(f"- {run}: {row.verdict}, declared {row.declared}{others}")
    return "\n".join(lines) + "\n"


def wrong(rows: pd.DataFrame) -> pd.DataFrame:
    """Runs with the opposite of what is declared."""
    return rows[(rows["verdict"] != rows["declared"]) & rows["verdict"].isin(["red", "green"])]


def none(rows: pd.DataFrame) -> pd.DataFrame:
    """Runs that came to no verdict, where one is declared."""
    return rows[(rows["verdict"] != rows["declared"]) & ~rows["verdict"].isin(["red", "green"])]


def said(rows: pd.DataFrame) -> str:
    """The rate of wrong ones among the verdicts that these runs came to, and how large it may be."""
    bad, verdicts = len(wrong(rows)), len(rows) - len(none(rows))
    if not verdicts:
        return "no verdict"
    if bad:
        return f"{bad} of {verdicts} verdicts wrong, {100 * bad / verdicts:.1f}%"
    # The rule of three: what happens never in n runs happens, with 95% certainty, less often than 3 in n.
    return f"none of {verdicts} verdicts wrong, which puts the rate below {300 / verdicts:.1f}% with 95% certainty"
