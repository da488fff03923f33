"""Stacks that stand, a learner at each lab: the box, seats beside each other, and what is typed to look around.

Nothing inside a stack reaches out, and every probe is shown to find what it looks for elsewhere.
"""

import ipaddress
import itertools
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import learners
import outside
import pytest
from python_on_whales import DockerClient

from workbench import gate, lab, learner

TARGETS, BRIDGE = ["another network", "the host"], "the host's end of the bridge"


@pytest.fixture(scope="module")
def docker() -> DockerClient:
    return DockerClient()


@pytest.fixture(scope="module", params=lab.names())
def ann(request):
    """A learner at a lab, with her stack up."""
    each = lab.load(request.param)
    gate.build(each, ["broken"])
    with learners.at(each, "ann") as (seat,):
        seat.apply()
        yield seat


@pytest.fixture(scope="module")
def boxed(ann):
    """A lab's broken stack, up, with its capture sidecar."""
    standing = ann.standing()
    standing.up("capture")
    return standing


@dataclass(frozen=True)
class Unboxed:
    """What is to be reached outside, by its address, and a container that reaches it."""

    control: str
    addresses: dict[str, str]


@pytest.fixture(scope="module")
def unboxed(docker):
    """A network that is no box, with a listener on it and one on the host."""
    name = f"incident-labs-outside-{os.getpid()}"
    network = docker.network.create(name)
    try:
        with (
            outside.container(name) as control,
            outside.container(name, listens=True) as listener,
            outside.container("host", listens=True),
        ):
            gateway = docker.network.inspect(name).ipam.config[0]["Gateway"]
            address = docker.container.inspect(listener).network_settings.networks[name].ip_address
            yield Unboxed(control, dict(zip(TARGETS, (address, gateway), strict=True)))
    finally:
        network.remove()


def containers(running) -> dict[str, str]:
    return {service: running.container(service) for service in [*running.services, "capture"]}


@pytest.fixture(scope="module")
def found(boxed, unboxed, engine) -> dict[str, set[str]]:
    """The services whose probe finds what it looks for, by what that is. All probes at once: what is boxed waits for its
    time-out."""
    networks = engine.networks(f"com.docker.compose.project={boxed.project}")
    subnets = [ipaddress.ip_network(config["Subnet"]) for network in networks for config in network["IPAM"]["Config"]]
    # The engine takes a subnet's first address for the host, whose listener listens on all of its addresses.
    addresses = unboxed.addresses | {f"{BRIDGE} ({subnet})": str(next(subnet.hosts())) for subnet in subnets}
    wanted = {what: outside.connects(address) for what, address in addresses.items()} | {outside.NAME: outside.resolves()}
    probes = list(itertools.product(wanted.items(), containers(boxed).items()))
    with ThreadPoolExecutor(len(probes)) as pool:
        answers = list(pool.map(lambda each: outside.finds(each[1][1], each[0][1]), probes))
    services: dict[str, set[str]] = {what: set() for what in wanted}
    for (what, _), (service, _) in itertools.compress(probes, answers):
        services[what].add(service)
    return services


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_answers_from_inside(found, unboxed, target):
    assert outside.finds(unboxed.control, outside.connects(unboxed.addresses[target])), "the control finds what the probe looks for"
    assert not found[target]


def test_the_hosts_end_of_the_boxs_own_bridge_does_not_answer(found):
    bridges = {what: services for what, services in found.items() if what.startswith(BRIDGE)}
    assert bridges
    assert not any(bridges.values()), bridges


def test_no_container_has_an_ipv6_address_beyond_its_own_loopback(boxed, docker):
    """The host's end of a bridge has one, whatever the engine is told."""
    for service, container in containers(boxed).items():
        told = docker.execute(container, ["sh", "-c", "cat /proc/net/if_inet6 || :"])
        assert {line.split()[-1] for line in told.splitlines() if "/" not in line} <= {"lo"}, service


def test_an_internal_network_alone_leaves_the_host_reachable_on_older_engines(unboxed, docker, engine):
    """Why the stacks ask for a bridge without an address: the control of the test above."""
    name = f"incident-labs-plain-{os.getpid()}"
    subprocess.run(["docker", "network", "create", "--internal", name], check=True, stdout=subprocess.DEVNULL)
    try:
        gateway = docker.network.inspect(name).ipam.config[0]["Gateway"]
        major = int(engine.get("/version")["Version"].split(".")[0])
        if major < 28:
            with outside.container(name) as inside:
                assert outside.finds(inside, outside.connects(gateway))
    finally:
        docker.network.remove(name)


def test_no_name_outside_is_resolved(found, unboxed):
    assert outside.finds(unboxed.control, outside.resolves()), "the control resolves what the probe asks for"
    assert not found[outside.NAME]


def test_every_container_is_confined(boxed, engine):
    allowed = {"capture": ["NET_RAW"], **{router: ["NET_ADMIN"] for router in boxed.lab.routers}}
    for service, container in containers(boxed).items():
        host = engine.get(f"/containers/{container}/json")["HostConfig"]
        assert host["CapDrop"] == ["ALL"], service
        assert (host["CapAdd"] or []) == allowed.get(service, []), service
        assert "no-new-privileges:true" in host["SecurityOpt"], service
        assert 0 < host["Memory"] <= 2**30, service
        assert 0 < host["PidsLimit"] <= 512, service
        assert host["ReadonlyRootfs"] is (service != "capture"), service
        assert not host["PortBindings"], service
        assert not host["Privileged"], service


def test_every_network_is_internal(boxed, engine):
    networks = engine.get("/networks", filters=f'{{"label": ["com.docker.compose.project={boxed.project}"]}}')
    assert networks
    assert all(network["Internal"] for network in networks)


@pytest.mark.parametrize("ann", lab.names()[:1], indirect=True, scope="module")
def test_seats_are_small_apart_and_see_only_themselves(ann, engine):
    """A second learner comes to the first lab: a seat is the same at all of them."""
    with learners.at(ann.lab, "ben") as (ben,):
        ben.standing().up()
        subnets = [
            ipaddress.ip_network(config["Subnet"]) for network in engine.networks() for config in network["IPAM"]["Config"] or []
        ]
        assert not [pair for pair in itertools.combinations(subnets, 2) if pair[0].overlaps(pair[1])]
        ours = engine.networks(f"com.docker.compose.project={ann.project}")
        assert all(ipaddress.ip_network(network["IPAM"]["Config"][0]["Subnet"]).prefixlen >= 24 for network in ours)

        asks = ann.standing().container(ann.lab.recording.at)
        names = [container["Names"][0].strip("/") for container in engine.containers("incident-labs=box")]
        assert any(name.startswith(f"{ben.project}-") for name in names)
        with ThreadPoolExecutor(len(names)) as pool:
            resolved = set(itertools.compress(names, pool.map(lambda other: outside.finds(asks, outside.resolves(other)), names)))
        # The control: a seat does find its own.
        assert {other.startswith(f"{ann.project}-") for other in resolved} == {True}


def test_every_command_to_look_around_with_shows_something(ann):
    """As the introduction prints them; what listens on the wire first, so that it hears what the others do."""
    around = learner.introduction(ann).partition("## Look around")[2].partition("\n## ")[0]
    commands = re.findall(r"^ {4}(docker .+)$", around, re.MULTILINE)
    assert len(commands) >= 5
    # Nobody types here: what asks for a terminal gets an end of input.
    on_the_wire, others = [], []
    for command in commands:
        (on_the_wire if "tcpdump" in command else others).append(["bash", "-c", command.replace("exec -it", "exec -i")])
    with ThreadPoolExecutor() as pool:
        listening = [pool.submit(look, command) for command in on_the_wire]
        done = [look(command) for command in others] + [each.result() for each in listening]
    for each in done:
        assert each.returncode == 0, (each.args, each.stderr[-500:])
        assert len(each.stdout.strip()) > 30, (each.args, each.stdout, each.stderr[-500:])


def test_a_changed_file_is_read_after_the_next_up(ann):
    """Compose alone goes by its own files."""
    for name in set(ann.lab.learner.copies) - {"compose.yaml"}:
        changed = ann.copy / name
        changed.write_text(changed.read_text() + "# changed by ann\n")
        mounts = [
            (service, volume["target"])
            for service, entry in ann.standing().model["services"].items()
            for volume in entry.get("volumes", [])
            if volume.get("source") == str(changed)
        ]
        assert mounts, name
        service, target = mounts[0]
        before = ann.standing().container(service)
        ann.apply()
        assert ann.standing().container(service) != before
        assert ann.standing().exec(service, ["tail", "-n", "1", target]).strip() == "# changed by ann"
        same = ann.standing().container(service)
        ann.apply()
        assert ann.standing().container(service) == same


def seen_live() -> list[str]:
    return [name for name in lab.names() if hasattr(lab.load(name).part("lab"), "live")]


@pytest.mark.parametrize("ann", seen_live(), indirect=True, scope="module")
def test_a_live_view_shows_what_the_stack_is_scaled_to(ann):
    service = next(name for name, entry in ann.standing().model["services"].items() if "deploy" in entry)
    many = len(ann.standing().containers(service)) + 1
    command = [sys.executable, "-m", "workbench"]
    # A copy is brought up as its owner would: the command, not the function.
    scaled = look([*command, "up", ann.lab.name, "--seat", ann.name, "--scale", f"{service}={many}"])
    assert scaled.returncode == 0, scaled.stderr
    assert f"{many} of {service}" in scaled.stdout
    assert len(ann.standing().containers(service)) == many
    live = look([*command, "live", ann.lab.name, "--seat", ann.name, "--seconds", "12"])
    assert live.returncode == 0, live.stderr
    last = live.stdout[live.stdout.rindex(ann.project) :]
    assert re.search(rf"│ +{many} +│", last), live.stdout
    nobody = look([*command, "live", ann.lab.name, "--seat", "nobody", "--seconds", "1"])
    assert nobody.returncode == 2
    assert "nothing runs" in nobody.stderr


def look(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False)
