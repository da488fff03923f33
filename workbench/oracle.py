"""From facts to a verdict: green, red, failed or undecided."""

import functools
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from workbench.lab import Bound, Lab, LabError, Oracle, Verdict, load
from workbench.recording import Run, published

Facts = dict[str, float | int | str | None]


@dataclass(frozen=True)
class Judgement:
    """A verdict, the sentences it rests on, and the facts it was reached from."""

    verdict: Verdict
    reasons: list[str]
    facts: Facts


def judge(lab: Lab, run: Run) -> Judgement:
    """Judges a run, fresh or recorded. A stack that failed has no facts."""
    if run.meta["failure"]:
        return Judgement("failed", [run.meta["failure"]], {})
    facts = lab.part("lab").facts(run)
    verdict, reasons = weigh(lab.oracles_of(run.meta["scenario"]), facts)
    return Judgement(verdict, reasons, facts)


def recorded(lab: str, scenario: str) -> Judgement:
    """A scenario's recorded run, judged once for all who ask. Raises FileNotFoundError where none is recorded."""
    run = published(lab, scenario)
    return _recorded(lab, run.folder, run.meta["started"])


@functools.cache
def _recorded(lab: str, folder: Path, _: str) -> Judgement:
    return judge(load(lab), Run(folder))


def weigh(oracles: dict[str, Oracle], facts: Facts) -> tuple[Verdict, list[str]]:
    """Holds facts against oracles. What is broken otherwise comes first, then too few samples, then the incident."""
    results = [_hold(name, oracle, facts) for name, oracle in oracles.items()]
    for verdict in ("failed", "undecided", "red"):
        reasons = [reason for outcome, reason in results if outcome == verdict]
        if reasons:
            return verdict, reasons
    return "green", [reason for _, reason in results]


def _hold(name: str, oracle: Oracle, facts: Facts) -> tuple[Verdict, str]:
    sentence = name.replace("_", " ")
    value, samples = (given(facts, fact, f"oracles.{name}") for fact in (oracle.fact, oracle.samples))
    if samples is None or samples < oracle.at_least or value is None:
        # Whatever says that something else is broken must itself be measured: without samples it is.
        verdict = "failed" if oracle.otherwise == "failed" else "undecided"
        return (
            verdict,
            f"{sentence}: not seen often enough ({oracle.samples} {number(samples)}, needs {number(oracle.at_least)})",
        )
    said = f"{oracle.fact} {number(value)}, {bounds(oracle)} is well"
    if not holds(oracle, value):
        return oracle.otherwise, f"not so: {sentence} ({said})"
    return "green", f"{sentence} ({said})"


def given(facts: Facts, fact: str, where: str) -> float | int | str | None:
    """The value of a fact for which that part of lab.toml asks. Raises LabError where there is no such fact."""
    if fact not in facts:
        raise LabError(f"lab.toml: {where} asks for the fact {fact!r}, which facts(run) does not give")
    return facts[fact]


def holds(bound: Bound, value: float) -> bool:
    """Whether a value lies within a bound, its ends included."""
    low = bound.min is not None and value < bound.min
    high = bound.max is not None and value > bound.max
    return not (low or high)


def bounds(bound: Bound) -> str:
    """A bound in words."""
    said = [f"at least {number(bound.min)}"] if bound.min is not None else []
    said += [f"at most {number(bound.max)}"] if bound.max is not None else []
    return " and ".join(said)


def share(which: pd.Series) -> float | None:
    """The share of rows that are true, from 0 to 1; None where there is no row."""
    return float(which.mean()) if len(which) else None


def ratio(part: float, whole: float) -> float | None:
    """None where there is nothing to divide, or nothing to divide by (pandas has NaN for it)."""
    return float(part / whole) if part == part and whole == whole and whole else None


def number(value: float | str | None) -> str:
    """A fact as it is said in a reason."""
    return "none" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
