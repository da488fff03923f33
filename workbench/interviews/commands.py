"""The interviewer's commands: interview, grade. Files go through a pipe as tar, so that they may lie anywhere on the host."""

import io
import random
import secrets
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from workbench import console, lab
from workbench.interviews import archives, grading, making, sheet
from workbench.interviews.grading import Grade
from workbench.lab import LabError


def interview(
    whom: Annotated[str, typer.Option("--for", help="the candidate's name, for the interviewer's archive only")],
    name: Annotated[str, typer.Option("--lab", help="a lab or a case's number; without it one is chosen by the seed")] = "",
    seed: Annotated[str, typer.Option(help="the same seed makes the same interview; without it a new one is drawn")] = "",
) -> None:
    """Writes both archives of an interview to stdout, as tar."""
    seed = seed or secrets.token_hex(8)
    able = [each for each in lab.names() if (lab.load(each).folder / "interview.py").is_file()]
    chosen = lab.load(name).name if name else random.Random(f"lab\0{seed}").choice(able)
    if chosen not in able:
        raise LabError(f"LAB={name}: no interview is made of it; there is: {', '.join(able)}")
    with tempfile.TemporaryDirectory() as folder, console.step("making the interview"):
        made = making.make(chosen, seed, Path(folder) / "interview")
        files = {archives.CANDIDATE: archives.candidate(made), archives.INTERVIEWER: archives.interviewer(made, whom)}
    with tarfile.open(fileobj=sys.stdout.buffer, mode="w|") as tar:
        for each, data in files.items():
            entry = tarfile.TarInfo(each)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    console.err.print(f"interview {made.code} for {whom}: case {made.lab.case}, SEED={seed}", markup=False)


def grade(answers: Annotated[str, typer.Argument(help="what errors call the sheet")]) -> None:
    """Grades a sheet. stdin is tar: the sheet, and every interviewer's archive that may have its key."""
    with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as tar:
        files = {Path(entry.name).name: tar.extractfile(entry).read() for entry in tar if entry.isfile()}
    try:
        code, given = sheet.parse(files.pop(archives.SHEET).decode())
        keys = [archives.read_key(data) for data in files.values()]
        found = [(entry, asked) for entry, asked in keys if entry["interview"] == code]
        if not found:
            raise LabError(
                f"{answers}: no key of the interview {code} among {len(keys)}; KEY=folder/{archives.INTERVIEWER} names it"
            )
        entry, asked = found[0]
        grades = grading.grade(asked, given)
    except UnicodeDecodeError:
        raise LabError(f"{answers}: not a text in UTF-8") from None
    except sheet.SheetError as error:
        raise LabError(f"{answers}: {error}") from None
    console.out.print(_table(entry, grades))


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
