"""The command line: bad input gets one line, an exit code, and no traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.lab import ROOT

CAPTURE = ROOT / "captures" / "quiet_shutdown" / "broken" / "wire.pcapng"


def lab(*words: str, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "workbench", *words]
    return subprocess.run(command, input=stdin, capture_output=True, cwd=ROOT, env=os.environ | environment, check=False)


def test_facts_prints_one_object_and_nothing_else():
    done = lab("facts", "wire.pcapng", stdin=CAPTURE.read_bytes())
    facts = json.loads(done.stdout)
    assert done.returncode == 0
    assert facts["tls_connections"] == facts["full_handshakes"] + facts["resumed_handshakes"] + facts["unfinished_handshakes"] > 0


@pytest.mark.parametrize(
    ("options", "says"),
    [(["-s", "96"], "packets were recorded in part"), ([], None)],
)
def test_facts_says_what_was_recorded_in_part(tmp_path, options, says):
    subprocess.run(["editcap", *options, CAPTURE, tmp_path / "cut.pcapng"], check=True)
    done = lab("facts", "cut", stdin=(tmp_path / "cut.pcapng").read_bytes())
    assert json.loads(done.stdout)["tls_connections"] > 0
    assert (says or "") in done.stderr.decode()
    assert done.stderr.count(b"\n") == (1 if says else 0)


def test_facts_says_where_packets_are_missing(tmp_path):
    hellos = ["tshark", "-n", "-r", CAPTURE, "-Y", "tls.handshake.type == 2", "-T", "fields", "-e", "frame.number"]
    frame = subprocess.run(hellos, capture_output=True, text=True, check=True).stdout.split()[0]
    subprocess.run(["editcap", CAPTURE, tmp_path / "lost.pcapng", frame], check=True)
    done = lab("facts", "lost", stdin=(tmp_path / "lost.pcapng").read_bytes())
    assert done.stderr.decode().startswith("note: lost: packets are missing from 1 connections")


@pytest.mark.parametrize(
    "content", [b"", b"not a capture\n" * 50, b"\x89PNG\r\n\x1a\n" + bytes(200), Path("/bin/true").read_bytes()]
)
def test_facts_of_what_is_no_capture(content):
    done = lab("facts", "some file", stdin=content)
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith("error: some file: ")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("run", "no_such_lab"), "there is no lab 'no_such_lab'"),
        (("run", "quiet_shutdown", "--scenario", "none"), "has no scenario 'none'; it has: broken"),
        (("record", "quiet_shutdown", "--scenario", "none"), "has no scenario 'none'"),
        (("replay", "no_such_lab"), "there is no lab 'no_such_lab'"),
        (("nonsense",), "No such command"),
        (("run", "--what"), "No such option"),
        (("new", "all", "6"), "NAME=all: a lab's name is"),
        (("new", "import", "6"), "NAME=import: a lab's name is"),
        (("new", "my_incident", "0"), "CASE=0: a case's number is 1 or more"),
        (("new", "close_notify_exercise", "6"), "notebooks/close_notify_exercise.ipynb: there already"),
    ],
)
def test_bad_words(words, says):
    done = lab(*words)
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.fixture
def replay_page(each_lab):
    """runs/<lab>/replay.html, left as it was."""
    path = ROOT / "runs" / each_lab.name / "replay.html"
    before = path.read_bytes() if path.is_file() else None
    yield path
    if before is not None:
        path.write_bytes(before)
    else:
        path.unlink(missing_ok=True)


def verdicts(table: str) -> dict[str, str]:
    """The verdict column of a printed table, by scenario; it says so where another verdict was declared."""
    found: dict[str, list[str]] = {}
    for line in table.splitlines():
        if line.startswith("│"):
            _, name, *_, verdict, _, _ = (cell.strip() for cell in line.split("│"))
            found.setdefault(name or next(reversed(found)), []).append(verdict)
    return {name: " ".join(words).strip() for name, words in found.items()}


@pytest.mark.many
def test_a_replay_judges_every_recorded_run_and_passes_for_no_run(each_lab, replay_page):
    summary = replay_page.with_name("summary.json")
    before = summary.read_bytes() if summary.is_file() else None
    done = lab("replay", each_lab.name)
    assert done.returncode == 0
    table, page = done.stdout.decode(), replay_page.read_text()
    assert verdicts(table) == {name: scenario.expected for name, scenario in each_lab.scenarios.items()}
    recorded = json.loads((ROOT / "captures" / each_lab.name / "broken" / "run.json").read_text())
    for said in (table, page):
        assert "A replay of runs recorded on" in said
        assert "Nothing ran here." in said
        assert recorded["started"][:10] in said
        assert recorded["host"]["cpu_model"] in said
    assert all(f"<code>{name}</code>" in page for name in each_lab.scenarios)
    assert "Measured on" not in page
    assert (summary.read_bytes() if summary.is_file() else None) == before


@pytest.mark.many
def test_a_replay_decodes_what_is_there(each_lab, replay_page, tmp_path):
    """With the broken stack's recording in the place of a fix's, and its own cut after 20 packets."""
    published, runs = ROOT / "captures" / each_lab.name, tmp_path / each_lab.name
    *_, fix = each_lab.story()
    for name in each_lab.story():
        shutil.copytree(published / name, runs / name)
    for part in ("wire.pcapng", "metrics.jsonl"):
        shutil.copy(published / "broken" / part, runs / fix)
    metas = {name: json.loads((published / name / "run.json").read_text()) for name in ("broken", fix)}
    of_the_wire = {key: metas["broken"][key] for key in ("window", "addresses") if key in metas["broken"]}
    (runs / fix / "run.json").write_text(json.dumps(metas[fix] | of_the_wire))
    subprocess.run(["editcap", "-r", published / "broken" / "wire.pcapng", runs / "broken" / "wire.pcapng", "1-20"], check=True)
    done = lab("replay", each_lab.name, LAB_RUNS=str(tmp_path))
    assert done.returncode == 1
    found = verdicts(done.stdout.decode())
    assert found[fix] == "red (declared green)"
    assert found["broken"] in {"failed (declared red)", "undecided (declared red)"}
    assert "declared green" in replay_page.read_text()


@pytest.mark.parametrize(("command", "named"), [("run", True), ("record", False)])
def test_where_no_engine_answers_a_run_names_the_replay(command, named):
    words = ["bash", "compose/workbench.sh", "--for", "some_lab", "story", "python", "-m", "workbench", command, "some_lab"]
    nowhere = {"DOCKER_HOST": "unix:///nowhere.sock"}
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=os.environ | nowhere, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("[engine] error: DOCKER_HOST")
    assert ("make replay LAB=some_lab" in done.stderr) == named
    assert done.stderr.count("\n") == 1 + named


@pytest.mark.parametrize("words", ["RECORD=1", "BUSY=true", "LIVE=y", "COLD=0"])
def test_what_is_yes_or_no_is_nothing_else(words):
    done = subprocess.run(["make", "help", words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{words}: yes or no" in done.stderr
    assert len(done.stderr.splitlines()) == 1
