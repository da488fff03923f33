"""A room: every seat on this engine, which stacks are up, and what each learner's last check came to."""

import contextlib
import json
import re
from dataclasses import dataclass

from rich.table import Table

from workbench import gate, report
from workbench.engine import BOX_LABEL, PROJECT_LABEL, Engine, EngineError
from workbench.learner import MINE

_PROJECT = re.compile(r"case-(\d+)(?:-(?!run$)([a-z][a-z0-9]*))?")


@dataclass(frozen=True)
class Place:
    """One seat at one case."""

    case: int
    seat: str
    #: Containers of the stack that are running.
    running: int
    memory_bytes: int
    #: learner's last check: verdict, reasons, facts, at; None where there was none.
    last: dict | None

    @property
    def up(self) -> bool:
        return self.running > 0


def places() -> list[Place]:
    """Every seat that has a stack, a copy or a check on this machine, by seat and case."""
    engine = Engine()
    stacks: dict[str, list[dict]] = {}
    for container in engine.containers(BOX_LABEL):
        stacks.setdefault(container["Labels"].get(PROJECT_LABEL, ""), []).append(container)
    folders = [path.name for folder in (MINE, gate.RUNS) if folder.is_dir() for path in folder.iterdir() if path.is_dir()]
    found = []
    for project in {*stacks, *folders}:
        name = _PROJECT.fullmatch(project)
        if name is None:
            continue
        running = [container for container in stacks.get(project, []) if container["State"] == "running"]
        path = gate.RUNS / project / "last.json"
        last = json.loads(path.read_text()) if path.is_file() else None
        memory = sum(_memory(engine, container["Id"]) for container in running)
        found.append(Place(int(name[1]), name[2] or "", len(running), memory, last))
    return sorted(found, key=lambda place: (place.seat, place.case))


def _memory(engine: Engine, container: str) -> float:
    try:
        return engine.usage(container)["memory_bytes"]
    except EngineError:
        # It ended between the two questions.
        return 0


def waiting() -> list[str]:
    """Who stands in the queue for a measured run, the first first: the tickets that compose/workbench.sh draws."""
    folder = gate.RUNS / ".queue"
    found = []
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        # Whoever has had his turn takes his ticket away at any moment.
        with contextlib.suppress(FileNotFoundError):
            found.append(path.read_text().strip())
    return found


def table(found: list[Place]) -> Table:
    """The room at a glance."""
    shown = Table(title="The room", title_justify="left")
    for heading in ("seat", "case", "stack", "memory", "last check", "at (UTC)"):
        shown.add_column(heading)
    for place in found:
        verdict = place.last["verdict"] if place.last else "–"
        style = report.STYLE.get(verdict, "default")
        stack = f"up ({place.running})" if place.up else "down"
        memory = f"{place.memory_bytes / 2**20:.0f} MiB" if place.up else "–"
        at = place.last["at"][11:19] if place.last else "–"
        shown.add_row(place.seat or "(no seat)", str(place.case), stack, memory, f"[{style}]{verdict}[/]", at)
    return shown


def summary(found: list[Place], seats: int) -> list[str]:
    """What the trainer wants to know at once, as sentences. `seats` is how many are expected, 0 for not said."""
    seated = [place for place in found if place.seat]
    up = [place for place in found if place.up]
    counts = {verdict: sum(bool(place.last) and place.last["verdict"] == verdict for place in found) for verdict in report.STYLE}
    told = ", ".join(f"{number} {verdict}" for verdict, number in counts.items() if number) or "nobody has checked yet"
    lines = [f"{len(up)} up; {told}"]
    if seats:
        missing = max(0, seats - len({place.seat for place in seated}))
        lines.append(f"{seats} seats expected: {'all are here' if not missing else f'{missing} not here yet'}")
        if up:
            total = Engine().get("/info")["MemTotal"]
            need = seats * sum(place.memory_bytes for place in up) / len(up)
            verdict = "enough" if need < 0.8 * total else "NOT enough"
            lines.append(f"{seats} stacks like these take {need / 2**30:.1f} GiB; the machine has {total / 2**30:.1f}: {verdict}")
    queue = waiting()
    if queue:
        lines.append("measured runs: " + ", then ".join(queue))
    return lines
