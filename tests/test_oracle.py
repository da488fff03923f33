"""Verdicts from facts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.lab import LabError, Oracle
from workbench.oracle import weigh

RESUMES = Oracle(fact="full", max=0.1, samples="checks", at_least=2)
RUNNING = Oracle(fact="up", min=1.0, samples="seen", at_least=1, otherwise="failed")
ORACLES = {"checks_run": RUNNING, "checks_resume": RESUMES}


@pytest.mark.parametrize(
    ("full", "checks", "up", "seen", "verdict"),
    [
        (0.0, 5.0, 1.0, 3, "green"),
        (0.1, 2.0, 1.0, 1, "green"),
        (0.11, 5.0, 1.0, 3, "red"),
        (1.0, 5.0, 1.0, 3, "red"),
        (1.0, 1.9, 1.0, 3, "undecided"),
        (None, 5.0, 1.0, 3, "undecided"),
        (0.0, None, 1.0, 3, "undecided"),
        (0.0, 5.0, 0.99, 3, "failed"),
        (1.0, 5.0, 0.5, 3, "failed"),
        (1.0, 0.0, 0.5, 3, "failed"),
        (0.0, 5.0, 1.0, 0, "failed"),
        (0.0, 5.0, None, 3, "failed"),
    ],
)
def test_verdict(full, checks, up, seen, verdict):
    assert weigh(ORACLES, {"full": full, "checks": checks, "up": up, "seen": seen})[0] == verdict


def test_a_reason_is_a_sentence_with_its_figures():
    _, reasons = weigh(ORACLES, {"full": 1.0, "checks": 5.0, "up": 1.0, "seen": 3})
    assert reasons == ["not so: checks resume (full 1, at most 0.1 is well)"]


def test_an_oracle_that_asks_for_a_fact_nobody_gives_is_a_defect():
    with pytest.raises(LabError, match=r"oracles\.checks_resume asks for the fact 'full'"):
        weigh({"checks_resume": RESUMES}, {"checks": 3.0})


@given(st.floats(0, 1), st.floats(0, 100), st.floats(0, 1), st.integers(0, 10))
def test_green_only_where_every_oracle_holds(full, checks, up, seen):
    verdict, reasons = weigh(ORACLES, {"full": full, "checks": checks, "up": up, "seen": seen})
    assert (verdict == "green") == (full <= 0.1 and checks >= 2 and up >= 1.0 and seen >= 1)
    assert reasons
