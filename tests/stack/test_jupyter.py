"""`make notebooks`: who gets in, what can be reached from inside, and what is left afterwards."""

import ipaddress
import json
import os
import subprocess
from urllib.parse import urlsplit

import outside
import pytest
import seat
from seat import docker

from workbench.lab import ROOT

#: Asks at the door, by its own socket: without the token, with a wrong one, with the right one.
ASK = """
import httpx, json, os, sys
client = httpx.Client(transport=httpx.HTTPTransport(uds="/door/jupyter.sock"), base_url="http://127.0.0.1")
tokens = [None, "wrong", os.environ["JUPYTER_TOKEN"]]
answers = [client.get("/api/contents", headers={"Authorization": f"token {token}"} if token else {}) for token in tokens]
root = [entry["name"] for entry in answers[-1].json()["content"]]
print(json.dumps({"codes": [answer.status_code for answer in answers], "root": root}))
"""


@pytest.fixture(scope="module")
def here():
    with seat.opened() as opened:
        yield opened


def inside(here, *command: str) -> subprocess.CompletedProcess:
    return docker("exec", here.jupyter, *command, check=False)


def test_only_the_token_opens(here):
    done = json.loads(inside(here, "python", "-c", ASK).stdout)
    assert done["codes"] == [403, 403, 200]
    assert all(name.startswith("case-") for name in done["root"])


def test_the_port_is_published_at_127_0_0_1_only(here):
    port = urlsplit(here.url).port
    bindings = here.inspect(here.door)["HostConfig"]["PortBindings"]
    assert bindings == {"8888/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(port)}]}
    assert here.inspect(here.jupyter)["HostConfig"]["NetworkMode"] == "none"
    on_the_host = ["run", "--rm", "--network", "host", "--label", "incident-labs=box", outside.BASE]
    # An engine that was never restarted does not name its bridge's own address: it is the subnet's first.
    subnet = json.loads(docker("network", "inspect", "bridge").stdout)[0]["IPAM"]["Config"][0]["Subnet"]
    bridge = str(next(ipaddress.ip_network(subnet).hosts()))
    assert docker(*on_the_host, *outside.connects("127.0.0.1", port), check=False).returncode == 0
    assert docker(*on_the_host, *outside.connects(bridge, port), check=False).returncode != 0


def test_nothing_outside_answers(here):
    door = next(iter(here.inspect(here.door)["NetworkSettings"]["Networks"].values()))
    with outside.container("bridge") as control, outside.container("bridge", listens=True) as listener:
        address = here.inspect(listener)["NetworkSettings"]["IPAddress"]
        assert outside.finds(control, outside.connects(address)), "the control finds what the probe looks for"
        assert not outside.finds(here.jupyter, outside.connects(address))
        assert not outside.finds(here.jupyter, outside.connects(door["IPAddress"], 8888))
        assert outside.finds(control, outside.resolves()), "the control resolves what the probe asks for"
        assert not outside.finds(here.jupyter, outside.resolves())
    assert inside(here, "sh", "-c", "ls /sys/class/net").stdout.split() == ["lo"]


def test_the_engine_and_the_repository_are_out_of_reach(here):
    assert inside(here, "test", "-e", "/var/run/docker.sock").returncode != 0
    assert inside(here, "touch", f"{ROOT}/README.md").returncode != 0
    assert inside(here, "ls", f"{ROOT}/mine").stdout.split() == [here.folder.name]
    assert inside(here, "touch", str(here.folder / "case-1" / "note")).returncode == 0
    assert inside(here, "sh", "-c", f"ls -d {here.folder}/case-1/captures/*/").stdout


def test_every_container_is_confined(here):
    for container in (here.jupyter, here.door):
        host = here.inspect(container)["HostConfig"]
        assert here.inspect(container)["Config"]["User"] == f"{os.getuid()}:{os.getgid()}"
        assert host["CapDrop"] == ["ALL"]
        assert not host["CapAdd"]
        assert any(option.startswith("no-new-privileges") for option in host["SecurityOpt"])
        assert host["ReadonlyRootfs"]
        assert 0 < host["Memory"] <= 4 * 2**30
        assert 0 < host["PidsLimit"] <= 512


def test_a_second_call_says_where_it_is_open(here):
    again = here.call()
    said, _ = again.communicate(timeout=60)
    assert again.returncode == 0
    assert said.count("\n") == 1
    assert here.url in said


def test_the_next_seat_gets_the_next_port_and_its_own_copies(here):
    mine = here.folder / "case-1" / "exercise.ipynb"
    mine.write_text(mine.read_text().replace("case.score()", "case.score()  # mine"))
    with seat.opened() as other:
        assert urlsplit(other.url).port != urlsplit(here.url).port
        assert urlsplit(other.url).query != urlsplit(here.url).query
        assert "# mine" not in (other.folder / "case-1" / "exercise.ipynb").read_text()
        said = other.end()
        assert "is taken" in said
        assert other.left_behind() == []
        assert here.inspect(here.door)["State"]["Running"]


@pytest.mark.parametrize("name", ["run", "Anna", "a b", "9lives", "x" * 21, "a;b"])
def test_what_is_no_seats_name(name):
    bad = seat.Seat(name).call()
    said, why = bad.communicate(timeout=60)
    assert (bad.returncode, said) == (2, "")
    assert why.count("\n") == 1
    assert "not a seat's name" in why


def test_copies_stay_and_everything_else_goes():
    with seat.opened() as mine:
        notebook = mine.folder / "case-1" / "exercise.ipynb"
        notebook.write_text("{}")
        mine.end()
        assert mine.process.returncode == 0
        assert mine.left_behind() == []
        mine.process = mine.call()
        mine.said = mine.process.stdout.readline()
        assert notebook.read_text() == "{}"
