"""A learner's copy, what it may change, hints and seats: what can be said without a stack."""

import itertools
import re

import pytest
from composed import known_to_be_the_same, mounts, stack_of

from workbench import lab, learner, room, stack
from workbench.lab import LabError
from workbench.learner import Seat

ALWAYS = {"compose.yaml"}
HIDDEN = {"lab.toml", "lab.py", "scenarios", "hints.md", "SOLUTION.md", "README.md"}


@pytest.fixture(autouse=True)
def own_room(tmp_path, monkeypatch):
    """Copies and results of the tests lie beside the repository's own."""
    root = lab.ROOT / "runs" / ".tests" / tmp_path.name
    root.mkdir(parents=True)
    (root / "compose").symlink_to(lab.ROOT / "compose")
    monkeypatch.setattr(learner, "MINE", root / "mine")
    monkeypatch.setattr(learner.gate, "RUNS", root / "runs")
    yield root
    learner.shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def seat(each_lab):
    mine = Seat(each_lab, "tester")
    learner.copy(mine)
    return mine


def test_without_a_version_of_ones_own_there_is_nothing_to_check(each_lab):
    with pytest.raises(LabError, match=r"compose\.yaml: not there; make up CASE=\d+ SEAT=nobody puts it there"):
        learner.differences(Seat(each_lab, "nobody"))


def model(seat: Seat, *more) -> dict:
    """What compose makes of a seat's copy."""
    setup = seat.setup(seat.project)
    return stack.Stack(stack.Setup(setup.lab, setup.name, (*setup.files, *more), setup.project), {}, seat.state()).model


def files(seat: Seat) -> set[str]:
    return {str(path.relative_to(seat.copy)) for path in seat.copy.rglob("*") if path.is_file()}


def test_a_copy_holds_what_may_be_edited_and_nothing_else(seat):
    assert files(seat) == set(seat.lab.learner.copies) >= ALWAYS
    assert not {path.split("/")[0] for path in files(seat)} & HIDDEN
    assert seat.copy.name == f"case-{seat.lab.case}-tester"


def test_nothing_a_learner_reads_names_the_lab_or_a_scenario_of_it(seat):
    text = learner.introduction(seat) + "".join((seat.copy / name).read_text() for name in files(seat))
    named = {word for word in (seat.lab.name, "scenarios/", "lab.toml", "SOLUTION") if word in text}
    assert not named


def test_the_introduction_speaks_of_this_seats_own_containers(seat):
    text = learner.introduction(seat)
    assert f"{seat.project}-" in text
    assert f"case-{seat.lab.case}-" not in text.replace(f"{seat.project}-", "").replace(f"incident-labs/case-{seat.lab.case}-", "")
    assert f"make notebooks SEAT={seat.name}`" in text


def test_the_introduction_names_images_that_are(seat):
    named = set(re.findall(r"incident-labs/case-[\w.-]*\w", learner.introduction(seat)))
    assert named <= set().union(*(stack.images(stack.model(seat.lab.name, scenario)) for scenario in seat.lab.scenarios))


def test_a_copy_that_is_not_whole_is_brought_back_by_reset(seat):
    (seat.copy / "compose.yaml").unlink()
    with pytest.raises(LabError, match=r"compose\.yaml: not there; make reset CASE=\d+ SEAT=tester puts it there"):
        seat.version()


def test_a_stack_that_would_leave_its_box_does_not_stand_either(seat):
    compose = seat.copy / "compose.yaml"
    service = next(iter(stack_of(seat.lab)["services"]))
    compose.write_text(compose.read_text().replace(f"\n  {service}:\n", f"\n  {service}:\n    privileged: true\n", 1))
    with pytest.raises(LabError, match=f"{service}.privileged is not to be changed"):
        seat.apply()


def test_a_file_that_is_no_text_is_compared_all_the_same(seat):
    (seat.copy / "compose.yaml").write_bytes("für".encode("latin-1"))
    assert any(line.startswith("compose.yaml: +f") for line in learner.differences(seat))


def test_a_copy_that_is_there_is_kept(seat):
    (seat.copy / "compose.yaml").write_text("mine")
    assert not learner.copy(seat)
    assert (seat.copy / "compose.yaml").read_text() == "mine"


def test_reset_brings_the_beginning_back_and_keeps_what_was_there(seat):
    (seat.copy / "compose.yaml").write_text("mine")
    learner.next_hint(seat)
    kept = learner.reset(seat)
    assert (kept / "compose.yaml").read_text() == "mine"
    assert learner.differences(seat) == []
    assert learner.next_hint(seat)[0] == 1


def test_a_hint_speaks_of_this_seats_own_containers(seat):
    number, of, text = learner.next_hint(seat)
    told = text + "".join(learner.next_hint(seat)[2] for _ in range(number, of))
    assert f"case-{seat.lab.case}-" not in told.replace(f"{seat.project}-", "")
    assert not re.search(rf"CASE={seat.lab.case}\b(?! SEAT={seat.name})", told)


def test_images_of_a_version_are_those_it_names(seat):
    assert learner.scenarios_with_images_of(seat.lab, model(seat)) == ["broken"]
    broken = stack.images(stack.model(seat.lab.name, "broken"))
    for scenario in seat.lab.scenarios:
        if images := stack.images(stack.model(seat.lab.name, scenario)) - broken:
            compose = seat.copy / "compose.yaml"
            first = next(line for line in compose.read_text().splitlines() if "image: incident-labs/" in line)
            compose.write_text(compose.read_text().replace(first.strip(), f"image: {sorted(images)[0]}", 1))
            brought = learner.scenarios_with_images_of(seat.lab, model(seat))[-1]
            assert stack.images(stack.model(seat.lab.name, brought)) & images, scenario
            return


def test_hints_come_one_by_one_and_the_last_again(seat):
    first, of, _ = learner.next_hint(seat)
    told = [learner.next_hint(seat) for _ in range(of)]
    assert first == 1
    assert of >= 3
    assert [number for number, *_ in told] == [*range(2, of + 1), of]
    assert len({text for *_, text in told}) == of - 1


def test_the_untouched_copy_changes_nothing(seat):
    assert learner.differences(seat) == []
    assert learner.forbidden_changes(seat.lab, model(seat)) == []


def test_what_is_made_by_hand_is_allowed_and_in_compose_is_what_the_overlay_makes(seat):
    """So a check by hand and the gate run the same; of what is made in other files composed.known_to_be_the_same tells."""
    for name, scenario in seat.lab.scenarios.items():
        if scenario.kind == "exhibit" and not scenario.by_hand:
            continue
        learner.reset(seat)
        learner.edit(seat.copy, scenario.by_hand)
        ours = model(seat)
        assert learner.forbidden_changes(seat.lab, ours) == [], name
        if all(change.file == "compose.yaml" for change in scenario.by_hand):
            theirs = stack.model(seat.lab.name, name)["services"]
            for service, key in itertools.product(theirs, ("image", "command")):
                assert ours["services"][service].get(key) == theirs[service].get(key), f"{name}: {service}.{key}"
            for service in theirs:
                here, there = (services[service].get("environment") or {} for services in (ours["services"], theirs))
                # By what is not the learner's and is left empty an overlay may have more looked at; nothing else may differ.
                observed = {each for each in there if f"{service}.{each}" in seat.lab.learner.fixed and here.get(each) == ""}
                assert here == there | dict.fromkeys(observed, ""), f"{name}: {service}"


def test_what_is_mounted_in_place_of_an_edit_is_that_edit(each_lab):
    """An overlay that brings files of its own has the very change in them that a learner is told to make."""
    broken = mounts(each_lab.folder / "compose.yaml")
    for name, scenario in each_lab.scenarios.items():
        if scenario.by_hand and set(mounts(each_lab.overlay(name))) & set(broken):
            assert known_to_be_the_same(each_lab, name), name


def test_only_what_the_broken_stack_has_several_of_is_scaled(seat):
    several = [name for name, service in stack_of(seat.lab)["services"].items() if "deploy" in service]
    assert learner.scale(seat, "") == {}
    assert learner.scale(seat, " ".join(f"{name}=3" for name in several)) == dict.fromkeys(several, 3)
    other = next(name for name in stack_of(seat.lab)["services"] if name not in several)
    for wanted in (f"{other}=2", "3", *(f"{name}={count}" for name in several for count in ("", "0", "13", "-1", "x"))):
        with pytest.raises(LabError, match=r"^SCALE=.* is not service=number"):
            learner.scale(seat, wanted)


def test_a_cheat_in_compose_is_refused_before_anything_runs(seat):
    for name, cheat in seat.lab.learner.cheats.items():
        learner.reset(seat)
        learner.edit(seat.copy, cheat.by_hand)
        assert bool(learner.forbidden_changes(seat.lab, model(seat))) == (cheat.guard is None), name


def test_every_guard_has_a_cheat_that_it_refuses(each_lab):
    assert {cheat.guard for cheat in each_lab.learner.cheats.values()} - {None} == set(each_lab.learner.guards)


@pytest.mark.parametrize(
    ("added", "says"),
    [
        ("    privileged: true\n", ".privileged is not to be changed"),
        ("    ports: ['8080:80']\n", ".ports is not to be changed"),
        ("    volumes: ['/:/host']\n", ".volumes is not to be changed"),
        ("    cap_add: [NET_ADMIN]\n", ".cap_add is not to be changed"),
        ("    command: ['true']\n", ".command is not to be changed"),
    ],
)
def test_a_copy_stays_in_the_box(seat, added, says):
    service = next(name for name in model(seat)["services"] if name != "capture")
    path = seat.copy / "added.yaml"
    path.write_text(f"services:\n  {service}:\n{added}")
    assert any(says in reason for reason in learner.forbidden_changes(seat.lab, model(seat, path)))


def test_a_service_added_or_a_network_opened_is_refused(seat):
    path = seat.copy / "compose.yaml"
    text = path.read_text()
    path.write_text(text.replace("services:\n", "services:\n  other: {image: incident-labs/base}\n", 1))
    assert "compose.yaml: the service other was added" in learner.forbidden_changes(seat.lab, model(seat))
    path.write_text(text.replace("internal: true", "internal: false"))
    assert "compose.yaml: networks are not to be changed" in learner.forbidden_changes(seat.lab, model(seat))


def test_a_file_that_compose_refuses_is_said_in_one_line(seat):
    (seat.copy / "compose.yaml").write_text("services: [\n")
    with pytest.raises(stack.StackError) as error:
        learner.forbidden_changes(seat.lab, model(seat))
    assert "compose.yaml" in str(error.value)
    assert "\n" not in str(error.value)


def test_without_a_copy_the_way_to_one_is_said(each_lab):
    with pytest.raises(LabError, match=f"make up CASE={each_lab.case}"):
        Seat(each_lab).setup("x")


@pytest.mark.parametrize("name", ["run", "Alice", "a b", "../x", "1st", "a" * 21, "-"])
def test_a_name_that_is_no_seat_is_refused(each_lab, name):
    with pytest.raises(LabError, match="not a seat's name"):
        Seat(each_lab, name)


def test_a_case_is_found_by_its_number(each_lab):
    assert lab.load(str(each_lab.case)) == each_lab
    with pytest.raises(LabError, match="there is no case 99"):
        lab.load("99")


def test_the_room_counts_seats(monkeypatch):
    places = [
        room.Place(1, "ann", 5, 200 * 2**20, {"verdict": "green", "at": "2026-01-01T10:00:00+00:00"}),
        room.Place(1, "ben", 5, 300 * 2**20, {"verdict": "red", "at": "2026-01-01T10:01:00+00:00"}),
        room.Place(1, "cem", 0, 0, None),
    ]
    monkeypatch.setattr(room.Engine, "get", lambda self, path: {"MemTotal": 4 * 2**30})
    monkeypatch.setattr(room, "waiting", lambda: ["ann", "cem"])
    lines = room.summary(places, seats=20)
    assert lines[0] == "2 up; 1 green, 1 red"
    assert "17 not here yet" in lines[1]
    assert "NOT enough" in lines[2]
    assert lines[3] == "measured runs: ann, then cem"
