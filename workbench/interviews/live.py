"""The live form: a lab's broken stack to bring up, to look around in and to change, with nothing in it that names the cause."""

import ast
import base64
import re
from dataclasses import dataclass
from pathlib import Path

from workbench.lab import ROOT, Lab, LabError
from workbench.learner import changed

FOLDER = "live"
#: Where what the stacks of all labs share lies in a candidate's archive, and other words for what names this project.
SHARED = {
    "../../../compose/images/": "../images/",
    "../../compose/boxed.yaml": "./boxed.yaml",
    "labels: {incident-labs: box}": "labels: {platform: box}",
    "TEST ONLY incident-labs": "TEST ONLY platform-test",
    "incidentlabs": "platformteam",
}
_HASH = re.compile(r"^[ \t]*#(?!!).*\n", re.MULTILINE)
TRAILING = re.compile(r"[ \t]+# .*$", re.MULTILINE)
#: Files in which comments begin with #; the others are source code with /* */ and //.
_COMMENTED_BY_HASH = {"", ".cfg", ".conf", ".config", ".sh", ".sha256", ".yaml"}
_SLASHES = re.compile(r"[ \t]*/\*.*?\*/\n?|^[ \t]*//[^\n]*\n", re.MULTILINE | re.DOTALL)
_XML = re.compile(r"[ \t]*<!--.*?-->\n?", re.DOTALL)
MAKEFILE = """up:
\tdocker compose up --build --detach --wait --force-recreate

down:
\tdocker compose down --volumes

hand-in:
\ttar -c -z -f ../handed-in.tar.gz -C .. answers.toml {copies}
\t@echo ../handed-in.tar.gz

.PHONY: up down hand-in
"""


@dataclass(frozen=True)
class Live:
    """What of a lab's folder goes into the live form: folders and files, words to say otherwise (in names of files as well), and
    what is cut out of a file, as patterns. `shows` is the scenario that it begins as. `sealed` are files that stand for what
    nobody could look into: they are there in base64 only, and the words of their Dockerfile read them."""

    brings: list[str]
    words: dict[str, str]
    cut: dict[str, list[str]]
    shows: str = "broken"
    sealed: tuple[str, ...] = ()


def files(lab: Lab, live: Live) -> dict[str, bytes]:
    """The stack by path: what compose reads and what it builds, without a comment."""
    words = _words(lab, live)
    paths = [path for name in ("compose.yaml", *live.brings) for path in _under(lab.folder / name)]
    found = {path.relative_to(lab.folder).as_posix(): path.read_text() for path in paths}
    found |= {"boxed.yaml": (ROOT / "compose" / "boxed.yaml").read_text()}
    images = {name for text in found.values() for name in re.findall(r"compose/images/(\w+)/Dockerfile", text)}
    found |= {
        f"images/{name}/Dockerfile": (ROOT / "compose" / "images" / name / "Dockerfile").read_text() for name in sorted(images)
    }
    for change in lab.scenarios[live.shows].by_hand:
        found[change.file] = changed(found[change.file], change)
    done = {}
    for name, text in found.items():
        for pattern in live.cut.get(name, []):
            text, count = re.subn(pattern, "", text)
            if not count:
                raise LabError(f"labs/{lab.name}/interview.py: LIVE.cut: there is no {pattern!r} in {name}")
        said = _say(_without_comments(name, text), words).encode()
        done[_say(name, words)] = base64.encodebytes(said) if name in live.sealed else said
    done["Makefile"] = MAKEFILE.format(copies=" ".join(f"{FOLDER}/{name}" for name in lab.learner.copies)).encode()
    return {f"{FOLDER}/{name}": data for name, data in done.items()}


def back(lab: Lab, live: Live, text: str) -> str:
    """A file that a candidate changed, in the lab's own words."""
    for name, other in reversed(_words(lab, live).items()):
        text = text.replace(other, name)
    return text


def _words(lab: Lab, live: Live) -> dict[str, str]:
    return {f"incident-labs/case-{lab.case}-": "live/", f"name: case-{lab.case}\n": "name: live\n", **SHARED, **live.words}


def _say(text: str, words: dict[str, str]) -> str:
    for name, other in words.items():
        text = text.replace(name, other)
    return text


def _under(path: Path) -> list[Path]:
    return sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]


def _without_comments(name: str, text: str) -> str:
    kind = Path(name).suffix
    if kind == ".py":
        return _python(text)
    if kind == ".xml":
        return _XML.sub("", text)
    if kind not in _COMMENTED_BY_HASH:
        return _SLASHES.sub("", text)
    text = _HASH.sub("", text)
    return TRAILING.sub("", text) if kind in (".yaml", ".cfg", ".conf") else text


def _python(text: str) -> str:
    """Without docstrings, and without what the parser leaves out anyway."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.FunctionDef, ast.ClassDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree) + "\n"
