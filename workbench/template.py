"""A new lab from the template: a small one that runs, to be changed step by step into what it is to be."""

import keyword
import re
import shutil
from pathlib import Path

import jupytext
import nbformat

from workbench import lab
from workbench.lab import ROOT, LabError

TEMPLATE = ROOT / "template"
#: What the template calls itself, in words that no lab has.
NAME, CASE = "example_lab", 99
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}


def new(name: str, case: int) -> list[Path]:
    """Puts the template into labs/ and notebooks/ under a name and a case's number, and returns where. Raises LabError where
    either cannot be had."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name) or name == "all":
        raise LabError(f"NAME={name}: a lab's name is one that Python can import, in small letters, and not all: my_incident")
    if case < 1:
        raise LabError(f"CASE={case}: a case's number is 1 or more")
    taken = {each: lab.load(each).case for each in lab.names()}
    if name in taken or case in taken.values():
        said = ", ".join(f"{each} is case {number}" for each, number in taken.items())
        raise LabError(f"NAME={name} CASE={case}: there already ({said})")
    folder = ROOT / "labs" / name
    notebooks = {"walkthrough": f"{name}.ipynb", "exercise": f"{name}_exercise.ipynb"}
    for path in (folder, *(ROOT / "notebooks" / target for target in notebooks.values())):
        if path.exists():
            raise LabError(f"{path.relative_to(ROOT)}: there already; take another NAME, or move it away")
    shutil.copytree(TEMPLATE / "lab", folder)
    for path in [each for each in folder.rglob("*") if each.is_file()]:
        path.write_text(_named(path.read_text(), name, case))
    for source, target in notebooks.items():
        notebook = jupytext.reads(_named((TEMPLATE / "notebooks" / f"{source}.py").read_text(), name, case), fmt="py:percent")
        notebook.metadata["kernelspec"] = KERNEL
        nbformat.write(notebook, ROOT / "notebooks" / target)
    return [folder, *(ROOT / "notebooks" / target for target in notebooks.values())]


def _named(text: str, name: str, case: int) -> str:
    for word in (f"case-{CASE}", f"Case {CASE}", f"case = {CASE}", f"case={CASE}"):
        text = text.replace(word, word.replace(str(CASE), str(case)))
    return text.replace(NAME, name)
