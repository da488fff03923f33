"""Ctrl-C, TERM and KILL, at every stage of a run: nothing is left after it, or after the next command."""

import signal
import subprocess
import sys
import time

import pytest

from workbench.lab import ROOT

#: What a run says when it is in that stage, and the seconds to let it go on.
STAGES = {
    "up": ("starting the stack …", 2),
    "drive": ("driving and recording …", 6),
    "down": ("driving and recording: took", 0.3),
}


RUN = [sys.executable, "-m", "workbench", "run", "quiet_shutdown", "--scenario", "close_notify"]
#: As a script of several parts runs it.
IN_A_SCRIPT = ["bash", "-euc", '. compose/parts.sh; part "$@"; echo and goes on >&2', "script", *RUN]


def start(command: list[str]) -> subprocess.Popen:
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def wait_for(run: subprocess.Popen, text: str) -> list[str]:
    """What the run said until it said that."""
    said = []
    for line in run.stderr:
        said.append(line)
        if text in line:
            return said
    raise AssertionError(f"the run ended without {text!r}: {said}")


def interrupt(number: signal.Signals, stage: str, command: list[str] = RUN) -> tuple[list[str], str, int]:
    """Runs until a stage, sends the signal, and returns what was said before, after, and the exit code."""
    text, delay = STAGES[stage]
    run = start(command)
    said = wait_for(run, text)
    time.sleep(delay)
    run.send_signal(number)
    _, rest = run.communicate(timeout=90)
    return said, rest, run.returncode


@pytest.mark.parametrize(("number", "stage"), [(signal.SIGINT, "up"), (signal.SIGTERM, "drive"), (signal.SIGINT, "down")])
def test_an_interrupted_run_takes_its_stack_down(left_behind, number, stage):
    _, rest, code = interrupt(number, stage)
    assert code == 130
    assert "nothing is left running" in rest
    assert "Traceback" not in rest
    assert left_behind() == []


def test_a_script_hands_an_interruption_on_and_ends(left_behind):
    _, rest, code = interrupt(signal.SIGINT, "drive", IN_A_SCRIPT)
    assert code == 130
    assert "nothing is left running" in rest
    assert "and goes on" not in rest
    assert left_behind() == []


def test_a_killed_run_is_cleared_away_by_the_next(left_behind):
    for stage in ("up", "drive", "down"):
        said, _, code = interrupt(signal.SIGKILL, stage)
        assert code == -signal.SIGKILL
        # Each run after the first has found the remains of the one before it.
        assert (stage == "up") != any("left behind" in line for line in said)
        assert stage == "down" or left_behind()
    _, rest, _ = interrupt(signal.SIGTERM, "up")
    assert "nothing is left running" in rest
    assert left_behind() == []
