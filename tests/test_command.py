"""The command line: bad input gets one line, an exit code, and no traceback."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.lab import ROOT

CAPTURE = next((ROOT / "captures").glob("*/broken/wire.pcapng"))


def lab(*words: str, stdin: bytes = b"") -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "workbench", *words], input=stdin, capture_output=True, cwd=ROOT, check=False)


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
        (("nonsense",), "No such command"),
        (("run", "--what"), "No such option"),
    ],
)
def test_bad_words(words, says):
    done = lab(*words)
    assert done.returncode == 2
    assert says in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    assert done.stderr.count(b"\n") == 1
