"""How often the gate errs, from its raw results."""

import pandas as pd
import pytest

from workbench import console, lab, reliability


@pytest.fixture
def results(tmp_path, monkeypatch):
    """Raw results of the tests' own."""
    monkeypatch.setattr(reliability, "RESULTS", tmp_path / "reliability.csv")
    return reliability.RESULTS


def row(name: str, scenario: str, declared: str, verdict: str, busy: bool = False) -> dict:
    fixed = {"began": "2026-01-01T00:00:00", "cpu_of_others": 0.1, "disturbed": False, "seconds": 9, "kernel": "6", "engine": "20"}
    return {"lab": name, "scenario": scenario, "declared": declared, "verdict": verdict, "busy": busy, **fixed}


def test_only_the_opposite_of_what_is_declared_is_wrong():
    rows = pd.DataFrame(
        [
            row("a", "broken", "red", "red"),
            row("a", "fix", "green", "red"),
            row("a", "fix", "green", "failed"),
            row("a", "x", "failed", "failed"),
        ]
    )
    assert list(reliability.wrong(rows)["verdict"]) == ["red"]
    assert list(reliability.none(rows)["verdict"]) == ["failed"]
    assert reliability.said(rows) == "1 of 3 verdicts wrong, 33.3%"
    text = reliability.page(rows)
    assert "| a | nothing of ours | 1 | 4 | 1 | 1 | 0.10–0.10 |" in text
    assert text.count("declared green; others used 0.1 cores") == 2


def test_what_never_happened_has_a_rate_all_the_same():
    rows = pd.DataFrame([row("a", "broken", "red", "red", busy=True)] * 100)
    assert reliability.said(rows) == "none of 100 verdicts wrong, which puts the rate below 3.0% with 95% certainty"


def test_runs_that_all_failed_have_no_rate():
    assert reliability.said(pd.DataFrame([row("a", "broken", "red", "failed")])) == "no verdict"


def test_the_next_round_is_of_those_with_the_fewest(results):
    assert [each.name for each in reliability.due(busy=True)] == lab.names()
    first, *others = lab.names()
    pd.DataFrame([row(first, "broken", "red", "red", busy=True)])[reliability.FIELDS].to_csv(results, index=False)
    assert [each.name for each in reliability.due(busy=True)] == others
    assert [each.name for each in reliability.due(busy=False)] == lab.names()


def test_a_course_says_how_far_it_is():
    course = console.Course([60, 30, 30])
    assert course.next() == "1/3, 0%, about 2 min to go"
    assert course.next().startswith("2/3, 50%, about ")
    assert course.next().startswith("3/3, 75%, about ")
