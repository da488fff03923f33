"""A learner's own version of a stack: a copy to edit, a stack that stands, and a check by the gate's own measures."""

import datetime
import difflib
import hashlib
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from workbench import console, gate, oracle, recording, stack
from workbench.engine import BOX_LABEL, PROJECT_LABEL, Engine
from workbench.lab import ROOT, Edit, Lab, LabError, sections
from workbench.oracle import Facts
from workbench.stack import RUN_SUFFIX, Setup, Stack

MINE = ROOT / "mine"
#: Parts of a lab's README that a learner is shown; the others are for readers.
SHOWN = ("What was seen", "What is there", "Look around", "What to find out", "What may be changed")
#: Containers of one service, at most.
LARGEST_SCALE = 12
_SEAT = re.compile(r"[a-z][a-z0-9]{0,19}")
#: What a learner's compose.yaml may change beside variables: what some scenario changes, to what it sets.
_NOT_COMPARED = ("build", "environment", "volumes")


@dataclass(frozen=True)
class Seat:
    """One learner at one case. Without a name there is one seat on the machine."""

    lab: Lab
    name: str = ""

    def __post_init__(self) -> None:
        if self.name and (not _SEAT.fullmatch(self.name) or self.name == RUN_SUFFIX.strip("-")):
            raise LabError(f"SEAT={self.name}: not a seat's name: up to 20 small letters and digits, a letter first, and not run")

    @property
    def project(self) -> str:
        """Compose's name of the stack that stands: case-1, or case-1-<seat>."""
        return f"case-{self.lab.case}" + (f"-{self.name}" if self.name else "")

    @property
    def copy(self) -> Path:
        return MINE / self.project

    @property
    def runs(self) -> Path:
        return gate.RUNS / self.project

    def version(self) -> Path:
        """The folder of this learner's version. Raises LabError where there is none yet, or no whole one."""
        if not (self.copy / "compose.yaml").is_file():
            verb = "reset" if self.copy.is_dir() else "up"
            raise LabError(f"{self.copy.relative_to(ROOT)}/compose.yaml: not there; {self.command(verb)} puts it there")
        return self.copy

    def setup(self, project: str) -> Setup:
        """This learner's version as a stack. Raises LabError where there is none yet."""
        return Setup(self.lab, self.project, (self.version() / "compose.yaml",), project)

    def standing(self) -> Stack:
        """The stack to look around in: this learner's version, small enough to stand beside others."""
        return Stack(self.setup(self.project), dict(self.lab.learner.settings), self.state())

    def apply(self, scale: dict[str, int] | None = None) -> None:
        """Brings up the stack to look around in, or applies what was changed to the one that stands. Raises StackError, and
        LabError where a check would not run it either: no stack leaves its box."""
        if refused := self.make_ready():
            raise LabError("; ".join(refused))
        applied, version = self.state() / "applied", self._hash()
        there = applied.read_text() if applied.is_file() else ""
        with console.step(f"starting {self.project}"):
            self.standing().up(scale=scale, anew=self.up() and there != version)
        applied.write_text(version)

    def make_ready(self) -> list[str]:
        """Builds what this version takes, or returns what it changes and may not (forbidden_changes). Raises StackError where
        compose refuses it."""
        model = Stack(self.setup(self.project), {}, self.state()).model
        if changed := forbidden_changes(self.lab, model):
            return changed
        gate.build(self.lab, scenarios_with_images_of(self.lab, model))
        return []

    def _hash(self) -> str:
        """What the learner's files hold, all together."""
        files = [(self.version() / name) for name in self.lab.learner.copies]
        return hashlib.sha256(b"\0".join(path.read_bytes() if path.is_file() else b"" for path in files)).hexdigest()

    def up(self) -> bool:
        """Whether any part of the stack stands."""
        return bool(Engine().containers(BOX_LABEL, f"{PROJECT_LABEL}={self.project}"))

    def down(self) -> None:
        """Takes the stack down by its project's name: a copy that compose refuses is no hindrance."""
        files = stack.of_scenario(self.lab, "broken").files
        Stack(Setup(self.lab, self.project, files, self.project), {}, self.state()).down()

    def command(self, verb: str) -> str:
        """What to type for this seat."""
        return f"make {verb} CASE={self.lab.case}{self._and_seat}"

    @property
    def _and_seat(self) -> str:
        return f" SEAT={self.name}" if self.name else ""

    def state(self) -> Path:
        """Where the stack's variables and subnets are kept while it stands."""
        _shared(self.runs)
        folder = self.runs / ".standing"
        folder.mkdir(exist_ok=True)
        return folder

    def last(self) -> dict | None:
        """The latest check of this seat; None where there was none since the last reset."""
        path = self.runs / "last.json"
        return json.loads(path.read_text()) if path.is_file() else None


def scenarios_with_images_of(lab: Lab, model: dict) -> list[str]:
    """The scenarios whose images a learner's version takes, of which `model` is what compose makes: the broken stack, and one for
    each image of its own that it names."""
    missing = stack.images(model) - stack.images(stack.model(lab.name, "broken"))
    found = ["broken"]
    for scenario in lab.scenarios if missing else ():
        if brought := missing & stack.images(stack.model(lab.name, scenario)):
            found.append(scenario)
            missing -= brought
    return found


def copy(seat: Seat) -> bool:
    """Puts what may be edited into mine/<project>/, where it is not yet. Returns whether it was put there."""
    if seat.copy.is_dir():
        return False
    _shared(MINE)
    fresh = seat.copy.with_name(f".{seat.copy.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    for name in seat.lab.learner.copies:
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(seat.lab.folder / name, fresh / name)
    fresh.rename(seat.copy)
    return True


def scale(seat: Seat, wanted: str) -> dict[str, int]:
    """How many containers services are to have, from words such as web=3. Raises LabError."""
    services = [name for name, entry in stack.model(seat.lab.name, "broken")["services"].items() if "deploy" in entry]
    found = {}
    for word in wanted.split():
        service, _, count = word.partition("=")
        if service not in services or not count.isdigit() or not 0 < int(count) <= LARGEST_SCALE:
            those = ", ".join(services) or "none of this case's"
            raise LabError(f"SCALE={wanted}: {word!r} is not service=number; services: {those}; numbers: 1 to {LARGEST_SCALE}")
        found[service] = int(count)
    return found


def running(seat: Seat) -> Stack:
    """The stack of a seat that stands, or else that of its check, or of a measured run of its case. Raises LabError where
    none does."""
    for project in (seat.project, f"{seat.project}{RUN_SUFFIX}", f"case-{seat.lab.case}{RUN_SUFFIX}"):
        if Engine().containers(BOX_LABEL, f"{PROJECT_LABEL}={project}"):
            files = stack.of_scenario(seat.lab, "broken").files
            return Stack(Setup(seat.lab, project, files, project), {}, seat.state())
    raise LabError(f"case {seat.lab.case}: nothing runs; {seat.command('up')} brings it up")


def edit(folder: Path, edits: list[Edit]) -> None:
    """Makes changes as a learner would, in the files of a copy. Raises LabError where there is nothing to change."""
    for change in edits:
        path = folder / change.file
        path.write_text(changed(path.read_text(), change))


def changed(text: str, change: Edit) -> str:
    """A file after a change by hand. Raises LabError where there is nothing to change."""
    if change.old not in text:
        raise LabError(f"{change.file}: there is no {change.old!r} to change")
    return text.replace(change.old, change.new, 1)


def differences(seat: Seat) -> list[str]:
    """The lines that a learner changed, as a diff against the broken stack. Raises LabError where there is no version yet."""
    version = seat.version()
    found: list[str] = []
    for name in seat.lab.learner.copies:
        mine = version / name
        theirs = (seat.lab.folder / name).read_text().splitlines()
        lines = mine.read_text(errors="replace").splitlines() if mine.is_file() else []
        diff = list(difflib.unified_diff(theirs, lines, "broken", "yours", n=0, lineterm=""))
        found += [f"{name}: {line}" for line in diff if not line.startswith(("---", "+++", "@@"))]
    return found


def reset(seat: Seat) -> Path | None:
    """A fresh copy, as at the beginning, hints included. What was there is kept beside it, once; returns where."""
    kept = None
    if seat.copy.is_dir():
        kept = seat.copy.with_name(f"{seat.copy.name}.before-reset")
        shutil.rmtree(kept, ignore_errors=True)
        seat.copy.rename(kept)
    for name in ("last.json", "hints"):
        (seat.runs / name).unlink(missing_ok=True)
    copy(seat)
    return kept


def introduction(seat: Seat) -> str:
    """The case as a learner gets it: the lab's README without what is for readers, with the names of this seat. Raises LabError
    where it lacks a part."""
    parts = sections(seat.lab.folder / "README.md", *SHOWN)
    shown = "\n\n".join(f"## {heading}\n\n{parts[heading]}" for heading in SHOWN)
    return named(seat, shown)


def named(seat: Seat, text: str) -> str:
    """A text of the lab's with the names of this seat: of its containers, and in its commands."""
    text = re.sub(rf"\bCASE={seat.lab.case}\b", f"CASE={seat.lab.case}{seat._and_seat}", text)
    text = text.replace("make notebooks`", f"make notebooks{seat._and_seat}`")
    # Images are every seat's.
    return re.sub(rf"(?<!incident-labs/)\bcase-{seat.lab.case}-", f"{seat.project}-", text)


def next_hint(seat: Seat) -> tuple[int, int, str]:
    """The next of the staged hints: its number, how many there are, and what it says. The last one is said again."""
    parts = re.findall(r"^## \d+\n(.*?)(?=\n## |\Z)", (seat.lab.folder / "hints.md").read_text(), re.MULTILINE | re.DOTALL)
    _shared(seat.runs)
    told = seat.runs / "hints"
    number = min(int(told.read_text()) + 1 if told.is_file() else 1, len(parts))
    told.write_text(f"{number}\n")
    return number, len(parts), named(seat, parts[number - 1].strip())


@dataclass(frozen=True)
class Check:
    """What a check came to: one of the four verdicts, or refused."""

    verdict: str
    reasons: list[str]
    facts: Facts
    run: recording.Run | None


def check(seat: Seat) -> Check:
    """Runs a learner's version once, and judges it with the oracles of the gate. Raises LabError, StackError.

    The copy's own lab.py, should there be one, is not looked at: what drives and what judges is the lab's.
    """
    result = _measure(seat)
    entry = {
        "verdict": result.verdict,
        "reasons": result.reasons,
        "facts": result.facts,
        "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "run": str(result.run.folder.relative_to(ROOT)) if result.run else None,
    }
    _shared(seat.runs)
    (seat.runs / "last.json").write_text(json.dumps(entry, indent=1) + "\n")
    return result


def _measure(seat: Seat) -> Check:
    mine = seat.setup(seat.project + RUN_SUFFIX)
    stack.sweep()
    if changed := seat.make_ready():
        return Check("refused", changed, {}, None)
    # Not again: in a room the others are at work, too.
    run, judgement = gate.measured(mine, {}, seat.runs, again=False)
    refusals = broken_guards(seat.lab, judgement.facts) if judgement.facts else []
    if refusals:
        return Check("refused", refusals, judgement.facts, run)
    return Check(judgement.verdict, judgement.reasons, judgement.facts, run)


def forbidden_changes(lab: Lab, model: dict) -> list[str]:
    """What a learner's compose.yaml changes and may not, as sentences. `model` is what compose makes of it.

    Variables of services are free but for those that lab.toml fixes; anything else may only be what some scenario of
    the lab makes of it. So no version is refused that the lab itself calls a fix, and none brings in another server.
    """
    broken = stack.model(lab.name, "broken")
    found = []
    for name in sorted(set(broken["services"]) | set(model["services"])):
        if name not in model["services"] or name not in broken["services"]:
            found.append(f"compose.yaml: the service {name} was {'added' if name in model['services'] else 'taken away'}")
        else:
            found += _changed_service(lab, name, model["services"][name], broken["services"][name])
    for part in ("networks", "volumes", "configs", "secrets"):
        if _plain(model.get(part)) != _plain(broken.get(part)):
            found.append(f"compose.yaml: {part} are not to be changed")
    return found


def _changed_service(lab: Lab, name: str, mine: dict, broken: dict) -> list[str]:
    found = []
    for key in sorted(set(mine) | set(broken)):
        if key in _NOT_COMPARED or mine.get(key) == broken.get(key):
            continue
        if not any(stack.model(lab.name, scenario)["services"][name].get(key) == mine.get(key) for scenario in lab.scenarios):
            found.append(f"compose.yaml: {name}.{key} is not to be changed")
    if _mounts(mine) != _mounts(broken):
        found.append(f"compose.yaml: {name}.volumes is not to be changed")
    for entry in lab.learner.fixed:
        service, _, variable = entry.partition(".")
        if service == name and mine.get("environment", {}).get(variable) != broken["environment"].get(variable):
            found.append(f"compose.yaml: {name}.environment.{variable} is not to be changed")
    return found


def _plain(part: dict | None) -> dict:
    """Networks carry the project's name, which differs."""
    return {name: {key: value for key, value in (entry or {}).items() if key != "name"} for name, entry in (part or {}).items()}


def _mounts(service: dict) -> list[tuple]:
    """What is mounted where: a learner's files are the lab's by another path."""
    volumes = service.get("volumes", [])
    return sorted((Path(mount.get("source", "")).name, mount.get("target"), mount.get("read_only")) for mount in volumes)


def broken_guards(lab: Lab, facts: Facts) -> list[str]:
    """Why a version is refused, measured: one sentence for each guard that does not hold."""
    refusals = []
    for name, guard in lab.learner.guards.items():
        value = oracle.given(facts, guard.fact, f"guards.{name}")
        if value is None or not oracle.holds(guard, value):
            refusals.append(f"{guard.refusal} ({guard.fact} {oracle.number(value)}, {oracle.bounds(guard)} is asked for)")
    return refusals


def _shared(folder: Path) -> None:
    """Makes a folder, and those above it, in which each of a room's users can make his own."""
    for path in [*reversed(folder.relative_to(ROOT).parents), folder.relative_to(ROOT)]:
        if not (ROOT / path).is_dir():
            (ROOT / path).mkdir()
            (ROOT / path).chmod(0o1777)
