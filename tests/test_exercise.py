"""The exercises: answers follow the capture in hand, and no reply gives one away."""

import json
import re
import subprocess
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from workbench import exercise, lab, notebooks, recording
from workbench.lab import ROOT

SPECIMEN, HANDS, NGINX = 8444, 8445, 9443
#: Answers that no question can read, whichever shape it asks for.
MALFORMED = [object(), {}, {"a": 1}, float("nan"), -1, "", "¯\\_(ツ)_/¯", b"RST", [[1]], ["RST"], [None, None], pd.NA, lambda: 1]


def published(scenario: str) -> Path:
    return ROOT / "captures" / "quiet_shutdown" / scenario


def right_answer(case: exercise.Case, question: exercise.Question) -> object:
    """The answer as a person would write it: of several letters that are right, one."""
    right = question.answer(case)
    return right if question.shape.same(right, right) else min(right)


def readable(question: exercise.Question, answer: object) -> bool:
    try:
        question.shape.read(answer)
    except exercise.Malformed:
        return False
    return True


def words(right: object) -> set[str]:
    """What a reply would have to contain to give the answer away."""
    if isinstance(right, float):
        return {f"{right:.1f}", f"{right:.2f}"}
    return {str(each) for each in right} if isinstance(right, (set, frozenset, tuple)) else {str(right)}


def says(word: str, reply: exercise.Reply) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", repr(reply)) is not None


@pytest.fixture
def broken() -> exercise.Case:
    return exercise.open(case=1, capture=published("broken"))


# Any lab


def test_what_is_unanswered_is_open(each_lab):
    case = exercise.open(each_lab.case)
    assert {case.check(question.id, ...).outcome for question in case.questions} == {"open"}
    assert {case.check(question.id).outcome for question in case.questions} == {"open"}
    assert f"0 right, 0 not yet, {len(case.questions)} open" in repr(case.score())


def test_malformed_answers_get_a_sentence(each_lab):
    case = exercise.open(each_lab.case)
    for question in case.questions:
        for answer in MALFORMED:
            reply = case.check(question.id, answer)
            assert reply.outcome == "open", (question.id, answer)
            assert question.shape.how in repr(reply)


def test_no_reply_gives_an_answer_away(each_lab):
    """Every answer of every question over the story's runs, given to every question that can read it."""
    cases = [exercise.open(each_lab.case, recording.published(each_lab.name, name).capture) for name in each_lab.story()]
    pool = [right_answer(case, question) for case in cases for question in case.questions]
    pool += [0, 1, 2, 7, 10**6, 0.5, None, set(), {1}, *"abcdefghi"]
    pool += [(side, sign) for side in ("client", "server") for sign in ("FIN", "RST", "close_notify")]
    case, refused = cases[0], 0
    for question in case.questions:
        right = question.answer(case)
        wrong = [answer for answer in pool if readable(question, answer)]
        wrong = [answer for answer in wrong if not question.shape.same(question.shape.read(answer), right)]
        for answer in wrong:
            reply = case.check(question.id, answer)
            assert reply.outcome == "not yet"
            assert not any(says(word, reply) for word in words(right)), (question.id, answer, reply)
        refused += len(wrong)
        assert wrong, f"{question.id}: nothing of the pool is wrong"
    assert refused > 5 * len(case.questions)


def test_the_notebook_has_no_answer_in_sight(each_lab):
    path = ROOT / "notebooks" / f"{each_lab.name}_exercise.ipynb"
    notebook = nbformat.read(path, as_version=4)
    sources = "\n".join(cell.source for cell in notebook.cells)
    outputs = [output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = "\n".join(str(value) for data in outputs for kind, value in data.items() if not kind.startswith("image/"))
    case = exercise.open(each_lab.case)
    asked = re.findall(r'case\.check\("(\w+)", (.*)\)', sources)
    assert [name for name, _ in asked] == [question.id for question in case.questions]
    assert {answer for _, answer in asked} == {"..."}
    # Numbers below ten and shares are everywhere; a letter is among its like; endings are named as what can be chosen.
    found = [answer for question in case.questions if isinstance(answer := question.answer(case), int) and answer > 9]
    assert not [number for number in found if re.search(rf"\b{number}\b", sources)]
    texts = "\n".join(str(value) for data in outputs for kind, value in data.items() if kind in ("text/plain", "text/markdown"))
    assert not [number for number in found if re.search(rf"(?<![\d.]){number}(?![\d.])", texts)]
    # What the answers are made of is the same in every case.
    assert each_lab.name not in sources + shown.replace(exercise.ENDING.how, "")
    # Some scenario is called as what it brings to the wire.
    scenarios = set(each_lab.scenarios) - {"broken", *exercise.SIGNS.values()}
    assert not [name for name in scenarios if re.search(rf"\b{name}\b", sources + shown)]


def test_the_notebook_with_right_answers_is_solved(each_lab, tmp_path):
    notebook = nbformat.read(ROOT / "notebooks" / f"{each_lab.name}_exercise.ipynb", as_version=4)
    case = exercise.open(each_lab.case)
    answers = {question.id: right_answer(case, question) for question in case.questions}
    for cell in notebook.cells:
        if asked := re.fullmatch(r'case\.check\("(\w+)", \.\.\.\)', cell.source):
            cell.source = f'case.check("{asked[1]}", {answers[asked[1]]!r})'
    nbformat.write(notebook, tmp_path / "answered.ipynb")
    ((conclusion,),) = notebooks.conclusion(notebooks.executed(tmp_path / "answered.ipynb"))
    assert "**Solved.**" in conclusion["text/markdown"]


# This lab: what its questions say of captures that are known


def check(case: exercise.Case, answers: dict) -> dict:
    return {name: case.check(name, answer).outcome for name, answer in answers.items()}


def first_refusal(capture: Path) -> int | None:
    """By tshark alone: the first ServerHello with another session id than the one that its ClientHello offered."""
    fields = ["frame.number", "tcp.stream", "tls.handshake.type", "tls.handshake.session_id"]
    command = [
        "tshark",
        "-n",
        "-r",
        capture,
        "-o",
        "tcp.try_heuristic_first:TRUE",
        "-Y",
        "tls.handshake.type in {1,2}",
        "-T",
        "fields",
    ]
    done = subprocess.run(
        [*command, *(word for field in fields for word in ("-e", field))], capture_output=True, text=True, check=True
    )
    offered = {}
    for line in done.stdout.splitlines():
        frame, stream, kinds, session = line.split("\t")
        if kinds.startswith("1"):
            offered[stream] = session
        elif offered.get(stream) and session.split(",")[0] != offered[stream]:
            return int(frame)
    return None


@pytest.mark.parametrize(
    ("scenario", "answers"),
    [
        ("broken", {"who_resumes": {HANDS, NGINX}, "price": 1, "ending_java": ("client", "RST"), "ending_nginx": "client RST"}),
        ("broken", {"ending_by_hand": ["Client", "close_notify"]}),
        ("close_notify", {"who_resumes": [SPECIMEN, HANDS, NGINX], "price": 0.0, "ending_java": ("client", "close_notify")}),
        ("jetty_9_4_12", {"who_resumes": {SPECIMEN, HANDS, NGINX}, "price": 0, "ending_java": ("client", "RST")}),
        ("tls_1_3", {"price": 1.0, "offers": 0, "declined": None}),
    ],
)
def test_answers_follow_the_capture(scenario, answers):
    assert set(check(exercise.open(1, published(scenario)), answers).values()) == {"right"}


@pytest.mark.parametrize("scenario", ["broken", "haproxy_3_0", "jdk_21", "close_notify"])
def test_the_frame_of_the_first_refusal(scenario):
    case = exercise.open(1, published(scenario))
    frame = first_refusal(case.capture)
    assert (frame is None) == (scenario in ("jdk_21", "close_notify"))
    assert case.check("declined", frame).outcome == "right"
    assert case.check("declined", np.int64(frame) if frame else None).outcome == "right"


def test_an_answer_for_one_capture_is_wrong_for_another(broken):
    answers = {question.id: right_answer(broken, question) for question in broken.questions}
    fixed = exercise.open(1, published("close_notify"))
    other = check(fixed, answers)
    assert {name for name, outcome in other.items() if outcome == "not yet"} == {
        "who_resumes",
        "price",
        "declined",
        "ending_java",
        "ending_nginx",
    }


@pytest.mark.parametrize("letter", "abcdefghi")
def test_a_change_is_judged_by_its_recorded_run(broken, letter):
    """Right is what lab.toml declares to be green, which the gate measures; the figure is the run's own."""
    question = next(question for question in broken.questions if question.id == "change")
    says = re.search(rf"^- \*\*{letter}\*\*: (.*)$", question.text, re.MULTILINE)[1]
    reply = broken.check("change", letter)
    helps = letter in question.answer(broken)
    assert helps == any(word in says for word in ("Jetty", "ask for a page"))
    assert reply.outcome == ("right" if helps else "not yet")
    assert f"judged {'green: 0.00' if helps else 'red: 1.00'} full handshakes per check, against 1.00" in repr(reply)


@pytest.mark.parametrize(
    ("name", "answer", "nudge"),
    [
        ("who_resumes", {SPECIMEN, HANDS, NGINX}, "never resumes"),
        ("who_resumes", {NGINX}, "not all"),
        ("who_resumes", {1}, "clients choose theirs"),
        ("price", 0, "the others"),
        ("price", 100, "divided by 100"),
        ("offers", 0, "ClientHello"),
        ("declined", None, "There is one"),
        ("declined", 10**6, "no TCP packet"),
        ("ending_java", ("client", "close_notify"), "no alert"),
        ("ending_java", ("server", "RST"), "from whose port"),
        ("ending_java", ("RST", "client"), "The first word names the side"),
    ],
)
def test_a_nudge_fits_the_mistake(broken, name, answer, nudge):
    assert nudge in repr(broken.check(name, answer))


def test_nudges_about_the_frame(broken):
    rows = broken.packets
    right = next(question for question in broken.questions if question.id == "declined").answer(broken)
    hellos = broken.lab.part("questions").server_hellos(broken)
    offer = rows[(rows["messages"] == "1") & (rows["frame"] < right)]["frame"].iloc[-1]
    honoured = hellos[hellos["handshake"] == "resumed"]["frame"].iloc[0]
    later = hellos[(hellos["handshake"] == "full") & hellos["session_offered"]]["frame"].iloc[-1]
    unasked = hellos[~hellos["session_offered"].astype(bool)]["frame"].iloc[0]
    nudges = {
        offer: "ClientHello",
        honoured: "honoured",
        later: "before",
        unasked: "nothing was offered",
        1: "none in that frame",
    }
    for frame, nudge in nudges.items():
        assert nudge in repr(broken.check("declined", frame))


# The lab close_notify: what its questions say of alerts


def test_an_alert_is_not_said_to_be_what_nobody_can_read(tmp_path):
    recorded = exercise.open(2)
    sealed = tmp_path / "sealed.pcapng"
    subprocess.run(["editcap", "--discard-all-secrets", recorded.capture, sealed], check=True, capture_output=True)
    for case, said in ((recorded, "It says close_notify"), (exercise.open(2, sealed), "encrypted")):
        question = next(question for question in case.questions if question.id == "alert")
        right = question.answer(case)
        assert said in repr(case.check("alert", right))


# What is opened


def test_a_capture_alone_is_enough_for_the_wire(tmp_path):
    (tmp_path / "some.pcapng").write_bytes((published("broken") / "wire.pcapng").read_bytes())
    case = exercise.open(1, tmp_path / "some.pcapng")
    assert case.run is None
    assert "without the metrics" in repr(case.symptom())
    assert case.check("who_resumes", {HANDS, NGINX}).outcome == "right"


def test_the_latest_run_of_a_folder_is_taken(tmp_path):
    for number, scenario in enumerate(["broken", "close_notify"]):
        (tmp_path / f"2026-{number}").symlink_to(published(scenario))
    assert exercise.open(1, tmp_path).capture.resolve() == published("close_notify") / "wire.pcapng"


def test_a_question_that_a_capture_does_not_answer_is_not_held_against_anybody(tmp_path):
    capture = tmp_path / "nginx.pcapng"
    command = ["tshark", "-n", "-r", published("broken") / "wire.pcapng", "-Y", f"tcp.port == {NGINX}", "-w", capture]
    subprocess.run(command, check=True, capture_output=True)
    case = exercise.open(1, capture)
    assert case.check("price", 1).outcome == case.check("ending_by_hand", ("client", "RST")).outcome == "moot"
    assert "not to be answered" in repr(case.score())


@pytest.mark.parametrize(
    ("number", "capture", "why"),
    [
        (99, None, "there is no case 99"),
        (1, "no/such/folder", "no such file or folder"),
        (1, ROOT / "docs", "no run in this folder"),
        (1, ROOT / "README.md", "not a capture"),
    ],
)
def test_what_cannot_be_opened_is_said_in_one_line(number, capture, why):
    with pytest.raises(exercise.ExerciseError, match=why) as caught:
        exercise.open(number, capture)
    assert len(caught.value._render_traceback_()) == 1


def test_a_run_of_another_case_is_refused(tmp_path):
    meta = json.loads((published("broken") / "run.json").read_text())
    (tmp_path / "run.json").write_text(json.dumps(meta | {"lab": "another"}))
    (tmp_path / "wire.pcapng").symlink_to(published("broken") / "wire.pcapng")
    with pytest.raises(exercise.ExerciseError, match="another case"):
        exercise.open(1, tmp_path)


@pytest.mark.parametrize("name", ["no_such_question", None, ["who_resumes"], 3])
def test_a_question_that_is_not_there(broken, name):
    for reply in (broken.ask(name), broken.check(name, 1)):
        assert "There is no question" in repr(reply)
        assert "who_resumes" in repr(reply)


def test_every_lab_has_a_questions_file_that_opens():
    assert all(6 <= len(exercise.open(lab.load(name).case).questions) <= 10 for name in lab.names())
