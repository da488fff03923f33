"""The learner's and the trainer's commands: up, check, hint, solution, reset, down, live, room."""

import contextlib
import signal
import time
from typing import Annotated

import typer
from rich.live import Live
from rich.markdown import Markdown
from rich.table import Table

from workbench import console, lab, learner, oracle, report, room
from workbench.lab import ROOT, Lab
from workbench.learner import Check, Seat
from workbench.stack import StackError

Case = Annotated[str, typer.Argument(help="a case number, or a lab")]
SeatName = Annotated[str, typer.Option("--seat", help="whose stack, where several share a machine")]
SAYS = {
    "green": "the incident is gone",
    "red": "the incident is still there",
    "failed": "something else is broken",
    "undecided": "too little was seen to say",
    "refused": "this does not count as a cure",
}


def _seat(case: str, seat: str) -> Seat:
    return Seat(lab.load(case), seat)


def up(
    case: Case,
    seat: SeatName = "",
    scale: Annotated[str, typer.Option(help="how many containers a service has, as in web=3 (several apart by spaces)")] = "",
) -> None:
    """Brings up a case to look at and to change, or applies what was changed; prints the symptoms."""
    mine = _seat(case, seat)
    new = learner.copy(mine)
    wanted = learner.scale(mine, scale)
    _stand(mine, wanted)
    if wanted:
        console.out.print(f"{mine.project} stands with {', '.join(f'{count} of {service}' for service, count in wanted.items())}")
        return
    console.out.print(Markdown(f"# Case {mine.lab.case}"))
    console.out.print(Markdown(learner.introduction(mine)))
    console.out.print()
    where = mine.copy.relative_to(ROOT)
    console.out.print(f"{'Copied to' if new else 'Your version is in'} {where}/: {', '.join(mine.lab.learner.copies)}")
    if mine.lab.learner.settings:
        small = ", ".join(f"{name}={value}" for name, value in mine.lab.learner.settings.items())
        console.out.print(f"It stands with {small}, so that it leaves room for others; a check runs it in full.")
    for verb, says in (
        ("up", "applies what you changed there"),
        ("check", "measures whether the incident is gone"),
        ("hint", "tells the next hint"),
        ("reset", "starts again"),
        ("down", "takes the stack down"),
    ):
        console.out.print(f"  {mine.command(verb)}   {says}")


def _stand(mine: Seat, wanted: dict[str, int] | None = None) -> None:
    try:
        mine.apply(wanted)
    except BaseException:
        if mine.up():
            console.err.print(f"{mine.project} stands, perhaps in part: {mine.command('down')} ends it", style="yellow")
        raise


def check(case: Case, seat: SeatName = "") -> None:
    """Runs a learner's version, measures what changed, and says whether the incident is gone."""
    mine = _seat(case, seat)
    before = mine.last()
    changed = learner.differences(mine)
    console.out.print(f"Case {mine.lab.case}: your version{'' if changed else ' is the broken one, nothing is changed'}")
    for line in changed:
        console.out.print(f"  {line}", markup=False)
    result = learner.check(mine)
    if result.facts:
        console.out.print(_measured(mine.lab, before, result))
    console.out.print(f"[{report.STYLE[result.verdict]}]{result.verdict}[/]: {SAYS[result.verdict]}")
    for reason in result.reasons:
        console.out.print(f"  {reason}", markup=False)
    if result.run:
        if result.run.meta["disturbed"]:
            others = result.run.meta["cpu_of_others"]
            console.out.print(f"  others used {others} cores meanwhile: do not trust the CPU figures")
        there = result.run.capture if result.run.capture.is_file() else result.run.folder
        console.out.print(f"{'on the wire' if there == result.run.capture else 'its logs'}: {there.relative_to(ROOT)}")
    if result.verdict != "green":
        raise SystemExit(1)


def _measured(each: Lab, before: dict | None, result: Check) -> Table:
    """What changed by measurement: the broken stack as recorded (a new lab's is not yet), this learner's last check, and now."""
    columns = {"your last check": (before or {}).get("facts") or {}, "now": result.facts}
    with contextlib.suppress(FileNotFoundError):
        columns = {"broken, as recorded": oracle.recorded(each.name, "broken").facts, **columns}
    shown = Table()
    shown.add_column("measured")
    for heading in columns:
        shown.add_column(heading, justify="right")
    for column in each.columns:
        # What only a closer look measures is not in a check.
        if column.fact not in result.facts:
            continue
        shown.add_row(column.title, *(report.figure(facts, column) for facts in columns.values()))
    return shown


def hint(case: Case, seat: SeatName = "") -> None:
    """Tells the next hint: what is wrong, not what to type."""
    mine = _seat(case, seat)
    number, of, text = learner.next_hint(mine)
    console.out.print(Markdown(f"**Hint {number} of {of}.** {text}"))
    if number == of:
        console.out.print(f"That was the last one. {mine.command('solution')} tells it all.")


def solution(case: Case, seat: SeatName = "") -> None:
    """Asks, and then tells the cause and the cures."""
    mine = _seat(case, seat)
    console.err.print(
        f"This ends the exercise: it tells the cause of case {mine.lab.case} and every cure. Show it? [y/N] ", end="", markup=False
    )
    try:
        answer = input()
    except EOFError:
        answer = ""
    if answer.strip().lower() not in ("y", "yes"):
        console.err.print("not shown")
        raise SystemExit(1)
    console.out.print(Markdown((mine.lab.folder / "SOLUTION.md").read_text()))


def reset(case: Case, seat: SeatName = "") -> None:
    """Makes a fresh copy, as at the beginning; a stack that is up is brought back to it."""
    mine = _seat(case, seat)
    standing = mine.up()
    kept = learner.reset(mine)
    if kept:
        console.out.print(f"what you had is kept in {kept.relative_to(ROOT)}/ until the next reset")
    if standing:
        _stand(mine)
    console.out.print(f"{mine.copy.relative_to(ROOT)}/ is as at the beginning")


def down(case: Case, seat: SeatName = "") -> None:
    """Takes a learner's stack down; what was changed stays."""
    mine = _seat(case, seat)
    with console.step(f"taking {mine.project} down"):
        mine.down()
    console.out.print(f"{mine.project} is down; {mine.copy.relative_to(ROOT)}/ stays as it is")


def live(
    case: Case, seat: SeatName = "", seconds: Annotated[int, typer.Option(help="for how long; 0 until Ctrl-C", min=0)] = 0
) -> None:
    """Shows what goes on in a stack, redrawn in place: a seat's own, or, where that is down, that of a measured run."""
    mine = _seat(case, seat)
    look = getattr(mine.lab.part("lab"), "live", None)
    if look is None:
        raise lab.LabError(f"case {mine.lab.case} has no live view")
    end = time.monotonic() + (seconds or float("inf"))
    signal.signal(signal.SIGINT, signal.default_int_handler)
    running = learner.running(mine)
    try:
        with Live(console=console.out, auto_refresh=False) as screen:
            while time.monotonic() < end:
                screen.update(_rows(f"{running.project}, {time.strftime('%H:%M:%S')}", look(running)), refresh=True)
                time.sleep(2)
    except KeyboardInterrupt:
        # The stack goes on.
        return
    except StackError:
        console.out.print(f"{running.project} is down")


def _rows(title: str, rows: list[dict]) -> Table:
    shown = Table(title=title, title_justify="left")
    for heading in rows[0] if rows else ["nothing was told yet"]:
        shown.add_column(heading, justify="right")
    for row in rows:
        shown.add_row(*map(str, row.values()))
    return shown


def show_room(seats: Annotated[int, typer.Option(help="how many seats are expected", min=0, max=200)] = 0) -> None:
    """Shows who is up, red and green, and who waits for a measured run."""
    found = room.places()
    console.out.print(room.table(found))
    for line in room.summary(found, seats):
        console.out.print(line)
