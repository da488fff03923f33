"""Learners that only the tests know."""

import contextlib
import shutil
from collections.abc import Iterator

from workbench import learner
from workbench.lab import Lab
from workbench.learner import Seat


@contextlib.contextmanager
def at(lab: Lab, *names: str) -> Iterator[list[Seat]]:
    """Learners with a fresh copy each; their stacks and their copies are gone afterwards."""
    seats = [Seat(lab, name) for name in names]
    try:
        for seat in seats:
            learner.reset(seat)
        yield seats
    finally:
        for seat in seats:
            seat.down()
            for folder in (seat.copy, seat.copy.with_name(f"{seat.copy.name}.before-reset"), seat.runs):
                shutil.rmtree(folder, ignore_errors=True)
