"""The live form of an interview on the real stack: brought up from the candidate's archive, changed, handed in and measured.

`make test` tries one lab's, `make gate` its lab's own (--every).
"""

import io
import json
import shutil
import subprocess
import tarfile
import time
import zipfile
from dataclasses import dataclass

import learners
import pytest
from seat import docker

from workbench import console, gate, lab, learner
from workbench.interviews import archives, commands, making
from workbench.lab import ROOT, Edit

#: Where the engine finds what is mounted.
FOLDER = ROOT / "runs" / "live-interview"


@dataclass(frozen=True)
class Tried:
    """What a candidate asks the operator and is told when all is up, and what cures it."""

    asks: str
    told: str
    cure: Edit


LABS = {
    "quiet_shutdown": Tried(
        "echo 'show stat' | socat - TCP:127.0.0.1:9999",
        "specimen",
        Edit(file="compose.yaml", old="JETTY: 9.4.2", new="JETTY: 9.4.12"),
    ),
    "close_notify": Tried(
        "curl -sk https://client:8443/",
        "<celsius>21",
        Edit(file="compose.yaml", old="HTTPCORE: 4.4.14", new="HTTPCORE: 4.4.15"),
    ),
    "slow_dh": Tried(
        "curl -s http://gateway:8080/new/60/ack",
        "taken",
        Edit(file="compose.yaml", old='BOUNCYCASTLE: "1.40"', new='BOUNCYCASTLE: "1.78.1"'),
    ),
    "health_check_storm": Tried(
        "python3 /opt/nodes.py",
        "zone a: 2 nodes, 140 services; taken for dead: mesh-a 0",
        Edit(file="compose.yaml", old="INSTANCE: c3.large", new="INSTANCE: c3.xlarge"),
    ),
    "nbproc_ssl": Tried(
        "curl -sk --max-time 5 https://haproxy/",
        "https ",
        Edit(file="compose.yaml", old="CERTIFICATE: rsa-4096", new="CERTIFICATE: ecdsa-p256"),
    ),
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every, only = (metafunc.config.getoption(name) for name in ("every", "only"))
    chosen = [name for name in LABS if only in (None, "all", name)] if every else ["nbproc_ssl"]
    metafunc.parametrize("name", chosen)


@pytest.fixture
def unpacked(name):
    """A live interview, and where the candidate's archive is unpacked; its stack and its images are gone afterwards."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    made = making.make(name, "live", FOLDER / "made", live=True)
    with zipfile.ZipFile(io.BytesIO(archives.candidate(made))) as archive:
        archive.extractall(FOLDER / "unpacked")
    yield made, FOLDER / "unpacked"
    call(FOLDER / "unpacked", "down")
    images = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "live/*").stdout.split()
    docker("image", "rm", *images, check=False)
    shutil.rmtree(FOLDER, ignore_errors=True)


def call(folder, target: str) -> None:
    done = subprocess.run(["make", "-C", folder / "live", target], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def said(tried: Tried) -> str:
    """What the operator is told, once it is what it is told when all is up."""
    deadline = time.monotonic() + 20 * console.PATIENCE
    while True:
        text = docker("exec", "live-operator-1", "sh", "-c", tried.asks, check=False).stdout
        if tried.told in text or time.monotonic() > deadline:
            return text
        time.sleep(0.5)


def test_the_stack_comes_up_from_the_archive_and_what_is_handed_in_is_measured(name, unpacked, capsys):
    made, folder = unpacked
    tried = LABS[name]
    call(folder, "up")
    assert tried.told in said(tried)
    learner.edit(folder / "live", [tried.cure])
    call(folder, "up")
    assert tried.told in said(tried)
    call(folder, "hand-in")
    call(folder, "down")
    with tarfile.open(folder / "handed-in.tar.gz") as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}
    key, _ = archives.read_key(archives.interviewer(made, "tester"))
    with learners.at(lab.load(name), f"i{made.code}") as (seat,):
        shutil.rmtree(seat.copy)
        commands.take_a_seat("handed-in.tar.gz", json.loads(json.dumps(key)), files)
        assert f"SEAT=i{made.code}" in capsys.readouterr().out
        gate.build(seat.lab, ["broken"])
        check = learner.check(seat)
        assert check.verdict == "green", check.reasons
