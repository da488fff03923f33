"""lab.toml: what is right is read, and each mistake is reported with file, key and reason."""

import shutil

import pytest

from workbench import lab
from workbench.lab import ROOT, LabError

TOML = (ROOT / "labs" / "quiet_shutdown" / "lab.toml").read_text()


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a lab.toml into a repository of its own, from which it is loaded."""
    monkeypatch.setattr(lab, "ROOT", tmp_path)

    def written(text: str) -> None:
        folder = tmp_path / "labs" / "quiet_shutdown"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "lab.toml").write_text(text)

    return written


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("case = 1", "case = 0", "case: Input should be greater than 0"),
        ("case = 1", "kase = 1", "case: Field required"),
        ("max = 0.1", 'max = "low"', "max: Input should be a valid number"),
        (
            'expected = "red"\nstory = true',
            'expected = "green"\nstory = true',
            "scenarios.broken: a broken is expected red, not green",
        ),
        ("[scenarios.broken]", "[scenarios.whole]", "exactly one is of kind broken, and it is named broken"),
        ('scenario = "broken"', 'scenario = "none"', "there is no scenario none"),
        ("min = 1.0\n", "", "oracles.every_line_is_checked_and_up: needs min, max or both"),
        ("min = 1.0\n", "min = 1.0\nmax = 0.5\n", "min 1.0 is above max 0.5"),
        ("min = 1.0\n", 'min = 1.0\nof = ["none"]\n', "oracles.every_line_is_checked_and_up.of: there is no scenario none"),
        ('status = "reproduced"', 'status = "sort of"', "status: Input should be"),
        ('"21.0.8" = "jdk_21"', '"21.0.8" = "jdk_22"', "matrices.java_and_jetty: there is no scenario jdk_22"),
        ('"21.0.8" = "jdk_21"', '"21.0.8" = { JRE = "21.0.8" }', "rows: services: missing; whose variables are these?"),
        ("case = 1", "case = ", "not valid TOML"),
        ("case = 1", 'case = 1\nname = "other"', "name and folder come from the path"),
    ],
)
def test_a_mistake_is_reported_with_file_key_and_reason(write, right, wrong, says):
    assert right in TOML
    write(TOML.replace(right, wrong, 1))
    with pytest.raises(LabError) as error:
        lab.load("quiet_shutdown")
    message = str(error.value)
    assert message.startswith("labs/quiet_shutdown/lab.toml: ")
    assert says in message
    assert "\n" not in message


def test_what_is_right_is_read(write):
    write(TOML)
    assert lab.load("quiet_shutdown").scenarios["broken"].expected == "red"


def test_an_unknown_lab_is_named_with_those_that_exist():
    with pytest.raises(LabError, match=r"there is no lab 'quiet'; there is: .*quiet_shutdown"):
        lab.load("quiet")


def test_a_lab_without_lab_py_says_so(write, tmp_path):
    write(TOML)
    with pytest.raises(LabError, match=r"labs/quiet_shutdown/lab\.py: missing"):
        lab.load("quiet_shutdown").part("lab")
    shutil.copy(ROOT / "labs" / "quiet_shutdown" / "lab.py", tmp_path / "labs" / "quiet_shutdown")
    assert callable(lab.load("quiet_shutdown").part("lab").drive)


def test_scenarios_are_selected_by_story_all_and_name():
    chosen = lab.load("quiet_shutdown")
    assert lab.select(chosen, "story")[0] == "broken"
    assert lab.select(chosen, "all") == list(chosen.scenarios)
    assert lab.select(chosen, "httpchk") == ["httpchk"]
    with pytest.raises(LabError, match="no scenario 'nothing'; it has: broken, "):
        lab.select(chosen, "nothing")


def test_what_this_kernel_cannot_do_is_left_out_and_named(write):
    needy = 'kind = "fix"\nneeds = "/proc/sys/net/{}"\n'
    write(TOML.replace('kind = "fix"\n', needy.format("core"), 1))
    chosen = lab.load("quiet_shutdown")
    assert lab.select(chosen, "all") == list(chosen.scenarios)
    assert not lab.left_out(chosen)

    write(TOML.replace('kind = "fix"\n', needy.format("of_tomorrow"), 1))
    chosen = lab.load("quiet_shutdown")
    (left,) = set(chosen.scenarios) - set(lab.select(chosen, "all"))
    assert lab.left_out(chosen) == [f"{left}: left out, this kernel has no /proc/sys/net/of_tomorrow"]
    with pytest.raises(LabError, match=rf"{left}: it needs /proc/sys/net/of_tomorrow, which this kernel does not have"):
        lab.select(chosen, left)


def test_a_scenario_has_oracles_of_its_own_or_those_of_all_the_others(each_lab):
    own = {scenario for oracle in each_lab.oracles.values() for scenario in oracle.of}
    for scenario in each_lab.scenarios:
        asked = each_lab.oracles_of(scenario)
        assert asked
        assert all((scenario in oracle.of) == (scenario in own) for oracle in asked.values())
