"""A lab's stack: compose up, exec, usage, and down, always."""

import contextlib
import datetime
import functools
import hashlib
import itertools
import json
import os
import re
import signal
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from python_on_whales import DockerClient
from python_on_whales.exceptions import DockerException

from workbench import console
from workbench.engine import BOX_LABEL, NUMBER_LABEL, POOLS, PROJECT_LABEL, SERVICE_LABEL, Engine, EngineError
from workbench.lab import ROOT, Lab, load

#: Compose projects of measured runs are case-<n>-run; a learner's own stack, case-<n>, is never touched.
RUN_SUFFIX = "-run"
#: Labels an image with what it was made of: one that is as it should be is not built again, also where no network is.
MADE_OF = "incident-labs.made-of"


class StackError(RuntimeError):
    """A part of the stack does not start, or ended: one line with the part and its own last words."""


@dataclass(frozen=True)
class Setup:
    """What is brought up: compose files of one folder, under one project name."""

    lab: Lab
    #: A scenario's name, or whose version it is.
    name: str
    files: tuple[Path, ...]
    project: str


def of_scenario(lab: Lab, scenario: str) -> Setup:
    """A scenario of a lab, for a measured run."""
    files = [lab.folder / "compose.yaml", lab.overlay(scenario)]
    return Setup(lab, scenario, tuple(file for file in files if file), f"case-{lab.case}{RUN_SUFFIX}")


@functools.cache
def model(lab: str, scenario: str) -> dict:
    """What compose makes of a lab's scenario: asked for when it is needed, and once."""
    with tempfile.TemporaryDirectory() as folder:
        return Stack(of_scenario(load(lab), scenario), {}, Path(folder)).model


def images(model: dict) -> set[str]:
    """The images that a model's services take."""
    return {entry["image"] for entry in model["services"].values()}


class Stack:
    """The stack of one setup, `without` some of its services. `settings` are compose variables; what a drive changes in
    them, later scenarios keep. Files of its own (variables, subnets) go into `folder`."""

    def __init__(self, setup: Setup, settings: dict[str, str], folder: Path, *, without: Collection[str] = ()) -> None:
        self.lab = setup.lab
        self.settings = settings
        self.project = setup.project
        self._without = {"capture", *without}
        self._files = [*setup.files, ROOT / "compose" / "capture.yaml"]
        self._env_file = folder / "compose.env"
        self._subnets_file = folder / "subnets.json"
        self._labels_file = folder / "labels.json"
        self._engine = Engine()
        self._docker = DockerClient()
        self._containers: dict[str, list[str]] = {}

    def _compose(self, *more: Path):
        settings = {"CAPTURE_AT": self.lab.recording.at, "CAPTURE_FILTER": self.lab.recording.filter, **self.settings}
        self._env_file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return DockerClient(
            compose_files=[*self._files, *more],
            compose_project_name=self.project,
            compose_project_directory=self._files[0].parent,
            compose_env_files=[self._env_file],
            compose_profiles=["*"],
        ).compose

    @functools.cached_property
    def model(self) -> dict:
        """What compose makes of the files: services, networks. Raises StackError where it refuses them."""
        try:
            return self._compose().config(return_json=True)
        except DockerException as error:
            raise StackError(f"compose refuses {self._files[0].relative_to(ROOT)}: {_last_line(error.stderr)}") from None

    @functools.cached_property
    def services(self) -> list[str]:
        """Every service of the stack but the sidecars of the workbench, and those that it is to do without."""
        return sorted(set(self.model["services"]) - self._without)

    def build(self) -> None:
        """Builds the images that are missing, or were made of something else. Raises StackError with the build's last lines."""
        built = {name: entry for name, entry in self.model["services"].items() if "build" in entry}
        # Services share what they are built of: it is read once.
        hashes = {build: self._made_of(json.loads(build)) for build in map(_as_key, built.values())}
        made_of = {name: hashes[_as_key(entry)] for name, entry in built.items()}
        # One service of each image: engines with containerd's store refuse an image that is written twice at once.
        of_image = {entry["image"]: name for name, entry in built.items()}
        stale = [name for image, name in of_image.items() if self._label(image) != made_of[name]]
        if not stale:
            return
        labels = {name: {"build": {"labels": {MADE_OF: made_of[name]}}} for name in stale}
        self._labels_file.write_text(json.dumps({"services": labels}))
        lines: list[str] = []
        try:
            for _, line in self._compose(self._labels_file).build(services=stale, progress="plain", stream_logs=True):
                lines.append(line.decode(errors="replace").rstrip())
        except DockerException:
            last = [line for line in lines if line.strip()][-8:]
            raise StackError(f"case {self.lab.case}: an image does not build:\n  " + "\n  ".join(last)) from None

    def _made_of(self, build: dict) -> str:
        """A hash of what an image is made of: the files of its context, its Dockerfile, and its arguments, images by their
        layers: ids are not the same in every store of an engine."""
        context = Path(build["context"])
        paths = [path for path in sorted(context.rglob("*")) if path.is_file()]
        parts = [(path.relative_to(context).as_posix(), os.access(path, os.X_OK), path.read_bytes()) for path in paths]
        arguments = {name: self._image(value).get("RootFS", value) for name, value in sorted(build.get("args", {}).items())}
        dockerfile = (context / build["dockerfile"]).read_bytes()
        return hashlib.sha256(repr((parts, dockerfile, arguments)).encode()).hexdigest()[:16]

    def _label(self, image: str) -> str | None:
        """What an image was made of, by its label; None where there is no such image, or no such label."""
        return (self._image(image).get("Config", {}).get("Labels") or {}).get(MADE_OF)

    def _image(self, name: str) -> dict:
        """What the engine says of an image; nothing where there is none of that name, or where it is no image's name."""
        with contextlib.suppress(EngineError):
            return self._engine.get(f"/images/{quote(name)}/json")
        return {}

    def up(self, *services: str, scale: dict[str, int] | None = None, anew: bool = False, **settings: str) -> None:
        """Starts the named services (all of them when none is named) and waits until they are healthy.

        `scale` says how many containers a service has from now on: what it depends on comes with it, or else compose takes
        the containers that are there for another version of it. `anew` makes containers again that are there: compose does not
        see when a file changes that they mount. Settings are compose variables to change first. Raises StackError.
        """
        self.settings.update(settings)
        chosen = list(services) or self.services
        try:
            self._up_in_free_subnets(
                chosen,
                detach=True,
                wait=True,
                wait_timeout=int(90 * console.PATIENCE),
                no_build=True,
                pull="never",
                dependencies=not services or scale is not None,
                scales=scale or {},
                force_recreate=anew,
                quiet=True,
            )
        except DockerException as error:
            raise StackError(self._why(error)) from None
        finally:
            self._containers = {}

    def _up_in_free_subnets(self, *arguments, **options) -> None:
        """Networks that are up keep their subnets; new ones get small ones that are free. Somebody else may take one
        between the question and the answer: the engine refuses then, and the next free one is tried."""
        tries = 5
        while True:
            tries -= 1
            ours = self._engine.networks(f"{PROJECT_LABEL}={self.project}")
            there = {network["Labels"]["com.docker.compose.network"]: network["IPAM"]["Config"] for network in ours}
            subnets = {name: [each["Subnet"] for each in there.get(name, [])] for name in self.model["networks"]}
            new = [name for name, found in subnets.items() if not found]
            free = list(itertools.islice(self._engine.free_subnets(), len(new)))
            if len(free) < len(new):
                raise StackError(f"no subnet is free in {', '.join(POOLS)}: this host has routes to them (a VPN?)")
            subnets |= {name: [subnet] for name, subnet in zip(new, free, strict=True)}
            config = {name: {"ipam": {"config": [{"subnet": each} for each in found]}} for name, found in subnets.items()}
            self._subnets_file.write_text(json.dumps({"networks": config}))
            try:
                self._compose(self._subnets_file).up(*arguments, **options)
            except DockerException as error:
                if tries and "overlaps with other" in (error.stderr or ""):
                    continue
                raise
            return

    def exec(self, service: str, command: list[str], *, check: bool = True) -> str:
        """Runs a command inside a service and returns what it printed. Raises StackError where it fails."""
        try:
            return self._docker.execute(self.container(service), command) or ""
        except DockerException as error:
            if not check:
                return (error.stdout or "") + (error.stderr or "")
            raise StackError(f"{service}: {' '.join(command)[:60]} failed: {_last_line(error.stderr)}") from None

    def logs(self, service: str, since: float | None = None) -> str:
        """All that a service has said, or what it has said since a moment (seconds since the epoch). Of lines to its output
        and lines to its errors each have their order, but not one another's. Raises StackError where it is gone."""
        moment = None if since is None else datetime.datetime.fromtimestamp(since, datetime.UTC)
        with _said_by(service):
            return self._docker.logs(self.container(service), since=moment) or ""

    def copy_out(self, service: str, source: str, target: Path) -> None:
        """Copies a file out of a service, which may have ended. Raises StackError."""
        with _said_by(service):
            self._docker.copy((self.container(service), source), target)

    def stop(self, service: str) -> None:
        """Ends a service with SIGINT, so that it can finish what it writes. Raises StackError where it is gone."""
        with _said_by(service):
            self._docker.kill(self.container(service), signal="SIGINT")
            self._docker.wait(self.container(service))

    def container(self, service: str) -> str:
        """The id of a service's container, of the first where it has several. Raises StackError where there is none."""
        return self.containers(service)[0]

    def containers(self, service: str) -> list[str]:
        """The ids of a service's containers. Raises StackError where there is none."""
        known = self._containers
        if not known:
            # Made whole before others see it: a recorder asks from a thread of its own.
            known = {}
            found = self._engine.containers(f"{PROJECT_LABEL}={self.project}")
            for entry in sorted(found, key=lambda each: int(each["Labels"][NUMBER_LABEL])):
                known.setdefault(entry["Labels"][SERVICE_LABEL], []).append(entry["Id"])
            self._containers = known
        if service not in known:
            raise StackError(f"{service}: no such service is up")
        return known[service]

    def started(self) -> list[str]:
        """The services that have a container: one may be scaled to none."""
        self._containers = {}
        return [service for service in self.services if self._has(service)]

    def _has(self, service: str) -> bool:
        with contextlib.suppress(StackError):
            return bool(self.containers(service))
        return False

    def usage(self, container: str) -> dict[str, float]:
        """What a container uses (engine.Engine.usage). Raises StackError."""
        try:
            return self._engine.usage(container)
        except EngineError as error:
            raise StackError(str(error)) from None

    def environment(self, service: str) -> dict[str, str]:
        """The variables that a service was started with."""
        return dict(entry.split("=", 1) for entry in self._inspect(service)["Config"]["Env"])

    def addresses(self, service: str) -> list[str]:
        """A service's own addresses, one in each of its networks."""
        return [network["IPAddress"] for network in self._inspect(service)["NetworkSettings"]["Networks"].values()]

    def engine(self) -> dict:
        """The engine's own description (`docker info`)."""
        return self._get("/info")

    def image_source(self, service: str) -> str:
        """Where the base of a service's image came from: a digest, or the packages it was made of."""
        image = self._inspect(service)["Image"]
        return self._get(f"/images/{image}/json")["Config"]["Labels"].get("incident-labs.source", "not recorded")

    def down(self) -> None:
        """Removes the stack's containers and networks. A signal that comes meanwhile waits until that is done."""
        with _signals_held(), _empty_networks_left_alone():
            self._compose().down(remove_orphans=True, volumes=True, timeout=1, quiet=True)
        self._containers = {}

    def _inspect(self, service: str) -> dict:
        return self._get(f"/containers/{self.container(service)}/json")

    def _get(self, path: str, **query: str):
        try:
            return self._engine.get(path, **query)
        except EngineError as error:
            raise StackError(str(error)) from None

    def _why(self, error: DockerException) -> str:
        """A failing service's own last words, where compose only says that it is unhealthy or has ended."""
        with contextlib.suppress(StackError, DockerException):
            slow = []
            for service in self.started():
                state = self._inspect(service)["State"]
                health = state.get("Health", {}).get("Status")
                if health == "starting":
                    slow.append(service)
                if state["Status"] == "exited" or health == "unhealthy":
                    lines = [line.strip() for line in self.logs(service).splitlines()]
                    # Frames of a stack trace say less than what comes before them.
                    words = [line for line in lines if line and not line.startswith(("at ", "... "))][-3:]
                    return f"{service} does not start: " + " | ".join(words)
            if slow:
                return f"{', '.join(slow)}: not ready in time; PATIENCE=3 waits three times as long"
        return f"compose up failed: {_last_line(error.stderr)}"


@contextlib.contextmanager
def running(setup: Setup, settings: dict[str, str], folder: Path, *, without: Collection[str] = ()) -> Iterator[Stack]:
    """A stack that is up inside the block, and down after it whatever happened. Raises StackError."""
    stack = Stack(setup, settings, folder, without=without)
    try:
        with console.step("starting the stack"):
            stack.up()
        yield stack
    finally:
        stack.down()


def sweep() -> list[str]:
    """Removes what killed runs left behind: containers and networks of measured runs. Returns the projects' names.

    Only one measured run is alive on an engine at a time, so what is there when the next one starts is remains.
    """
    docker, engine = DockerClient(), Engine()
    remains = set()
    for entry in engine.containers(BOX_LABEL) + engine.networks():
        project = (entry["Labels"] or {}).get(PROJECT_LABEL, "")
        if not (project.startswith("case-") and project.endswith(RUN_SUFFIX)):
            continue
        if "Image" in entry:
            docker.container.remove(entry["Id"], force=True)
            remains.add(project)
        else:
            with _empty_networks_left_alone():
                docker.network.remove(entry["Id"])
                remains.add(project)
    return sorted(remains)


@contextlib.contextmanager
def _empty_networks_left_alone() -> Iterator[None]:
    """Where many containers come and go at once, engines lose count of a network's ends (moby/moby#42119), and refuse to remove
    it until they are started again. It is empty then, and the next stack of its name takes it up."""
    try:
        yield
    except DockerException as error:
        if not lost_count(error.stderr or ""):
            raise


def lost_count(said: str) -> bool:
    """Whether the engine refuses to remove a network, by its words, that has nothing in it."""
    network = re.search(r"network \S+ id (\w{64}) has active endpoints", said)
    return network is not None and not Engine().get(f"/networks/{network[1]}")["Containers"]


@contextlib.contextmanager
def _signals_held() -> Iterator[None]:
    """Holds SIGINT and SIGTERM back, and delivers the last of them afterwards."""
    pending: list[int] = []
    before = {number: signal.signal(number, lambda caught, _: pending.append(caught)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if pending:
            os.kill(os.getpid(), pending[-1])


@contextlib.contextmanager
def _said_by(service: str) -> Iterator[None]:
    try:
        yield
    except DockerException as error:
        raise StackError(f"{service}: {_last_line(error.stderr)}") from None


def _as_key(entry: dict) -> str:
    return json.dumps(entry["build"], sort_keys=True)


def _last_line(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"
