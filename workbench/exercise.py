"""An exercise: a lab's questions over the capture in hand. Answers are computed from it and shown nowhere."""

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import altair as alt
import pandas as pd

from workbench import connections, lab, oracle, packets, plots, recording
from workbench.lab import ROOT, Lab, LabError
from workbench.packets import CaptureError
from workbench.recording import Run

CLOSE_NOTIFY = ("", "0")


class ExerciseError(ValueError):
    """What the person can mend, said in one line; a notebook shows it without a traceback."""

    def _render_traceback_(self) -> list[str]:
        return [str(self)]


class Malformed(ValueError):
    """An answer that is not written as its question asks."""


class Moot(ValueError):
    """A question that the capture in hand does not answer, and why."""


@dataclass(frozen=True)
class Shape:
    """How an answer is written: a sentence that says it, what reads it (raises Malformed), and what compares."""

    how: str
    read: Callable[[object], object]
    same: Callable[[object, object], bool] = lambda given, right: given == right


@dataclass(frozen=True)
class Question:
    """One question of a lab. `answer` computes it from a case (raises Moot); `nudge` gets the case, what was given and
    what is right, and says where to look without saying what is there; `told` is added to a right answer."""

    id: str
    text: str
    shape: Shape
    answer: Callable[["Case"], object]
    nudge: Callable[["Case", object, object], str]
    told: Callable[["Case", object], str] = lambda case, given: ""


@dataclass(frozen=True)
class Text:
    """What a cell shows: Markdown, and the same as plain text."""

    text: str

    def _repr_markdown_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Reply(Text):
    """What is said to an answer. `outcome`: right, not yet, open (no answer, or not one that can be read) or moot."""

    outcome: str


@dataclass(frozen=True)
class Picture:
    """A plot, and its picture for where no script runs."""

    chart: alt.TopLevelMixin = field(repr=False)

    def _repr_mimebundle_(self, **_kinds: object) -> dict:
        return plots.shown(self.chart)


class Case:
    """A case's questions, its lab's questions.py, over one capture. Raises packets.CaptureError."""

    def __init__(self, chosen: Lab, questions: ModuleType, run: Run | None, capture: Path) -> None:
        self.lab, self.run, self.capture = chosen, run, capture
        self._packets = packets.table(capture)
        self._connections = connections.from_packets(self._packets)
        self._module = questions
        self._questions = {question.id: question for question in questions.QUESTIONS}
        self._outcomes: dict[str, str] = {}

    @property
    def questions(self) -> list[Question]:
        return list(self._questions.values())

    @property
    def connections(self) -> pd.DataFrame:
        """One row per TCP connection (workbench.connections.table)."""
        return self._connections.copy()

    @property
    def packets(self) -> pd.DataFrame:
        """One row per TCP packet (workbench.packets.table)."""
        return self._packets.copy()

    def judged(self, scenario: str) -> oracle.Judgement:
        """The verdict of a scenario's recorded run. Raises Moot where none is recorded."""
        try:
            return oracle.recorded(self.lab.name, scenario)
        except FileNotFoundError:
            raise Moot("Its recorded runs are not here.") from None

    def symptom(self) -> Picture | Text:
        """What was seen, before anybody looked at the wire."""
        if self.run is None:
            return Text("A capture alone, without the metrics of its run: there is no picture of the symptom.")
        return Picture(self._module.symptom(self.run))

    def ask(self, name: str) -> Text:
        """The question, and how its answer is written."""
        question = self._question(name)
        if question is None:
            return self._unknown(name)
        number = list(self._questions).index(name) + 1
        return Text(f"**Question {number}.** {question.text}\n\n*Answer with {question.shape.how}.*")

    def check(self, name: str, answer: object = ...) -> Reply:
        """Says whether an answer is right; where it is not, where to look."""
        question = self._question(name)
        if question is None:
            return self._unknown(name)
        reply = self._reply(question, answer)
        self._outcomes[name] = reply.outcome
        return reply

    def score(self) -> Text:
        """How many answers are right, not yet right, and open."""
        outcomes = [self._outcomes.get(name, "open") for name in self._questions]
        counts = {outcome: outcomes.count(outcome) for outcome in ("right", "not yet", "open", "moot")}
        asked = len(outcomes) - counts.pop("moot")
        said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        unasked = f" ({len(outcomes) - asked} not to be answered from this capture)" if asked < len(outcomes) else ""
        done = " **Solved.**" if 0 < asked == counts["right"] else ""
        return Text(f"Of {asked} questions{unasked}: {said}.{done}")

    def _reply(self, question: Question, answer: object) -> Reply:
        if answer is ...:
            return Reply("○ **Open.** Put your answer in the place of `...`.", "open")
        try:
            given = question.shape.read(answer)
        except Malformed as error:
            return Reply(f"○ **Not readable yet.** {error} Please answer with {question.shape.how}.", "open")
        try:
            right = question.answer(self)
        except Moot as error:
            return Reply(f"– **Not to be answered from this capture.** {error}", "moot")
        if question.shape is FRAME and given is not None and given not in set(self._packets["frame"]):
            return Reply("→ **Not yet.** The capture has no TCP packet of that number.", "not yet")
        if question.shape.same(given, right):
            return Reply(f"✓ **Right.** {question.told(self, given)}".rstrip(), "right")
        return Reply(f"→ **Not yet.** {question.nudge(self, given, right)}", "not yet")

    def _question(self, name: object) -> Question | None:
        return self._questions.get(name) if isinstance(name, str) else None

    def _unknown(self, name: object) -> Reply:
        return Reply(f"There is no question {name!r}; there is: {', '.join(self._questions)}.", "open")

    def __repr__(self) -> str:
        return self._repr_markdown_()

    def _repr_markdown_(self) -> str:
        rows = self.packets
        seconds = rows["time"].max() - rows["time"].min()
        ports = ", ".join(map(str, sorted(self.connections["server_port"].unique())))
        shown = f"{len(rows)} packets over {seconds:.1f} s, TCP connections to ports {ports}"
        return f"Case {self.lab.case}, {_shown(self.capture)}: {shown}"


def open(case: int | str, capture: Path | str | None = None) -> Case:
    """A case by its number, over the recorded run that its questions open or over another capture: a file, the folder of
    a run, or a folder of runs, of which the latest is taken. Relative paths start here or in the repository. Raises
    ExerciseError.

    A lab's questions.py has QUESTIONS, symptom(run), and OPENS, the scenario whose recorded run they are asked of."""
    try:
        chosen = lab.load(str(case))
        questions = chosen.part("questions")
        run, path = _found(chosen, questions.OPENS, capture)
        if run is not None and run.meta["lab"] != chosen.name:
            raise ExerciseError(f"{capture}: a run of another case")
        return Case(chosen, questions, run, path)
    except (LabError, CaptureError, FileNotFoundError) as error:
        raise ExerciseError(str(error)) from None


def _found(chosen: Lab, opens: str, capture: Path | str | None) -> tuple[Run | None, Path]:
    if capture is None:
        run = recording.published(chosen.name, opens)
        return run, run.capture
    path = next((place for place in (Path(capture), ROOT / capture) if place.exists()), None)
    if path is None:
        raise ExerciseError(f"{capture}: no such file or folder")
    if path.is_file():
        # A run's own capture brings its run along.
        whole = path.name == recording.CAPTURE and (path.parent / recording.META).is_file()
        return (Run(path.parent) if whole else None), path
    folders = [path] if (path / recording.META).is_file() else sorted(meta.parent for meta in path.glob(f"*/{recording.META}"))
    if not folders:
        raise ExerciseError(f"{capture}: no run in this folder")
    run = Run(folders[-1])
    if not run.capture.is_file():
        raise ExerciseError(f"{capture}: this run has no capture ({run.meta['failure'] or 'it did not come so far'})")
    return run, run.capture


def _shown(path: Path) -> str:
    captures = ROOT / "captures"
    if path.is_relative_to(captures):
        return "the recorded run"
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


# How answers are written


def _is_number(value: object, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def _ports(answer: object) -> frozenset[int]:
    items = answer.tolist() if hasattr(answer, "tolist") else answer
    items = [items] if _is_number(items, numbers.Integral) else items
    if not isinstance(items, (set, frozenset, list, tuple)):
        raise Malformed("That is not a set.")
    if not all(_is_number(item, numbers.Integral) and 0 < item < 65536 for item in items):
        raise Malformed("A port is a whole number from 1 to 65535.")
    return frozenset(map(int, items))


def _share(answer: object) -> float:
    if not _is_number(answer, numbers.Real) or not math.isfinite(answer):
        raise Malformed("That is not a number.")
    if not 0 <= answer <= 1:
        raise Malformed("A share lies between 0 and 1: a percentage is divided by 100.")
    return float(answer)


def _count(answer: object) -> int:
    if not _is_number(answer, numbers.Integral) or answer < 0:
        raise Malformed("A count is a whole number, 0 or more.")
    return int(answer)


def _frame(answer: object) -> int | None:
    if answer is None:
        return None
    if not _is_number(answer, numbers.Integral) or answer < 1:
        raise Malformed("Frames are counted from 1.")
    return int(answer)


def _milliseconds(answer: object) -> float:
    if not _is_number(answer, numbers.Real) or not answer >= 0:
        raise Malformed("That is not a number of milliseconds.")
    return float(answer)


SIDES, SIGNS = ("client", "server"), {"fin": "FIN", "rst": "RST", "close_notify": "close_notify"}


def _ending(answer: object) -> tuple[str, str]:
    words = answer.replace(",", " ").split() if isinstance(answer, str) else answer
    if not isinstance(words, (list, tuple)) or len(words) != 2 or not all(isinstance(word, str) for word in words):
        raise Malformed("That is not a pair of two words.")
    side, sign = (word.strip().lower() for word in words)
    if side not in SIDES or sign not in SIGNS:
        raise Malformed("The first word names the side, the second what it sends.")
    return side, SIGNS[sign]


PORTS = Shape("a set of port numbers, such as `{80, 443}`", _ports)
#: Two decimals are enough.
SHARE = Shape("a share between 0 and 1", _share, lambda given, right: abs(given - right) < 0.0051)
COUNT = Shape("a whole number", _count)
FRAME = Shape("a frame number, or with `None` if there is no such frame", _frame)
#: A tenth more or less is as good: it depends on where one begins to count.
MILLISECONDS = Shape("a number of milliseconds", _milliseconds, lambda given, right: abs(given - right) <= 0.1 * right)
ENDING = Shape('a pair: `"client"` or `"server"`, and `"FIN"`, `"RST"` or `"close_notify"`', _ending)


# What questions of several labs need


def finished(case: Case, port: int | None = None) -> pd.DataFrame:
    """Connections whose handshake came to its end, to one port or to all. Raises Moot where there is none."""
    table = case.connections
    found = connections.finished(table if port is None else table[table["server_port"] == port])
    if found.empty:
        raise Moot(f"It holds no finished handshake{'' if port is None else f' with port {port}'}.")
    return found


def endings(case: Case) -> pd.DataFrame:
    """The packet with which each connection begins to end: `stream`, `frame`, `server_port`, `side` and `sign` (FIN, RST,
    close_notify, or alert for another one). An encrypted alert that comes last is taken for a close_notify."""
    rows = case.packets
    alerts = packets.holding(rows, connections.ALERT, "record_types")
    ends = rows[alerts | (rows["flags"] & (connections.FIN | connections.RST) > 0)].drop_duplicates("stream")
    found = ends.merge(case.connections[["stream", "client", "client_port", "server_port"]], on="stream")
    by_client = (found["src"] == found["client"]) & (found["sport"] == found["client_port"])
    signs = [_sign(packet) for packet in found.itertuples()]
    return found[["stream", "frame", "server_port"]].assign(side=by_client.map({True: "client", False: "server"}), sign=signs)


def _sign(packet) -> str:
    if connections.ALERT in packet.record_types.split(","):
        return "close_notify" if packet.alert in CLOSE_NOTIFY else "alert"
    return "RST" if packet.flags & connections.RST else "FIN"


def ending(name: str, text: str, port: int | None = None, told: str = "") -> Question:
    """How do connections end, mostly: those to one port, or all of them?"""

    def usual(case: Case) -> tuple[str, str]:
        found = endings(case)
        found = found if port is None else found[found["server_port"] == port]
        if found.empty:
            raise Moot(f"It holds no end of a connection{'' if port is None else f' with port {port}'}.")
        side, sign = found[["side", "sign"]].value_counts().index[0]
        return side, sign

    return Question(name, text, ENDING, usual, _about_ending, lambda case, given: told)


def _about_ending(_case: Case, given: tuple[str, str], right: tuple[str, str]) -> str:
    look = "Follow one connection to its last packets (`tcp.stream == 3`, say): which one comes first?"
    if given[0] == right[0] and given[1] == "close_notify":
        return f"The side is right, but no alert (`tls.record.content_type == 21`) is the first it sends. {look}"
    if given[0] == right[0]:
        return f"The side is right, what it sends first is something else. {look}"
    if given[1] == right[1]:
        return "That is what is sent, but look from whose port it comes."
    return f"Neither the side nor what it sends. {look}"


def tried(name: str, text: str, changes: dict[str, tuple[str, str]]) -> Question:
    """Which change would help? `changes` by letter: the scenario that makes it, and what it is called here. What is
    right is the verdict of each scenario's recorded run."""
    listed = "\n".join(f"- **{letter}**: {says}" for letter, (_, says) in changes.items())

    def read(answer: object) -> str:
        letter = answer.strip().lower() if isinstance(answer, str) else None
        if letter not in changes:
            raise Malformed("That is none of the letters.")
        return letter

    def helpful(case: Case) -> set[str]:
        return {letter for letter, (scenario, _) in changes.items() if case.judged(scenario).verdict == "green"}

    def measured(case: Case, letter: str) -> str:
        change, broken = case.judged(changes[letter][0]), case.judged("broken")
        facts = (change.facts, broken.facts)
        said = [
            f"{{:{column.format}}} {column.title}, against {{:{column.format}}} without it".format(
                *(each[column.fact] for each in facts)
            )
            for column in case.lab.deciding()
        ]
        return f"Recorded with this change alone, and judged {change.verdict}: {'; '.join(said)}."

    return Question(
        name,
        f"{text}\n\n{listed}",
        Shape("one of the letters, such as `" + '"a"' + "`", read, lambda given, right: given in right),
        helpful,
        lambda case, given, right: f"{measured(case, given)} What does it leave as it was?",
        measured,
    )
