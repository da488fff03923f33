"""What holds over the whole repository, as small equalities."""

import ast
import hashlib
import json
import re
import subprocess
from pathlib import Path

import pytest
from composed import stack_of

import workbench
from workbench import interviews, lab, ledger, matrix, oracle, recording, reliability, stack
from workbench.lab import ROOT


def order_in(doc: str, first: str, last: str) -> list[str]:
    """Modules in the order in which they import, as their package's docstring has it."""
    return [name.split()[0] for name in re.search(rf"{first}.*{last}", doc, re.DOTALL).group().replace("\n", " ").split(", ")]


ORDERS = {
    "workbench": order_in(workbench.__doc__, "console, lab", "__main__"),
    "workbench.interviews": order_in(interviews.__doc__, "mask, sessions", "commands"),
}
PARTS = {"lab.toml", "lab.py", "questions.py", "compose.yaml", "README.md", "hints.md", "SOLUTION.md", "scenarios"}


def files(pattern: str) -> list[Path]:
    made = {"runs", "mine", ".git", ".venv", ".venv-replay"}
    return [path for path in ROOT.rglob(pattern) if not made & set(path.relative_to(ROOT).parts)]


def test_every_folder_of_labs_is_a_lab():
    assert {path.name for path in (ROOT / "labs").iterdir()} == {path.parent.name for path in (ROOT / "labs").glob("*/lab.toml")}


def test_every_lab_has_every_part(each_lab):
    assert {path.name for path in each_lab.folder.iterdir()} >= PARTS
    assert each_lab.name.isidentifier()
    assert (ROOT / "notebooks" / f"{each_lab.name}.ipynb").is_file()
    assert (ROOT / "notebooks" / f"{each_lab.name}_exercise.ipynb").is_file()


def test_every_overlay_is_a_scenario_and_everything_is_recorded(each_lab):
    overlays = {path.stem for path in (each_lab.folder / "scenarios").iterdir()}
    assert overlays == set(each_lab.scenarios) - {"broken"}
    recorded = ROOT / "captures" / each_lab.name
    assert {path.name for path in recorded.iterdir()} == {*each_lab.scenarios, matrix.FOLDER}
    assert {path.stem for path in (recorded / matrix.FOLDER).iterdir()} == set(each_lab.matrices)


def test_every_lab_tells_a_story_that_ends_well(each_lab):
    kinds = [each_lab.scenarios[name].kind for name in each_lab.story()]
    assert (kinds[0], kinds[-1]) == ("broken", "fix")
    assert set(kinds[1:]) <= {"fix", "wrong_fix"}
    assert any(scenario.kind == "wrong_fix" for scenario in each_lab.scenarios.values())


def test_every_service_with_a_build_has_its_dockerfile(each_lab):
    services = stack_of(each_lab)["services"]
    builds = [service["build"] for service in services.values() if "build" in service]
    used = {(each_lab.folder / build["context"] / build.get("dockerfile", "Dockerfile")).resolve() for build in builds}
    assert all(path.is_file() for path in used)
    assert set(each_lab.folder.glob("*/Dockerfile")) <= used


def test_every_service_starts_from_the_box(each_lab):
    compose = stack_of(each_lab)
    for name, service in compose["services"].items():
        assert service["extends"]["file"] == "../../compose/boxed.yaml"
        assert not {"ports", "privileged"} & set(service)
        assert service.get("cap_add", []) == (["NET_ADMIN"] if name in each_lab.routers else []), name
    assert all(network["internal"] is True for network in compose["networks"].values())


def test_compose_takes_the_stack_with_every_overlay(each_lab, tmp_path):
    first, *others = (stack.model(each_lab.name, name) for name in each_lab.scenarios)
    for path in each_lab.folder.glob("matrices/*.yaml"):
        files = (each_lab.folder / "compose.yaml", path)
        others.append(stack.Stack(stack.Setup(each_lab, path.stem, files, f"case-{each_lab.case}"), {}, tmp_path).model)
    assert all(set(other["services"]) >= set(first["services"]) for other in others)


def test_wireshark_takes_every_display_filter(each_lab):
    rows = re.findall(r"^\| `(.+?)` \|", lab.sections(each_lab.folder / "README.md")["In Wireshark"], re.MULTILINE)
    capture = ROOT / "captures" / each_lab.name / "broken" / "wire.pcapng"
    shown = ["tshark", "-n", "-c", "1", "-r", capture, "-Y", " or ".join(f"({row})" for row in rows)]
    done = subprocess.run(shown, capture_output=True, text=True, check=False)
    assert rows
    assert done.returncode == 0, done.stderr


def test_recording_names_services_of_the_stack(each_lab):
    asked = each_lab.recording
    secrets = [asked.secrets.partition(":")[0]] if asked.secrets else []
    assert {asked.at, *asked.closely, *asked.logs, *secrets} <= set(stack_of(each_lab)["services"])


def test_every_dockerfile_starts_from_a_base_that_can_be_given():
    for path in files("Dockerfile"):
        stages = re.findall(r"^FROM (\S+)(?: AS (\S+))?", path.read_text(), re.MULTILINE)
        begun_from, names = ({stage[part] for stage in stages} for part in (0, 1))
        assert "${BASE}" in begun_from, path
        assert begun_from <= {"${BASE}", "${TOOLS}"} | names, path


def test_case_numbers_differ():
    cases = [re.search(r"^case = (\d+)", path.read_text(), re.MULTILINE).group(1) for path in (ROOT / "labs").glob("*/lab.toml")]
    assert len(cases) == len(set(cases))


@pytest.mark.parametrize("package", ORDERS)
def test_modules_are_those_of_the_data_way(package):
    there = {path.parent.name if path.stem == "__init__" else path.stem for path in folder_of(package).glob("*.py")}
    inner = {path.parent.name for path in folder_of(package).glob("*/__init__.py")}
    assert there - {folder_of(package).name} | inner == set(ORDERS[package])


@pytest.mark.parametrize(("package", "module"), [(package, module) for package, order in ORDERS.items() for module in order])
def test_no_import_against_the_data_way(package, module):
    order = ORDERS[package]
    path = folder_of(package) / f"{module}.py"
    for each in [path] if path.is_file() else (folder_of(package) / module).glob("*.py"):
        assert imported(each, package) - {module} <= set(order[: order.index(module)]), each


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split("."))


def imported(path: Path, package: str) -> set[str]:
    """The modules of a package that a file imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == package:
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{package}."):
            found.add(node.module.removeprefix(f"{package}.").split(".")[0])
    return found


def test_the_machinery_knows_no_incident():
    words = ("haproxy", "jetty", "java", "nginx", "quiet_shutdown", "httpchk")
    for path in (ROOT / "workbench").rglob("*.py"):
        code = path.read_text().lower()
        found = {word for word in words if word in code}
        assert not found, path


def test_published_pages_equal_the_recorded_runs():
    stale = {
        str(path.relative_to(ROOT))
        for path, text in (ledger.pages() | matrix.pages() | reliability.pages()).items()
        if path.read_text() != text
    }
    assert not stale, "run `make publish`"


def test_every_claim_is_in_the_ledger(each_lab):
    rows = ledger.LEDGER.read_text()
    assert all(claim.says in rows for claim in each_lab.claims.values())


def test_every_claim_and_column_names_a_fact_that_exists(each_lab):
    given = set(oracle.recorded(each_lab.name, "broken").facts)
    asked = {claim.fact for claim in each_lab.claims.values() if claim.fact} | {column.fact for column in each_lab.columns}
    assert asked <= given


def test_recorded_runs_are_whole_small_and_as_declared(each_lab):
    for name, scenario in each_lab.scenarios.items():
        run = recording.published(each_lab.name, name)
        assert run.meta["scenario"] == name
        assert not run.meta["disturbed"], f"{name}: a disturbed run's figures are not for publication"
        listed = run.meta["sha256"]
        assert {path.name for path in run.folder.iterdir()} == {*listed, recording.META}
        for file, digest in listed.items():
            assert hashlib.sha256((run.folder / file).read_bytes()).hexdigest() == digest, f"{name}/{file}"
        assert run.capture.stat().st_size < ledger.LARGEST_CAPTURE
        judgement = oracle.recorded(each_lab.name, name)
        assert judgement.verdict == scenario.expected
        for facts in (judgement.facts, *run.meta["rounds"]):
            assert not [fact for fact, value in facts.items() if value != value], "what was not measured is None"


def test_a_trimmed_run_tells_what_the_whole_run_told(each_lab):
    """The verdict from the trimmed capture, and that from the facts of the whole one, taken when it was made."""
    for name in each_lab.scenarios:
        run = recording.published(each_lab.name, name)
        verdicts = {oracle.weigh(each_lab.oracles_of(name), facts)[0] for facts in run.meta["rounds"]}
        assert verdicts == {oracle.recorded(each_lab.name, name).verdict}, name


def test_nothing_names_a_registry_host_or_a_private_key():
    lock = (ROOT / "workbench" / "requirements.txt").read_text()
    assert "://" not in lock
    assert "--hash=sha256:" in lock
    for path in files("*"):
        if path.is_file() and path.suffix in {
            ".py",
            ".sh",
            ".md",
            ".toml",
            ".yaml",
            ".json",
            ".cfg",
            ".xml",
            ".java",
            ".pem",
            ".key",
        }:
            assert "PRIVATE " + "KEY-----" not in path.read_text(), path


def test_run_json_holds_no_path_of_a_machine():
    for path in (ROOT / "captures").rglob("run.json"):
        assert not re.search(r'"/(home|root|work|Users)/', json.dumps(json.loads(path.read_text()))), path
