"""The live form of an interview on the real stack: brought up from the candidate's archive, changed, handed in and measured."""

import io
import json
import shutil
import subprocess
import tarfile
import time
import zipfile

import learners
import pytest
from seat import docker

from workbench import console, gate, lab, learner
from workbench.interviews import archives, commands, making
from workbench.lab import ROOT

#: Where the engine finds what is mounted.
FOLDER = ROOT / "runs" / "live-interview"


@pytest.fixture
def unpacked():
    """A live interview, and where the candidate's archive is unpacked; its stack and its images are gone afterwards."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    made = making.make("nbproc_ssl", "live", FOLDER / "made", live=True)
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


def page(url: str) -> str:
    """What the page says, once HAProxy has seen nginx up."""
    deadline = time.monotonic() + 20 * console.PATIENCE
    while True:
        said = docker("exec", "live-operator-1", "curl", "-sk", "--max-time", "5", url, check=False).stdout
        if said.startswith("http") or time.monotonic() > deadline:
            return said
        time.sleep(0.5)


def test_the_stack_comes_up_from_the_archive_and_what_is_handed_in_is_measured(unpacked, capsys):
    made, folder = unpacked
    call(folder, "up")
    assert page("http://haproxy/").startswith("http ")
    assert page("https://haproxy/").startswith("https ")
    (compose,) = (folder / "live").glob("compose.yaml")
    compose.write_text(compose.read_text().replace("CERTIFICATE: rsa-4096", "CERTIFICATE: ecdsa-p256"))
    call(folder, "up")
    assert page("https://haproxy/").startswith("https ")
    call(folder, "hand-in")
    call(folder, "down")
    with tarfile.open(folder / "handed-in.tar.gz") as tar:
        files = {entry.name: tar.extractfile(entry).read() for entry in tar}
    key, _ = archives.read_key(archives.interviewer(made, "tester"))
    with learners.at(lab.load("nbproc_ssl"), f"i{made.code}") as (seat,):
        shutil.rmtree(seat.copy)
        commands.take_a_seat(json.loads(json.dumps(key)), files)
        assert f"SEAT=i{made.code}" in capsys.readouterr().out
        gate.build(seat.lab, ["broken"])
        check = learner.check(seat)
        assert check.verdict == "green", check.reasons
