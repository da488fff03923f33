"""The question sheet: what is asked, how an answer is written, and how what was written is read."""

import contextlib
import textwrap
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field

from workbench.exercise import COUNT, ENDING, FRAME, MILLISECONDS, SHARE, Malformed, Shape

#: At most so many frames or lines may be named.
PLACES = 3


class SheetError(ValueError):
    """A sheet that cannot be read: one line with the question, and what is wrong with its answer."""


@dataclass(frozen=True)
class Asked:
    """One question. `right` is as it would be written on the sheet; `shown` is what shows it, frames or lines as file:number, a
    list for each thing that is to be shown."""

    id: str
    #: finding, reasoning or fix.
    part: str
    points: int
    text: str
    kind: str
    right: object
    shown: list[list[int | str]] = field(default_factory=list)
    options: dict[str, str] = field(default_factory=dict)


def _number(answer: object) -> object:
    """Whoever leaves the quotes where they are has written a number all the same."""
    if isinstance(answer, str):
        for kind in (int, float):
            with contextlib.suppress(ValueError):
                return kind(answer)
    return answer


def _frame(answer: object) -> int | None:
    answer = _number(answer)
    return None if answer == 0 and answer is not False else FRAME.read(answer)


def _letters(answer: object) -> frozenset[str]:
    words = answer.replace(",", " ").lower().split() if isinstance(answer, str) else []
    if not words or not all(len(word) == 1 and word.isascii() and word.isalpha() for word in words):
        raise Malformed("Those are not letters with spaces between them.")
    return frozenset(words)


def _letter(answer: object) -> frozenset[str]:
    letters = _letters(answer)
    if len(letters) > 1:
        raise Malformed("Those are several letters.")
    return letters


def _places(answer: object) -> tuple[int | str, ...]:
    places = [each.strip() for each in answer.split(",")] if isinstance(answer, str) else answer
    places = [_number(place) for place in (places if isinstance(places, list) else [places])]
    if not 0 < len(places) <= PLACES:
        raise Malformed(f"From one to {PLACES} are asked for.")
    for place in places:
        if isinstance(place, str):
            name, _, number = place.rpartition(":")
            if not name or not number.isdigit():
                raise Malformed(f"{place!r} is not a line written as file:number.")
        elif isinstance(place, bool) or not isinstance(place, int) or place < 1:
            raise Malformed(f"{place!r} is not a frame number.")
    return tuple(dict.fromkeys(places))


#: How answers are written, by the kind of question.
KINDS: dict[str, Shape] = {
    "count": COUNT,
    "share": SHARE,
    "frame": FRAME,
    "ending": ENDING,
    "milliseconds": MILLISECONDS,
}
_READ = {
    "count": ("a whole number", lambda answer: COUNT.read(_number(answer))),
    "share": ("a share between 0 and 1; two decimals are enough", lambda answer: SHARE.read(_number(answer))),
    "frame": ("a frame number, or 0 if there is no such frame", _frame),
    "ending": ('two words: client or server, and FIN, RST or close_notify, such as "client RST"', ENDING.read),
    "milliseconds": (
        "a number of milliseconds; a tenth more or less does not matter",
        lambda answer: MILLISECONDS.read(_number(answer)),
    ),
    "letter": ('one letter, such as "a"', _letter),
    "letters": ('all letters that apply, such as "a" or "a c"', _letters),
    "places": ('a list of frames and lines, such as [12, 345] or [12, "counters.csv:67"]', _places),
}


def plain(answer: object) -> object:
    """A right answer as it would be written on the sheet."""
    if answer is None:
        return 0
    if isinstance(answer, frozenset):
        return " ".join(sorted(answer))
    if isinstance(answer, tuple):
        return " ".join(answer)
    answer = answer.item() if hasattr(answer, "item") else answer
    # As many digits as anybody would write.
    return round(answer, 3) if isinstance(answer, float) else answer


def write(code: str, asked: list[Asked]) -> str:
    """The sheet to fill in, as TOML."""
    lines = [
        '# Your answers. Put each of them in the place of the "" behind its `answer =`; what stays open costs its points only.',
        "# Frames are numbered as Wireshark numbers them; times are those of its column Time (seconds since the first frame).",
        "",
        f'interview = "{code}"',
    ]
    for number, each in enumerate(asked, 1):
        lines += ["", f"[{each.id}]", *_comment(f"{number}. {each.text} ({each.points} points)")]
        for letter, option in each.options.items():
            lines += _comment(f"{letter}) {option}", "   ")
        if each.kind != "change":
            lines += [*_comment(f"Answer with {_READ[each.kind][0]}."), 'answer = ""']
    return "\n".join(lines) + "\n"


def _comment(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, 110, initial_indent=f"# {indent}", subsequent_indent=f"# {indent}", break_long_words=False)


def parse(text: str) -> tuple[str, dict[str, object]]:
    """The code of a sheet and what is answered, by question. Raises SheetError for what is no sheet."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SheetError(f"not TOML: {error}") from None
    code = found.pop("interview", None)
    if not isinstance(code, str):
        raise SheetError('interview: missing; the sheet begins with interview = "..."')
    for name, entry in found.items():
        if not isinstance(entry, dict) or set(entry) - {"answer"}:
            raise SheetError(f"{name}: a question has an answer = ..., and nothing else")
    return code, {name: entry.get("answer", "") for name, entry in found.items()}


def read(asked: list[Asked], answers: Mapping[str, object]) -> dict[str, object]:
    """What was answered, by question; what stayed open is missing. Raises SheetError for an answer that is not written as it
    is asked for."""
    known = {each.id: each for each in asked}
    for name in answers:
        if name not in known:
            raise SheetError(f"{name}: there is no such question; there is: {', '.join(known)}")
    given = {}
    for name, each in known.items():
        answer = answers.get(name, "")
        if answer in ("", []) or each.kind == "change":
            continue
        how, reads = _READ[each.kind]
        try:
            given[name] = reads(answer)
        except Malformed as error:
            raise SheetError(f"{name}.answer: {error} Answer with {how}.") from None
        if each.options and not given[name] <= set(each.options):
            raise SheetError(f"{name}.answer: letters go from a to {max(each.options)}")
    return given
