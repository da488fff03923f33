"""JupyterLab as `make notebooks` opens it, at a seat that only the tests take."""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from workbench import console
from workbench.lab import ROOT

PICTURES = ROOT / "runs" / "browser"


def docker(*words: str, check: bool = True) -> subprocess.CompletedProcess:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=check)


@dataclass
class Seat:
    name: str = field(default_factory=lambda: f"test{secrets.token_hex(4)}")
    #: What was said on stdout, the first line of it.
    said: str = ""
    process: subprocess.Popen | None = None

    @property
    def jupyter(self) -> str:
        return f"incident-labs-notebooks-{self.name}"

    @property
    def door(self) -> str:
        return f"incident-labs-door-{self.name}"

    @property
    def folder(self) -> Path:
        return ROOT / "mine" / f"notebooks-{self.name}"

    @property
    def url(self) -> str:
        return next(word for word in self.said.split() if word.startswith("http://"))

    def call(self) -> subprocess.Popen:
        environment = dict(os.environ) | {"SEAT": self.name}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(["bash", "compose/notebooks.sh"], cwd=ROOT, env=environment, text=True, **pipes)

    def inspect(self, container: str) -> dict:
        return json.loads(docker("container", "inspect", container).stdout)[0]

    def left_behind(self) -> list[str]:
        found = docker("ps", "--all", "--format", "{{.Names}}").stdout.split()
        found += docker("volume", "ls", "--format", "{{.Name}}").stdout.split()
        return [name for name in found if name in (self.jupyter, self.door)]

    def end(self) -> str:
        """Ctrl-C; what was said on stderr from the beginning."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate(timeout=60 * console.PATIENCE)[1]


@contextlib.contextmanager
def opened() -> Iterator[Seat]:
    """A seat with JupyterLab open in the block; nothing of it is left afterwards."""
    seat = Seat()
    seat.process = seat.call()
    try:
        seat.said = seat.process.stdout.readline()
        assert seat.said, seat.process.communicate()[1]
        yield seat
    finally:
        if seat.process.poll() is None:
            seat.end()
        shutil.rmtree(seat.folder, ignore_errors=True)
