"""The same storm without machines: checks, SYN timers and the tracking as a discrete-event model, for sizes that no two cores
bear. What is measured here and what is simulated are laid over each other in the notebook."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pandas as pd
import simpy

#: Seconds after its first SYN at which a connection's SYN is sent again (Linux since 6.5).
SYN_AGAIN = (1, 2, 3, 4, 5, 7, 11)


@dataclass(frozen=True)
class Tracking:
    """What lies before the mesh: `rate` new connections a second with a reserve of `burst`; once that has overflowed,
    `trickle` a second for `penalty` seconds (as in sg/tracking.nft). A rate of None is no tracking."""

    rate: float | None = 225
    burst: float = 450
    penalty: float = 12
    trickle: float = 1


@dataclass(frozen=True)
class Checks:
    """What each node does: a check of the mesh for each of `services` (1 where they track one), begun `inter` seconds after
    the last has ended, and given up after the shorter of `inter` and `connect`; `fall` failures in a row are DOWN, `rise`
    successes UP again. Times in seconds."""

    services: int = 70
    inter: float = 2
    connect: float = 3
    fall: int = 3
    rise: int = 2


class _Gate:
    """The tracking, asked once for each SYN."""

    def __init__(self, tracking: Tracking) -> None:
        self._of = tracking
        self._level, self._filled = 0.0, 0.0
        self._full_until = float("-inf")
        self._next_trickle = 0.0

    def lets(self, now: float) -> bool:
        if self._of.rate is None:
            return True
        if now < self._full_until:
            if now < self._next_trickle:
                return False
            self._next_trickle = now + 1 / self._of.trickle
            return True
        self._level = max(0.0, self._level - (now - self._filled) * self._of.rate)
        self._filled = now
        if self._level + 1 > self._of.burst:
            self._full_until = now + self._of.penalty
            return False
        self._level += 1
        return True


class _Storm:
    """One run: counts by second, and how many services are DOWN."""

    def __init__(self, checks: Checks, tracking: Tracking, seed: int) -> None:
        self.env = simpy.Environment()
        self.checks, self.gate = checks, _Gate(tracking)
        self.random = random.Random(seed)
        self.accepted: Counter[int] = Counter()
        self.lost: Counter[int] = Counter()
        self.down: Counter[int] = Counter()
        self.now_down = 0

    def syn(self) -> bool:
        let = self.gate.lets(self.env.now)
        (self.accepted if let else self.lost)[int(self.env.now)] += 1
        return let

    def check(self):
        """One check: its SYN, again and again, until one is let through or the check is given up."""
        began, done = self.env.now, self.syn()
        patience = min(self.checks.inter, self.checks.connect)
        for again in SYN_AGAIN:
            if done or again >= patience:
                break
            yield self.env.timeout(began + again - self.env.now)
            done = self.syn()
        if not done:
            yield self.env.timeout(began + patience - self.env.now)
        return done

    def service(self, leaves: Callable[[], bool]):
        """A service of a node that checks the mesh, until the node leaves."""
        up, in_a_row = True, 0
        yield self.env.timeout(self.random.random() * self.checks.inter)
        while not leaves():
            done = yield from self.check()
            in_a_row = in_a_row + 1 if done != up else 0
            if in_a_row == (self.checks.fall if up else self.checks.rise):
                up, in_a_row = not up, 0
                self.now_down += -1 if up else 1
            yield self.env.timeout(self.checks.inter)
        self.now_down -= not up

    def node(self, begins: float, ends: float):
        yield self.env.timeout(begins)
        for _ in range(self.checks.services):
            self.env.process(self.service(lambda: self.env.now >= ends))

    def watch(self):
        while True:
            self.down[int(self.env.now)] = max(self.down[int(self.env.now)], self.now_down)
            yield self.env.timeout(0.5)


def simulate(
    nodes: Iterable[tuple[float, float]], seconds: int, checks: Checks = Checks(), tracking: Tracking = Tracking(), seed: int = 4
) -> pd.DataFrame:
    """A row a second: `second`, `accepted` and `lost` SYNs, and how many services were `down` at most. `nodes` are each
    node's first and last second."""
    storm = _Storm(checks, tracking, seed)
    for begins, ends in nodes:
        storm.env.process(storm.node(begins, ends))
    storm.env.process(storm.watch())
    storm.env.run(until=seconds)
    rows = [(second, storm.accepted[second], storm.lost[second], storm.down[second]) for second in range(seconds)]
    return pd.DataFrame(rows, columns=["second", "accepted", "lost", "down"])


def grown(first: int, then: int, at: float, until: float = float("inf")) -> list[tuple[float, float]]:
    """Nodes for `simulate`: so many from the beginning, and so many in all from one moment until another."""
    return [(0, float("inf"))] * first + [(at, until)] * (then - first)


def first_lost(rows: pd.DataFrame) -> int | None:
    """The second in which the first SYN is lost; None where none is."""
    lost = rows[rows["lost"] > 0]
    return None if lost.empty else int(lost["second"].iloc[0])
