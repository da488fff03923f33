"""What the workbench says while it works: on stderr, so that stdout stays a command's result."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

from rich.console import Console

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 120)
err = Console(stderr=True, highlight=False, soft_wrap=True)

#: Seconds for which what things should take is worth as much as what they do take.
TRUSTED = 600
#: One knob for every time-out: PATIENCE=3 waits three times as long everywhere.
PATIENCE = float(os.environ.get("PATIENCE", "1"))


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Says what is being done, again every ten seconds while it lasts, and how long it took."""
    began = time.monotonic()
    done = threading.Event()

    def heartbeat() -> None:
        while not done.wait(10):
            err.print(f"  … {what}: {time.monotonic() - began:.0f} s", style="dim")

    err.print(f"  {what} …", style="dim")
    beat = threading.Thread(target=heartbeat, daemon=True)
    beat.start()
    try:
        yield
    finally:
        done.set()
        beat.join()
        took = time.monotonic() - began
        if took >= 2:
            err.print(f"  … {what}: took {took:.1f} s", style="dim")


class Course:
    """How far a command is that does several things one after the other, by the seconds that each of them should take."""

    def __init__(self, expected: list[float]) -> None:
        self._expected = expected
        self._begun = 0
        self._from = time.monotonic()

    def next(self) -> str:
        """Another one begins: which it is, and how long all that is left may take. What is behind says how long things take
        here."""
        behind, ahead = sum(self._expected[: self._begun]), sum(self._expected[self._begun :])
        pace = (TRUSTED + time.monotonic() - self._from) / (TRUSTED + behind)
        self._begun += 1
        done = 100 * behind / (behind + ahead)
        return f"{self._begun}/{len(self._expected)}, {done:.0f}%, about {max(1, round(pace * ahead / 60))} min to go"
