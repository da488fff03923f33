"""The learner's loop on the real stack: cures by hand, what is no cure, cheats, and reset.

`make test` runs what is changed in other files than compose.yaml, unless it is read as the same, to the letter, as what the
overlay brings (of compose.yaml itself the copy is known to make what the overlay makes), and at the first lab a cure, cheats and
a reset; `make gate` runs all of it (--every).
"""

import contextlib
import subprocess
import sys

import learners
import pytest
from composed import known_to_be_the_same

from workbench import gate, lab, learner

LABS = lab.names()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every, only = (metafunc.config.getoption(name) for name in ("every", "only"))
    labs = [lab.load(name) for name in ([only] if only not in (None, "all") else LABS)]
    tried = labs if every else labs[:1]
    if "scenario" in metafunc.fixturenames:
        pairs = [
            (each, name)
            for each in labs
            for name, entry in each.scenarios.items()
            if entry.by_hand and (every or unknown(each, name) or (each, name) == (labs[0], a_cure(labs[0])))
        ]
        metafunc.parametrize(("each", "scenario"), pairs, ids=[f"{each.name}-{name}" for each, name in pairs])
    elif "cheat" in metafunc.fixturenames:
        pairs = [(each, name) for each in tried for name, entry in each.learner.cheats.items() if entry.guard]
        metafunc.parametrize(("each", "cheat"), pairs, ids=[f"{each.name}-{name}" for each, name in pairs])
    elif "each" in metafunc.fixturenames:
        metafunc.parametrize("each", tried, ids=[each.name for each in tried])


def a_cure(each: lab.Lab) -> str:
    return next(name for name, entry in each.scenarios.items() if entry.kind == "fix" and entry.by_hand)


def unknown(each: lab.Lab, scenario: str) -> bool:
    """Whether only a run tells that what is made by hand is what the overlay makes."""
    elsewhere = any(change.file != "compose.yaml" for change in each.scenarios[scenario].by_hand)
    return elsewhere and not known_to_be_the_same(each, scenario)


@pytest.fixture
def seat_at():
    """Makes a learner at a lab, with a fresh copy; his stack and his copy are gone afterwards."""
    with contextlib.ExitStack() as stack:
        yield lambda each: stack.enter_context(learners.at(each, "tester"))[0]


def test_by_hand_a_scenario_is_what_it_is_declared_to_be(seat_at, each, scenario):
    gate.build(each, ["broken", scenario])
    seat = seat_at(each)
    learner.edit(seat.copy, seat.lab.scenarios[scenario].by_hand)
    check = learner.check(seat)
    assert check.verdict == seat.lab.scenarios[scenario].expected, check.reasons
    assert seat.last()["verdict"] == check.verdict


def test_a_cheat_is_refused_with_its_reason(seat_at, each, cheat):
    gate.build(each, ["broken"])
    seat = seat_at(each)
    entry = seat.lab.learner.cheats[cheat]
    learner.edit(seat.copy, entry.by_hand)
    check = learner.check(seat)
    assert check.verdict == "refused", check.reasons
    assert any(seat.lab.learner.guards[entry.guard].refusal in reason for reason in check.reasons), check.reasons


def test_after_a_reset_it_is_red_again_and_a_lab_py_of_ones_own_is_never_run(seat_at, each):
    gate.build(each, ["broken"])
    seat = seat_at(each)
    trap = seat.copy / "lab.py"
    sprung = seat.copy / "sprung"
    learner.edit(seat.copy, seat.lab.scenarios[a_cure(each)].by_hand)
    learner.reset(seat)
    code = f"open({str(sprung)!r}, 'w')\ndrive = facts = lambda *given: {{}}\n"
    trap.write_text(code)
    check = learner.check(seat)
    assert check.verdict == "red", check.reasons
    assert not sprung.exists()
    subprocess.run([sys.executable, trap], check=True)
    assert sprung.exists(), "the trap springs where it is run"
