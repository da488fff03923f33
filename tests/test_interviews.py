"""Interviews: for every lab and many seeds the archives are well-formed, tell nothing of the case, and are graded exactly."""

import io
import itertools
import json
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from workbench import lab, recording
from workbench.interviews import archives, evidence, grading, live, making, sheet, wire
from workbench.interviews.making import Interview
from workbench.interviews.sheet import SheetError
from workbench.lab import ROOT

ABLE = [name for name in lab.names() if (lab.load(name).folder / "interview.py").is_file()]
#: What TLS calls its parts tells nothing, though a lab is called by it: every sheet has it.
VOCABULARY = {"close_notify"}
#: Names of scenarios that are words of the stack itself.
COMMON = {"close_notify", "ecdhe", "ecdsa", "keep_alive", "maxconn", "nice", "redirect", "session_cache", "timeout_check"}
WARNINGS = re.compile(r"^\s+(\d+)\s+\w+\s+\S+\s+(.+)$", re.MULTILINE)


@pytest.fixture(scope="module", params=ABLE)
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def interviews(request, name, tmp_path_factory) -> list[Interview]:
    folder = tmp_path_factory.mktemp(name)
    return [making.make(name, f"seed {number}", folder / f"{number}") for number in range(request.config.getoption("--seeds"))]


def right(made: Interview) -> dict[str, object]:
    return {each.id: each.right for each in made.asked}


def points(made: Interview, answers: dict[str, object]) -> float:
    return sum(each.points for each in grading.grade(made.asked, answers))


def files(archive: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(archive)) as found:
        assert found.testzip() is None
        assert not found.comment
        return {entry: found.read(entry) for entry in found.namelist()}


def telling(made: Interview) -> list[str]:
    return telling_of(made.lab)


def telling_of(chosen: lab.Lab) -> list[str]:
    """What would give the case away, wherever it stands."""
    names = [
        chosen.name,
        chosen.name.replace("_", " "),
        chosen.name.replace("_", "-"),
        "incident-labs",
        "incidentlabs",
        "incident labs",
    ]
    told = [*names, f"case-{chosen.case}", f"case {chosen.case}", chosen.title, chosen.article, *chosen.part("interview").TELLING]
    return [word for word in told if word not in VOCABULARY]


@pytest.mark.many
def test_the_candidates_archive_is_well_formed_and_tells_nothing(interviews):
    for made in interviews:
        found = files(archives.candidate(made))
        assert {"README.md", "answers.toml", "evidence/wire.pcapng", "evidence/hosts.txt", "evidence/versions.txt"} <= set(found)
        assert tomllib.loads(found["answers.toml"].decode())["interview"] == made.code
        scenarios = {word for scenario in made.lab.scenarios for word in (scenario, scenario.replace("_", "-"))}
        for path, data in found.items():
            assert not scenarios & set(re.split(r"[/.]", path))
            for word in telling(made):
                assert word.lower().encode() not in data.lower(), f"{path} says {word!r}"
        originals = [address.encode() for address in made.mask.addresses]
        assert not any(re.search(rb"(?<![\d.])%s(?![\d.])" % re.escape(one), data) for data in found.values() for one in originals)


@pytest.mark.many
def test_the_right_answers_get_all_points_and_those_of_another_seed_do_not(interviews):
    for made in interviews:
        assert points(made, right(made)) == 100
        assert points(made, right(made)) == points(made, dict(reversed(right(made).items())))
        assert points(made, {}) == 0
    for made, other in itertools.pairwise(interviews):
        answers = {each.id: answer for each, answer in zip(made.asked, right(other).values(), strict=True)}
        try:
            assert points(made, answers) < 90
        except SheetError:
            # What is a letter there is none here.
            assert right(made) != answers


@pytest.mark.many
def test_the_evidence_is_judged_as_its_origin_is_and_diagnosed_blind(interviews):
    """A cause is seen in the evidence alone, look-alikes included (making.make raises where it is not)."""
    for made in interviews:
        assert made.cause == made.lab.part("interview").ORIGINS[made.origin]


@pytest.mark.many
def test_frames_that_do_not_prove_the_claim_get_nothing(interviews):
    for made in interviews:
        (asked,) = (each for each in made.asked if each.kind == "places")
        shown = set(itertools.chain.from_iterable(asked.shown))
        rows = len(wire.read(made.folder / "evidence" / "wire.pcapng"))
        idle = next(frame for frame in range(1, rows + 2) if frame not in shown)
        graded = {each.asked.id: each for each in grading.grade(made.asked, right(made) | {asked.id: [idle]})}
        assert graded[asked.id].points == 0
        graded = {each.asked.id: each for each in grading.grade(made.asked, right(made) | {asked.id: [*asked.right[:1], idle]})}
        assert 0 < graded[asked.id].points < asked.points
        (mechanism,) = (each for each in made.asked if each.kind == "letter")
        wrong = next(letter for letter in mechanism.options if letter != mechanism.right)
        graded = {each.asked.id: each for each in grading.grade(made.asked, right(made) | {mechanism.id: wrong})}
        assert graded[asked.id].points == graded[mechanism.id].points == 0


@pytest.mark.many
def test_wireshark_finds_nothing_in_it_that_it_did_not_find_before(interviews):
    for made in interviews[:2]:
        capture, spec = made.folder / "evidence" / "wire.pcapng", made.lab.part("interview")
        origins = [recording.published(*run).capture for run in [(made.lab.name, made.origin), *spec.BESIDE]]
        assert set(expert(capture)) <= {kind for origin in origins for kind in expert(origin)}
        assert not {kind for kind in expert(capture) if "checksum" in kind.lower()}


def expert(capture: Path) -> dict[str, int]:
    command = [
        "tshark",
        "-n",
        "-r",
        str(capture),
        "-o",
        "tcp.check_checksum:TRUE",
        "-o",
        "ip.check_checksum:TRUE",
        "-q",
        "-z",
        "expert,warn",
    ]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {kind: int(number) for number, kind in WARNINGS.findall(said)}


@pytest.mark.many
def test_a_wrong_checksum_would_be_found(interviews, tmp_path):
    """The control of the test above."""
    packets = wire.read(interviews[0].folder / "evidence" / "wire.pcapng")
    capture = tmp_path / "wrong.pcapng"
    wire.write(packets[:1], capture)
    data = bytearray(capture.read_bytes())
    at = bytes(data).rindex(bytes(packets[0].tcp)[:12])
    data[at + 4] ^= 0xFF
    capture.write_bytes(data)
    assert {kind for kind in expert(capture) if "checksum" in kind.lower()}


@pytest.mark.many
def test_a_seed_makes_the_same_again_and_another_makes_another(name, tmp_path):
    one, again, other = (making.make(name, seed, tmp_path / folder) for folder, seed in (("1", "x"), ("2", "x"), ("3", "y")))
    assert archives.candidate(one) == archives.candidate(again)
    assert archives.interviewer(one, "A. Turing") == archives.interviewer(again, "A. Turing")
    assert one.code != other.code
    assert set(one.mask.addresses.values()) != set(other.mask.addresses.values())


@pytest.mark.many
def test_every_origin_bears_out_its_cause_and_both_kinds_occur(name, tmp_path):
    """Drawn until each recorded run was the evidence once."""
    spec = lab.load(name).part("interview")
    seen, number = {}, 0
    while set(seen) != set(spec.ORIGINS) and number < 150:
        origin = making.origin_of(spec, Random(making.stream_of(name, f"n{number}")))[1]
        if origin not in seen:
            seen[origin] = making.make(name, f"n{number}", tmp_path / f"{number}").cause
        number += 1
    assert seen == spec.ORIGINS


@pytest.mark.many
def test_the_mask_can_be_taken_off_again(name, tmp_path):
    made = making.make(name, "mask", tmp_path / "made")
    for path in (made.folder / "evidence").glob("*.txt"):
        if path.name != "versions.txt":
            assert made.mask.text(made.mask.reverse().text(path.read_text())) == path.read_text()
    packets = wire.read(made.folder / "evidence" / evidence.CAPTURE)
    again = wire.read(made.folder / "restored" / recording.CAPTURE)
    assert len(packets) == len(again)
    back = made.mask.reverse()
    for masked, plain in zip(packets, again, strict=True):
        assert abs(back.time(masked.time) - plain.time) < 1e-5
        assert back.packed(masked.ip.src) == plain.ip.src
        assert len(masked.tcp.data) == len(plain.tcp.data)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense", "not TOML"),
        ("[full]\nanswer = 1", "interview: missing"),
        ('interview = "x"\nfull = 1', "full: a question has an answer"),
        ('interview = "x"\n[full]\nguess = 1', "full: a question has an answer"),
    ],
)
def test_what_is_no_sheet_is_refused(text, says):
    with pytest.raises(SheetError, match=re.escape(says)):
        sheet.parse(text)


ASKED = {
    "count": (7, ["seven", 1.5, "1.5", -1, True]),
    "share": (0.5, ["half", 2, -0.1, True]),
    "frame": (12, ["x12", -1, False]),
    "ending": ("client RST", ["RST", "nobody FIN", 3]),
    "milliseconds": (12.5, ["12 ms", -1, float("nan")]),
    "letter": ("b", ["b c", 2, "ä", "f"]),
    "letters": ("a b", [["a"], "ab", "f"]),
    "places": ([1, "counters.csv:3"], [[], [1, 2, 3, 4], [0], ["counters.csv"], [1.5], [True]]),
}


@pytest.mark.parametrize("kind", ASKED)
def test_an_answer_that_is_not_written_as_asked_is_refused_by_name(kind):
    good, bad = ASKED[kind]
    options = dict.fromkeys("abc", "something") if kind.startswith("letter") else {}
    asked = sheet.Asked("question", "finding", 10, "?", kind, good, [[1], ["counters.csv:3"]], options)
    assert "question" in sheet.read([asked], {"question": good})
    for answer in bad:
        if answer == []:
            assert sheet.read([asked], {"question": answer}) == {}
            continue
        with pytest.raises(SheetError, match=r"^question\.answer: "):
            sheet.read([asked], {"question": answer})
    with pytest.raises(SheetError, match="there is no such question"):
        sheet.read([asked], {"other": 1})


@pytest.mark.parametrize(
    ("kind", "quoted", "meant"),
    [
        ("count", "13", 13),
        ("share", " 0.25 ", 0.25),
        ("frame", "0", None),
        ("milliseconds", "34.5", 34.5),
        ("places", "12, 345, counters.csv:67", (12, 345, "counters.csv:67")),
    ],
)
def test_a_number_in_quotes_is_a_number(kind, quoted, meant):
    asked = sheet.Asked("question", "finding", 10, "?", kind, meant)
    assert sheet.read([asked], {"question": quoted}) == {"question": meant}


def test_open_answers_cost_their_points_only():
    asked = [sheet.Asked("one", "finding", 60, "?", "count", 3), sheet.Asked("two", "finding", 40, "?", "share", 0.25)]
    graded = grading.grade(asked, {"one": 3, "two": ""})
    assert [each.points for each in graded] == [60, 0]
    assert graded[1].why == "no answer"
    assert [each.points for each in grading.grade([replace(asked[1])], {"two": 0.254})] == [40]


def test_wrong_changes_take_right_ones_points_away():
    asked = sheet.Asked("fix", "fix", 15, "?", "letters", "a b", [], dict.fromkeys("abcde", "something"))
    for given, expected in (("a b", 15), ("a", 7.5), ("a c", 0), ("a b c", 7.5), ("c d", 0), ("a b c d e", 0)):
        assert grading.grade([asked], {"fix": given})[0].points == expected


def test_a_key_that_is_none_is_refused():
    with pytest.raises(lab.LabError, match="not an interviewer's archive"):
        archives.read_key(b"nothing")


def test_every_interview_has_its_text():
    for name in ABLE:
        assert (ROOT / "labs" / name / "INTERVIEW.md").is_file()


@pytest.mark.parametrize("name", [name for name in ABLE if hasattr(lab.load(name).part("interview"), "LIVE")])
def test_the_live_stack_is_the_labs_and_tells_nothing(name, tmp_path):
    chosen = lab.load(name)
    stack = live.files(chosen, chosen.part("interview").LIVE)
    words = [word for word in telling_of(chosen) if word not in VOCABULARY]
    for path, data in stack.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
        for word in [*words, "incident", *(each for each in chosen.scenarios if each not in COMMON)]:
            assert word.lower() not in path.lower(), f"{path}: {word}"
            assert word.lower().encode() not in data.lower(), f"{path} says {word!r}"
        if not path.endswith(("Makefile", ".sh")):
            assert not re.search(rb"^[ \t]*(#|//|/\*|<!--)", data, re.MULTILINE), path
    subprocess.run(["docker", "compose", "--project-directory", tmp_path / "live", "config", "--quiet"], check=True)
    for copied in chosen.learner.copies:
        again = live.back(chosen, chosen.part("interview").LIVE, stack[f"live/{copied}"].decode())
        theirs = {live.TRAILING.sub("", line) for line in (chosen.folder / copied).read_text().splitlines()}
        # What is cut out of a line leaves a shorter one.
        assert len(set(again.splitlines()) - theirs) <= 1


def call(*words: str, given: bytes = b"") -> subprocess.CompletedProcess:
    return subprocess.run([sys.executable, "-m", "workbench", *words], input=given, capture_output=True, check=False, cwd=ROOT)


def tarred(members: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as tar:
        for path, data in members.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return target.getvalue()


def untarred(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {entry.name: tar.extractfile(entry).read() for entry in tar}


def test_a_sheet_goes_from_the_interviewer_to_the_candidate_and_back():
    """As `make interview` and `make grade` call it."""
    made = call("interview", "--for", "A. Candidate", "--lab", "1", "--seed", "7")
    assert made.returncode == 0, made.stderr
    both = untarred(made.stdout)
    assert set(both) == {"candidate.zip", "interviewer.zip"}
    text = files(both["candidate.zip"])["answers.toml"].decode()
    key = json.loads(files(both["interviewer.zip"])["key.json"])
    assert key["for"] == "A. Candidate"
    assert b"A. Candidate" not in b"".join(files(both["candidate.zip"]).values())
    for each in key["asked"]:
        text = re.sub(
            rf'(\[{each["id"]}\]\n(?:#.*\n)+)answer = ""',
            lambda found, each=each: f"{found[1]}answer = {json.dumps(each['right'])}",
            text,
        )
    sheet, key = text.encode(), both["interviewer.zip"]
    graded = call("grade", "mine.toml", given=tarred({"./handed-in/answers.toml": sheet, "./keys/0.zip": key}))
    assert graded.returncode == 0, graded.stderr
    assert re.search(r"all\s+│\s+100 │\s+100", graded.stdout.decode())
    again = call("grade", "mine.toml", given=tarred({"handed-in/answers.toml": sheet, "keys/0.zip": key}))
    assert again.stdout == graded.stdout
    forged = call("grade", "mine.toml", given=tarred({"handed-in/answers.toml": sheet, "handed-in/0.zip": key}))
    assert "no key of the interview" in forged.stderr.decode()


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ({"handed-in/answers.toml": b"no sheet"}, "mine.toml: not TOML"),
        ({"handed-in/answers.toml": b"\xff\xfe"}, "mine.toml: not a text in UTF-8"),
        ({"handed-in/answers.toml": b'interview = "x"'}, "mine.toml: no key of the interview x"),
        ({"handed-in/answers.toml": b'interview = "x"', "keys/0.zip": b"no archive"}, "not an interviewer's archive"),
    ],
)
def test_what_cannot_be_graded_is_said_in_one_line(members, says):
    done = call("grade", "mine.toml", given=tarred(members))
    assert done.returncode == 2
    assert not done.stdout
    (line,) = done.stderr.decode().splitlines()
    assert says in line


def test_a_case_of_which_there_is_none_is_refused():
    done = call("interview", "--for", "x", "--lab", "17")
    assert done.returncode == 2
    assert not done.stdout
    assert "there is no case 17" in done.stderr.decode()


@pytest.mark.many
def test_without_a_case_the_seed_chooses_one():
    codes = {
        re.search(r"case (\d+)", call("interview", "--for", "x", "--seed", seed).stderr.decode())[1]
        for seed in ("a", "b", "c", "d")
    }
    assert len(codes) > 1
