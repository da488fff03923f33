"""What a candidate is asked, and what is right: computed from the evidence in hand, in the lab's own terms."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from random import Random
from types import ModuleType

import pandas as pd

from workbench import exercise, packets
from workbench.connections import CLIENT_HELLO, SERVER_HELLO
from workbench.exercise import Case
from workbench.interviews.sheet import KINDS

#: Milliseconds before and after the beginning of a window in which no connection begins: nobody is to quarrel over it.
CLEAR = 0.002


@dataclass(frozen=True)
class Finding:
    """A fact that is in the evidence. `answer` computes it from a case, and `proof` the frames that show it."""

    id: str
    text: str
    #: How it is answered: count, frame, share, ending or milliseconds (see sheet.KINDS).
    kind: str
    answer: Callable[[Case], object]
    proof: Callable[[Case], list[int]]


@dataclass(frozen=True)
class Proof:
    """One of the things that a diagnosis rests on, and what in the evidence shows it: frames, or lines as file:number."""

    says: str
    shown_by: Callable[["Evidence"], list[int | str]]


@dataclass(frozen=True)
class Cause:
    """A mechanism to choose. One that no evidence has (no proofs) is there to be ruled out."""

    says: str
    proofs: tuple[Proof, ...] = ()


@dataclass(frozen=True)
class Evidence:
    """The evidence in the lab's own terms: the case, and the lines of each of its text files by name."""

    case: Case
    lines: Mapping[str, list[str]] = field(default_factory=dict)

    def matching(self, name: str, text: str) -> list[str]:
        """The lines of a file that contain a text, as file:number."""
        return [f"{name}:{number}" for number, line in enumerate(self.lines[name], 1) if text in line]


def of_exercise(questions: ModuleType, name: str, text: str, proof: Callable[[Case], list[int]] | None = None) -> Finding:
    """A question of the lab's exercise, said so that it tells nothing of the case. What asks for a frame needs no other proof."""
    (question,) = (each for each in questions.QUESTIONS if each.id == name)
    kind = next(kind for kind, shape in KINDS.items() if shape is question.shape)
    return Finding(name, text, kind, question.answer, proof or (lambda case: [frame] if (frame := question.answer(case)) else []))


def handshakes_between(case: Case, random: Random, server: str, port: int) -> Finding:
    """How many connections to a server paid a full handshake in a part of the capture?"""
    began, table = case.packets["time"].min(), case.connections
    table = table[(table["server_port"] == port) & (table["client_syns"] > 0)]
    starts = table["start"] - began
    begin, end = _window(starts, random)

    def within(case: Case) -> pd.DataFrame:
        return table[starts.between(begin, end) & (table["handshake"] == "full")]

    text = (
        f"Of the connections to {server}:{port} whose first SYN is seen between {begin:.3f} s and {end:.3f} s of the capture "
        f"(Wireshark's column Time), how many paid a full handshake?"
    )
    return Finding("full_between", text, "count", lambda case: len(within(case)), lambda case: _first_frames(case, within(case)))


def _window(starts: pd.Series, random: Random) -> tuple[float, float]:
    """Some of the time in which connections begin, cut where none does: at least two are in it, and not all. Raises ValueError
    where there is no such part."""
    sorted_starts = sorted(map(float, starts))
    cuts = [
        (number, (one + other) / 2) for number, (one, other) in enumerate(pairwise(sorted_starts), 1) if other - one > 2 * CLEAR
    ]
    windows = [(begin, end) for (first, begin), (last, end) in combinations(cuts, 2) if last - first > 1]
    if not windows:
        raise ValueError("there is no part of this capture that begins and ends between connections")
    begin, end = random.choice(windows)
    return round(begin, 3), round(end, 3)


def _first_frames(case: Case, table: pd.DataFrame) -> list[int]:
    rows = case.packets.drop_duplicates("stream").set_index("stream")
    return [int(rows.loc[stream, "frame"]) for stream in table["stream"]]


def end_of_one(case: Case, random: Random, server: str, port: int) -> Finding:
    """Which side ends a certain connection, and how?"""
    ends = exercise.endings(case)
    ends = ends[(ends["server_port"] == port) & (ends["sign"] != "alert")]
    connections = case.connections.set_index("stream").loc[ends["stream"]]
    whole = connections[connections["client_syns"] > 0]
    chosen = whole.iloc[random.randrange(len(whole))]
    end = ends.set_index("stream").loc[chosen.name]
    text = (
        f"Take the connection from {chosen['client']}:{chosen['client_port']} to {server}:{port}. Which side begins to end it, "
        "and with what? What counts is its first alert, FIN or RST; an encrypted alert is a close_notify."
    )
    return Finding("end_of_one", text, "ending", lambda case: (end["side"], end["sign"]), lambda case: [int(end["frame"])])


def ending_frames(case: Case, port: int, side: str, sign: str) -> list[int]:
    """The frames with which that side begins to end connections to a port in that way."""
    found = exercise.endings(case)
    found = found[(found["server_port"] == port) & (found["side"] == side) & (found["sign"] == sign)]
    return [int(frame) for frame in found["frame"]]


def hello_frames(case: Case, streams: Collection[int], message: str = CLIENT_HELLO) -> list[int]:
    """The frames of these connections' ClientHellos, or of another message of TLS."""
    rows = case.packets
    return [int(frame) for frame in rows.loc[packets.holding(rows, message) & rows["stream"].isin(streams), "frame"]]


def both_hellos(case: Case, streams: Collection[int]) -> list[int]:
    """The frames of these connections' ClientHellos, and then those of their ServerHellos."""
    return [*hello_frames(case, streams), *hello_frames(case, streams, SERVER_HELLO)]


def frames_of(case: Case, streams: Collection[int]) -> list[int]:
    """Every frame of these connections."""
    rows = case.packets
    return [int(frame) for frame in rows.loc[rows["stream"].isin(streams), "frame"]]
