"""Points for a sheet, by evidence alone: the same answers get the same points."""

from dataclasses import dataclass

from workbench.interviews import sheet
from workbench.interviews.sheet import KINDS, Asked


@dataclass(frozen=True)
class Grade:
    """What an answer came to, and why."""

    asked: Asked
    points: float
    why: str


def grade(asked: list[Asked], answers: dict[str, object]) -> list[Grade]:
    """Grades the answers of a sheet (sheet.parse). Raises SheetError."""
    given = sheet.read(asked, answers)
    right = {each.id: sheet.read([each], {each.id: each.right}).get(each.id) for each in asked}
    grades = []
    for each in asked:
        if each.kind == "change":
            grades.append(Grade(each, 0, "measured by itself: see below"))
        elif each.id not in given:
            grades.append(Grade(each, 0, "no answer"))
        elif each.kind == "places":
            found = given.get("mechanism") == right["mechanism"]
            grades.append(
                _places(each, given[each.id]) if found else Grade(each, 0, "it proves another mechanism than the one chosen")
            )
        elif each.kind == "letters":
            grades.append(_letters(each, given[each.id], right[each.id]))
        else:
            same = KINDS[each.kind].same if each.kind in KINDS else (lambda one, other: one == other)
            well = same(given[each.id], right[each.id])
            grades.append(Grade(each, each.points if well else 0, "right" if well else f"not so: it is {each.right}"))
    return grades


def _places(asked: Asked, given: tuple[int | str, ...]) -> Grade:
    """The share of what is to be shown that is shown, times the share of the places that show any of it."""
    shows = [place for place in given if any(place in places for places in asked.shown)]
    seen = [places for places in asked.shown if any(place in places for place in given)]
    points = round(asked.points * len(seen) / len(asked.shown) * len(shows) / len(given), 1)
    idle = [str(place) for place in given if place not in shows]
    why = f"{len(seen)} of {len(asked.shown)} things shown"
    return Grade(asked, points, why + (f"; {', '.join(idle)} shows none of them" if idle else ""))


def _letters(asked: Asked, given: frozenset[str], right: frozenset[str]) -> Grade:
    """Each wrong letter takes the points of a right one away."""
    points = round(asked.points * max(0, len(given & right) - len(given - right)) / len(right), 1)
    if given == right:
        return Grade(asked, points, "right")
    missing, beside = sorted(right - given), sorted(given - right)
    words = [f"{', '.join(missing)} missing"] if missing else []
    words += [f"{', '.join(beside)} does not help"] if beside else []
    return Grade(asked, points, "; ".join(words))
