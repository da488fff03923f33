"""A lab's stack: compose up, exec, usage, and down, always."""

import contextlib
import datetime
import functools
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
from python_on_whales import DockerClient
from python_on_whales.exceptions import DockerException

from workbench import console
from workbench.lab import ROOT, Lab

ENGINE_SOCKET = "/var/run/docker.sock"
BOX_LABEL = "incident-labs=box"
#: Compose projects of measured runs are case-<n>-run; a learner's own stack, case-<n>, is never touched.
RUN_SUFFIX = "-run"


class StackError(RuntimeError):
    """A part of the stack does not start, or ended: one line with the part and its own last words."""


class Stack:
    """One scenario's stack. `settings` are compose variables; what a drive changes in them, later scenarios keep."""

    def __init__(self, lab: Lab, scenario: str, settings: dict[str, str], env_file: Path) -> None:
        self.lab = lab
        self.scenario = scenario
        self.settings = settings
        self.project = f"case-{lab.case}{RUN_SUFFIX}"
        self._env_file = env_file
        files = [lab.folder / "compose.yaml", lab.overlay(scenario), ROOT / "compose" / "capture.yaml"]
        self._docker = DockerClient(
            compose_files=[file for file in files if file],
            compose_project_name=self.project,
            compose_project_directory=lab.folder,
            compose_env_files=[env_file],
            compose_profiles=["*"],
        )
        self._engine = httpx.Client(transport=httpx.HTTPTransport(uds=ENGINE_SOCKET), base_url="http://engine", timeout=10)
        self._containers: dict[str, str] = {}

    def _compose(self):
        settings = {"CAPTURE_AT": self.lab.recording.at, **self.settings}
        self._env_file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return self._docker.compose

    @functools.cached_property
    def services(self) -> list[str]:
        """Every service of the stack but the sidecars of the workbench."""
        return sorted(set(self._compose().config(return_json=True)["services"]) - {"capture"})

    def build(self) -> None:
        """Builds what has changed. Raises StackError with the build's last lines."""
        lines: list[str] = []
        try:
            for _, line in self._compose().build(progress="plain", stream_logs=True):
                lines.append(line.decode(errors="replace").rstrip())
        except DockerException:
            last = [line for line in lines if line.strip()][-8:]
            raise StackError(f"{self.lab.name}: an image does not build:\n  " + "\n  ".join(last)) from None

    def up(self, *services: str, **settings: str) -> None:
        """Starts the named services (all of them when none is named) and waits until they are healthy.

        Settings are compose variables to change first. Raises StackError.
        """
        self.settings.update(settings)
        chosen = list(services) or self.services
        try:
            self._compose().up(
                chosen,
                detach=True,
                wait=True,
                wait_timeout=int(90 * console.PATIENCE),
                no_build=True,
                pull="never",
                dependencies=not services,
                quiet=True,
            )
        except DockerException as error:
            raise StackError(self._why(error)) from None
        finally:
            self._containers.clear()

    def exec(self, service: str, command: list[str], *, check: bool = True) -> str:
        """Runs a command inside a service and returns what it printed. Raises StackError where it fails."""
        try:
            return self._docker.execute(self.container(service), command) or ""
        except DockerException as error:
            if not check:
                return (error.stdout or "") + (error.stderr or "")
            raise StackError(f"{service}: {' '.join(command)[:60]} failed: {_last_line(error.stderr)}") from None

    def logs(self, service: str) -> str:
        """All that a service has said. Raises StackError where it is gone."""
        with _said_by(service):
            return self._docker.logs(self.container(service)) or ""

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
        """The id of a service's container. Raises StackError where there is none."""
        if not self._containers:
            filters = {"label": [f"com.docker.compose.project={self.project}"]}
            found = self._get("/containers/json", all="true", filters=json.dumps(filters))
            self._containers = {entry["Labels"]["com.docker.compose.service"]: entry["Id"] for entry in found}
        if service not in self._containers:
            raise StackError(f"{service}: no such service is up")
        return self._containers[service]

    def usage(self, service: str) -> dict[str, float]:
        """CPU seconds used so far and bytes of memory in use, from the engine's stats API, and when it read them (which
        may take it a second)."""
        stats = self._get(f"/containers/{self.container(service)}/stats", stream="false", **{"one-shot": "true"})
        memory = stats["memory_stats"]
        cache = memory.get("stats", {})
        reclaimable = cache.get("total_inactive_file", cache.get("inactive_file", 0))
        return {
            "time": datetime.datetime.fromisoformat(stats["read"]).timestamp(),
            "cpu_seconds": stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9,
            "memory_bytes": memory.get("usage", 0) - reclaimable,
        }

    def engine(self) -> dict:
        """The engine's own description (`docker info`)."""
        return self._get("/info")

    def image_source(self, service: str) -> str:
        """Where the base of a service's image came from: a digest, or the packages it was made of."""
        image = self._get(f"/containers/{self.container(service)}/json")["Image"]
        return self._get(f"/images/{image}/json")["Config"]["Labels"].get("incident-labs.source", "not recorded")

    def down(self) -> None:
        """Removes the stack's containers and networks. A signal that comes meanwhile waits until that is done."""
        with _signals_held():
            self._compose().down(remove_orphans=True, volumes=True, timeout=1, quiet=True)
        self._containers.clear()

    def _get(self, path: str, **query: str):
        answer = self._engine.get(path, params=query)
        if answer.is_error:
            raise StackError(f"the engine answers {path} with {answer.status_code}: {answer.text.strip()[:120]}")
        return answer.json()

    def _why(self, error: DockerException) -> str:
        """A failing service's own last words, where compose only says that it is unhealthy or has ended."""
        with contextlib.suppress(StackError, DockerException):
            self._containers.clear()
            for service in self.services:
                if service not in self._containers and self._containers:
                    continue
                state = self._get(f"/containers/{self.container(service)}/json")["State"]
                if state["Status"] == "exited" or state.get("Health", {}).get("Status") == "unhealthy":
                    words = [line for line in self.logs(service).splitlines() if line.strip()][-3:]
                    return f"{service} does not start: " + " | ".join(words)
        return f"compose up failed: {_last_line(error.stderr)}"


@contextlib.contextmanager
def running(lab: Lab, scenario: str, settings: dict[str, str], folder: Path) -> Iterator[Stack]:
    """A stack that is up inside the block, and down after it whatever happened. Raises StackError."""
    stack = Stack(lab, scenario, settings, folder / "compose.env")
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
    docker = DockerClient()
    filters = [("label", BOX_LABEL)]
    containers = [(c.config.labels.get("com.docker.compose.project", ""), c) for c in docker.ps(all=True, filters=filters)]
    networks = [(n.labels.get("com.docker.compose.project", ""), n) for n in docker.network.list()]
    remains = set()
    for project, thing in containers + networks:
        if project.startswith("case-") and project.endswith(RUN_SUFFIX):
            remains.add(project)
            thing.remove(force=True) if hasattr(thing, "state") else thing.remove()
    return sorted(remains)


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


def _last_line(text: str | None) -> str:
    lines = [line for line in (text or "").splitlines() if line.strip()]
    return lines[-1].strip() if lines else "no reason given"
