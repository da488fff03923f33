"""A lab made from the template, as whoever adds one would: it runs, is recorded, and keeps to what every lab keeps to, in a copy of
the repository in which nothing else was changed."""

import os
import shutil
import subprocess
import sys

import pytest
from seat import docker

from workbench.lab import ROOT

#: Where the engine finds what is mounted.
COPY = ROOT / "runs" / "sixth"
NAME, CASE = "sixth_lab", "106"
SCENARIOS = ("broken", "session_cache", "longer_timeout")
#: What every lab keeps to, for this one.
KEPT_TO = ["test_invariants.py", "test_notebooks.py", "test_learner.py", "test_matrix.py", "test_command.py"]


@pytest.fixture(scope="module")
def copy():
    shutil.rmtree(COPY, ignore_errors=True)
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    # The machinery, and no other lab: it must not need one, and to publish them all takes its time.
    for path in listed.stdout.splitlines():
        if (ROOT / path).is_file() and path.partition("/")[0] not in ("labs", "captures", "notebooks"):
            (COPY / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, COPY / path)
    for folder in ("labs", "captures", "notebooks"):
        (COPY / folder).mkdir()
    yield COPY
    names = docker("image", "ls", "--format", "{{.Repository}}", f"incident-labs/case-{CASE}-*").stdout.split()
    docker("image", "rm", *names, check=False)
    shutil.rmtree(COPY, ignore_errors=True)


def call(copy, *words: str) -> str:
    """What a command of the copy says; it has to end well."""
    environment = dict(os.environ) | {"PYTHONPATH": str(copy)}
    command = [sys.executable, "-m", *words]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, cwd=copy, env=environment, text=True, check=False, **both)
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_a_lab_from_the_template_is_one_of_the_labs(copy):
    before = {path: path.read_bytes() for path in (copy / "workbench").rglob("*") if path.is_file()}
    assert f"labs/{NAME}" in call(copy, "workbench", "new", NAME, CASE)
    assert f"labs/{NAME}/lab.toml: 3 scenarios" in call(copy, "workbench", "labs")
    said = call(copy, "workbench", "record", NAME)
    # What others disturbed is not for publication: it is recorded once more.
    for name in [each for each in SCENARIOS if f"{each}: others used the machine" in said]:
        if "others used the machine" in call(copy, "workbench", "record", NAME, "--scenario", name):
            pytest.skip("others use this machine all the time: nothing can be recorded on it")
    assert said.count("as declared") >= len(SCENARIOS)
    call(copy, "workbench", "matrix", NAME, "--record")
    said = call(copy, "pytest", "-q", "-m", "not stack and not many", "-k", NAME, *(f"tests/{name}" for name in KEPT_TO))
    assert " passed" in said
    assert " failed" not in said
    assert before == {path: path.read_bytes() for path in before}
    assert NAME in (copy / "docs" / "ledger.md").read_text()


def test_an_image_is_built_when_it_is_made_of_something_else(copy):
    image = f"incident-labs/case-{CASE}-server"

    def built() -> str:
        call(copy, "workbench", "build", NAME)
        return docker("image", "inspect", "--format", "{{.Id}}", image).stdout

    before = built()
    assert built() == before
    configuration = copy / "labs" / NAME / "server" / "nginx.conf"
    configuration.write_text(configuration.read_text().replace("1;", "2;", 1))
    assert built() != before
