"""A bundle on a machine without any network: a container that has none, with an engine of its own in it."""

import shutil
import subprocess
import time

import pytest
from seat import docker

from workbench import console
from workbench.lab import ROOT

#: Where the engine finds what is mounted.
FOLDER = ROOT / "runs" / "offline"
IMAGE, MACHINE = "incident-labs/test-machine", "incident-labs-test-machine"
#: Asks Debian's mirror, which images are built from, for its lists.
ASKS_THE_MIRROR = "apt-get update -q -o APT::Update::Error-Mode=any"


@pytest.fixture(scope="module")
def bundle():
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    command = ["bash", "compose/bundle.sh", "make", "quiet_shutdown", str(FOLDER / "bundle.tar")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    yield FOLDER / "bundle.tar"
    shutil.rmtree(FOLDER, ignore_errors=True)


@pytest.fixture(scope="module")
def machine(bundle):
    """Runs a command on the machine, where the bundle is unpacked, and returns how it ended."""
    docker("build", "--tag", IMAGE, "--build-arg", "BASE=incident-labs/base:trixie", str(ROOT / "tests" / "stack" / "machine"))

    def call(command: str) -> subprocess.CompletedProcess:
        return docker("exec", MACHINE, "bash", "-c", f"cd /root/incident-labs 2>/dev/null; {command}", check=False)

    try:
        docker(
            *("run", "--detach", "--name", MACHINE, "--label", "incident-labs=box", "--network", "none", "--cgroupns", "host"),
            # What --privileged brings, but for a capability that some hosts do not have themselves.
            *("--cap-add", "ALL", "--cap-drop", "SYS_RESOURCE"),
            *(word for each in ("seccomp", "apparmor", "systempaths") for word in ("--security-opt", f"{each}=unconfined")),
            *("--volume", "/sys/fs/cgroup:/sys/fs/cgroup", "--volume", "/var/lib/docker", "--volume", "/root"),
            *("--volume", f"{bundle}:/bundle.tar:ro", IMAGE),
        )
        deadline = time.monotonic() + 30 * console.PATIENCE
        while call("docker version").returncode and time.monotonic() < deadline:
            time.sleep(1)
        assert call("cd /root && tar -xf /bundle.tar").returncode == 0
        yield call
    finally:
        docker("rm", "--force", "--volumes", MACHINE, check=False)
        docker("image", "rm", IMAGE, check=False)


def test_it_is_the_network_that_is_missing(machine):
    assert machine(f"{ASKS_THE_MIRROR} -o Acquire::Retries=0").returncode != 0
    with_a_network = docker("run", "--rm", IMAGE, "bash", "-c", ASKS_THE_MIRROR, check=False)
    assert with_a_network.returncode == 0, with_a_network.stderr


def test_a_scenario_is_run_whose_image_is_no_others(machine):
    done = machine("make run SCENARIO=haproxy_2_2")
    assert done.returncode == 0, done.stderr
    assert "loading the images of this bundle" in done.stderr
    assert "as declared" in done.stderr


def test_no_scenario_lacks_an_image(machine):
    """What has to be built there cannot be."""
    done = machine("make build")
    assert done.returncode == 0, done.stderr


def test_what_a_learner_changed_is_measured(machine):
    assert machine("make up CASE=1").returncode == 0
    cured = machine("sed -i 's/option \"${CHECK}\"/option httpchk/' mine/case-1/haproxy/haproxy.cfg && make check CASE=1")
    if "others used" in cured.stdout:
        # Disturbed: once more, whatever it came to.
        cured = machine("make check CASE=1")
    assert cured.returncode == 0, cured.stdout + cured.stderr
    assert "loading" not in cured.stderr
    assert machine("make down CASE=1").returncode == 0
