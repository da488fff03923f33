"""The learner's loop on the real stack: cures by hand, what is no cure, cheats, reset, and seats beside each other.

`make test` runs what is changed in other files than compose.yaml, because there the copy is known to make what the
overlay makes; `make gate` runs every scenario by hand (--every).
"""

import ipaddress
import itertools
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from python_on_whales import DockerClient
from python_on_whales.exceptions import DockerException

from workbench import gate, lab, learner
from workbench.learner import Seat

LABS = lab.names()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    every, only = (metafunc.config.getoption(name) for name in ("every", "only"))
    labs = [lab.load(name) for name in ([only] if only not in (None, "all") else LABS)]
    if "scenario" in metafunc.fixturenames:
        pairs = [
            (each, name) for each in labs for name, entry in each.scenarios.items() if entry.by_hand and (every or elsewhere(entry))
        ]
        metafunc.parametrize(("each", "scenario"), pairs, ids=[f"{each.name}-{name}" for each, name in pairs])
    elif "cheat" in metafunc.fixturenames:
        pairs = [(each, name) for each in labs for name, entry in each.learner.cheats.items() if entry.guard]
        metafunc.parametrize(("each", "cheat"), pairs, ids=[f"{each.name}-{name}" for each, name in pairs])
    elif "each" in metafunc.fixturenames:
        metafunc.parametrize("each", labs, ids=[each.name for each in labs])
    elif "neighbours" in metafunc.fixturenames:
        metafunc.parametrize("neighbours", labs, ids=[each.name for each in labs], indirect=True, scope="module")


def elsewhere(scenario: lab.Scenario) -> bool:
    return any(change.file != "compose.yaml" for change in scenario.by_hand)


@pytest.fixture
def seat_at():
    """Makes a learner at a lab, with a fresh copy; his stack and his copy are gone afterwards."""
    made = []

    def sit(each: lab.Lab) -> Seat:
        seat = Seat(each, "tester")
        made.append(seat)
        learner.reset(seat)
        return seat

    yield sit
    for seat in made:
        leave(seat)


def leave(seat: Seat) -> None:
    seat.down()
    for folder in (seat.copy, seat.copy.with_name(f"{seat.copy.name}.before-reset"), seat.runs):
        shutil.rmtree(folder, ignore_errors=True)


def test_by_hand_a_scenario_is_what_it_is_declared_to_be(seat_at, each, scenario):
    gate.build(each, ["broken", scenario])
    seat = seat_at(each)
    learner.edit(seat.copy, seat.lab.scenarios[scenario].by_hand)
    check = learner.check(seat)
    assert check.verdict == seat.lab.scenarios[scenario].expected, check.reasons
    assert seat.last()["verdict"] == check.verdict


def test_a_cheat_is_refused_with_its_reason(seat_at, each, cheat):
    gate.build(each, ["broken"])
    seat = seat_at(each)
    entry = seat.lab.learner.cheats[cheat]
    learner.edit(seat.copy, entry.by_hand)
    check = learner.check(seat)
    assert check.verdict == "refused", check.reasons
    assert any(seat.lab.learner.guards[entry.guard].refusal in reason for reason in check.reasons), check.reasons


def test_after_a_reset_it_is_red_again_and_a_lab_py_of_ones_own_is_never_run(seat_at, each):
    gate.build(each, ["broken"])
    seat = seat_at(each)
    trap = seat.copy / "lab.py"
    sprung = seat.copy / "sprung"
    learner.edit(seat.copy, next(entry.by_hand for entry in seat.lab.scenarios.values() if entry.kind == "fix"))
    learner.reset(seat)
    code = f"open({str(sprung)!r}, 'w')\ndrive = facts = lambda *given: {{}}\n"
    trap.write_text(code)
    check = learner.check(seat)
    assert check.verdict == "red", check.reasons
    assert not sprung.exists()
    subprocess.run([sys.executable, trap], check=True)
    assert sprung.exists(), "the trap springs where it is run"


@pytest.fixture(scope="module")
def neighbours(request):
    """Two learners at one lab, with their stacks up."""
    each = request.param
    gate.build(each, ["broken"])
    seats = [Seat(each, who) for who in ("ann", "ben")]
    try:
        for seat in seats:
            learner.reset(seat)
            seat.standing().up()
        yield seats
    finally:
        for seat in seats:
            leave(seat)


def test_seats_are_small_apart_and_see_only_themselves(neighbours, engine):
    ann, _ben = neighbours
    subnets = [
        ipaddress.ip_network(config["Subnet"]) for network in engine.networks() for config in network["IPAM"]["Config"] or []
    ]
    assert not [pair for pair in itertools.combinations(subnets, 2) if pair[0].overlaps(pair[1])]
    ours = engine.networks(f"com.docker.compose.project={ann.project}")
    assert all(ipaddress.ip_network(network["IPAM"]["Config"][0]["Subnet"]).prefixlen >= 24 for network in ours)

    docker = DockerClient()
    asks = ann.standing().container(ann.lab.recording.at)
    names = {container["Names"][0].strip("/") for container in engine.containers("incident-labs=box")}
    resolved = {other for other in names if resolves(docker, asks, other)}
    # The control: a seat does find its own.
    assert {other.startswith(f"{ann.project}-") for other in resolved} == {True}


def test_every_command_to_look_around_with_shows_something(neighbours):
    """As the introduction prints them; what listens on the wire first, so that it hears what the others do."""
    ann, _ben = neighbours
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


def look(command: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180, check=False)


def resolves(docker: DockerClient, container: str, name: str) -> bool:
    try:
        docker.execute(container, ["timeout", "2", "getent", "hosts", name])
    except DockerException:
        return False
    return True
