"""The interviewer's commands: interview, grade. Files go through a pipe as tar, so that they may lie anywhere on the host."""

import io
import random
import secrets
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer
from rich.table import Table

from workbench import console, lab, learner
from workbench.interviews import archives, grading, live, making, sheet
from workbench.interviews.grading import Grade
from workbench.interviews.sheet import Asked
from workbench.lab import LabError
from workbench.learner import Seat


def interview(
    whom: Annotated[str, typer.Option("--for", help="the candidate's name, for the interviewer's archive only")],
    name: Annotated[str, typer.Option("--lab", help="a lab or a case's number; without it one is chosen by the seed")] = "",
    seed: Annotated[str, typer.Option(help="the same seed makes the same interview; without it a new one is drawn")] = "",
    with_stack: Annotated[bool, typer.Option("--live", help="with the broken stack, to bring up and to change")] = False,
) -> None:
    """Writes both archives of an interview to stdout, as tar."""
    seed = seed or secrets.token_hex(8)
    able = [each for each in lab.names() if _able(each, with_stack)]
    chosen = lab.load(name).name if name else random.Random(f"lab\0{seed}").choice(able)
    if chosen not in able:
        raise LabError(f"LAB={name}: no {'live ' if with_stack else ''}interview is made of it; there is: {', '.join(able)}")
    with tempfile.TemporaryDirectory() as folder, console.step("making the interview"):
        made = making.make(chosen, seed, Path(folder) / "interview", live=with_stack)
        files = {archives.CANDIDATE: archives.candidate(made), archives.INTERVIEWER: archives.interviewer(made, whom)}
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for each, data in files.items():
            entry = tarfile.TarInfo(each)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    console.err.print(f"interview {made.code} for {whom}: case {made.lab.case}, SEED={seed}", markup=False)


def _able(name: str, with_stack: bool) -> bool:
    chosen = lab.load(name)
    return (chosen.folder / "interview.py").is_file() and (not with_stack or hasattr(chosen.part("interview"), "LIVE"))


def grade(answers: Annotated[str, typer.Argument(help="what errors call the sheet")]) -> None:
    """Grades a sheet. stdin is tar: what was handed in under handed-in/, and under keys/ every interviewer's archive that may have
    its key."""
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as tar:
        sent = {PurePosixPath(entry.name).as_posix(): tar.extractfile(entry).read() for entry in tar if entry.isfile()}
    files = {name.removeprefix("handed-in/"): data for name, data in sent.items() if name.startswith("handed-in/")}
    keys = [data for name, data in sent.items() if name.startswith("keys/")]
    if archives.SHEET not in files:
        raise LabError(f"{answers}: there is no {archives.SHEET} in it")
    try:
        code, given = sheet.parse(files[archives.SHEET].decode())
        entry, asked = _key(answers, code, keys)
        grades = grading.grade(asked, given)
    except UnicodeDecodeError:
        raise LabError(f"{answers}: not a text in UTF-8") from None
    except sheet.SheetError as error:
        raise LabError(f"{answers}: {error}") from None
    console.out.print(_table(entry, grades))
    if entry["live"]:
        take_a_seat(answers, entry, files)


def _key(answers: str, code: str, interviewers: list[bytes]) -> tuple[dict, list[Asked]]:
    """The key of an interview. One that cannot be read is no hindrance where another fits. Raises LabError."""
    unreadable = None
    for data in interviewers:
        try:
            entry, asked = archives.read_key(data)
        except LabError as error:
            unreadable = error
            continue
        if entry["interview"] == code:
            return entry, asked
    if unreadable:
        raise unreadable
    said = f"no key of the interview {code} among {len(interviewers)}; KEY=folder/{archives.INTERVIEWER} names it"
    raise LabError(f"{answers}: {said}")


def take_a_seat(answers: str, entry: dict, files: dict[str, bytes]) -> None:
    """Puts what a candidate changed where a check of the case finds it, and says how to run one. Raises LabError."""
    seat = Seat(lab.load(entry["lab"]), f"i{entry['interview']}")
    handed_in = {name: files[f"{live.FOLDER}/{name}"] for name in seat.lab.learner.copies if f"{live.FOLDER}/{name}" in files}
    if not handed_in:
        console.out.print(f"nothing of {live.FOLDER}/ was handed in: no points for the fix")
        return
    spec = seat.lab.part("interview")
    try:
        texts = {name: live.back(seat.lab, spec.LIVE, data.decode()) for name, data in handed_in.items()}
    except UnicodeDecodeError:
        raise LabError(f"{answers}: what of {live.FOLDER}/ was handed in is not a text in UTF-8") from None
    learner.copy(seat)
    for name, text in texts.items():
        (seat.copy / name).write_text(text)
    console.out.print(f"{seat.command('check')} runs what was changed: {making.FIX} points if the incident is gone")


def _table(entry: dict, grades: list[Grade]) -> Table:
    table = Table(title=f"interview {entry['interview']}, {entry['for']}", title_justify="left")
    for column in ("question", "points", "of", "why"):
        table.add_column(column, justify="right" if column in ("points", "of") else "left")
    for part in ("finding", "reasoning", "fix"):
        those = [each for each in grades if each.asked.part == part]
        for each in those:
            table.add_row(each.asked.id, f"{each.points:g}", str(each.asked.points), each.why)
        table.add_row(f"{part}", *_sum(those), "", style="bold", end_section=True)
    table.add_row("all", *_sum(grades), "", style="bold")
    return table


def _sum(grades: list[Grade]) -> tuple[str, str]:
    return f"{sum(each.points for each in grades):g}", str(sum(each.asked.points for each in grades))
