"""An interview: which recorded run it shows, under which mask, what is asked, and what is right."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType

from workbench import lab, oracle, recording
from workbench.exercise import Case
from workbench.interviews import evidence, wire
from workbench.interviews.asking import Evidence
from workbench.interviews.mask import Mask
from workbench.interviews.sheet import Asked, plain
from workbench.lab import Lab, LabError
from workbench.recording import Run

#: Points of the sheet, all of them 100.
FINDINGS, MECHANISM, EVIDENCE, FIX = 45, 20, 20, 15
#: How many connections of others are beside them.
SCATTERED = (3, 12)
#: How many changes there are to choose from.
CHANGES = 5


@dataclass(frozen=True)
class Interview:
    """What both archives are written from. `folder` has the evidence in `evidence` and the run in the lab's names in
    `restored`."""

    lab: Lab
    seed: str
    code: str
    origin: str
    cause: str
    mask: Mask
    asked: list[Asked]
    folder: Path
    #: Whether the broken stack goes with it, and the fix is what is changed there.
    live: bool


def code_of(name: str, seed: str, *, live: bool) -> str:
    """What an interview is called on everything that a candidate gets: nobody finds the lab or the seed from it without knowing
    them."""
    return hashlib.sha256(f"{name}\0{seed}\0{live}".encode()).hexdigest()[:10]


def stream_of(name: str, seed: str) -> bytes:
    """What everything random about an interview is drawn from."""
    return hashlib.sha256(f"interview\0{name}\0{seed}".encode()).digest()


def origin_of(spec: ModuleType, random: Random) -> tuple[str, str]:
    """A cause, and a recorded run of it: as many with the incident as without it, and every run of a cause as likely as the
    next."""
    incident = spec.INCIDENT
    others = sorted(set(spec.ORIGINS.values()) - {incident})
    cause = incident if random.random() < 0.5 else random.choice(others)
    return cause, random.choice([scenario for scenario, each in spec.ORIGINS.items() if each == cause])


def make(name: str, seed: str, folder: Path, *, live: bool = False) -> Interview:
    """The interview over a lab for a seed; the same for the same. `folder` gets the evidence. With the live stack goes the evidence
    of that very stack. Raises LabError where a lab has none."""
    chosen = lab.load(name)
    spec = chosen.part("interview")
    random = Random(stream_of(chosen.name, seed))
    cause, origin = origin_of(spec, random)
    if live:
        if not hasattr(spec, "LIVE"):
            raise LabError(f"{chosen.name}: labs/{chosen.name}/interview.py has no LIVE: there is no live form of it")
        cause, origin = spec.INCIDENT, spec.LIVE.shows
    run = recording.published(chosen.name, origin)
    packets = wire.thin(wire.read(run.capture), random, spec.THINNED)
    worn = evidence.mask(run, packets, spec.HOSTS, spec.PORTS, random)
    beside = _beside(spec, packets, random)
    mask_beside = evidence.mask_beside(beside, worn, random)
    wire.disguise(packets, worn, random)
    wire.disguise(beside, mask_beside, random)
    packets += beside
    evidence.write(chosen, run, packets, worn, spec.KEPT, folder / "evidence")
    again = evidence.restored(run, packets, worn, folder / "restored")
    found = _evidence(chosen, again, worn, folder)
    # Nobody is to be graded by a key that the evidence does not bear out.
    if (seen := spec.diagnose(found)) != cause:
        raise LabError(f"labs/{chosen.name}/interview.py: the evidence of {origin} shows {seen}, not {cause} (SEED={seed})")
    if (judged := oracle.judge(chosen, again).verdict) != oracle.recorded(chosen.name, origin).verdict:
        raise LabError(f"{chosen.name}: the evidence of {origin} is judged {judged}, unlike what it was made from (SEED={seed})")
    asked = _asked(spec, found, cause, worn, random)
    asked.append(_change() if live else _fix(spec, found.case, cause, worn, random))
    return Interview(chosen, seed, code_of(chosen.name, seed, live=live), origin, cause, worn, asked, folder, live)


def _beside(spec: ModuleType, packets: list[wire.Packet], random: Random) -> list[wire.Packet]:
    """Some connections of another recording, at the same time: others use the network as well."""
    other = recording.published(*random.choice(spec.BESIDE))
    times = [packet.time for packet in packets]
    return wire.scatter(wire.read(other.capture), random, random.randint(*SCATTERED), min(times), max(times))


def _evidence(chosen: Lab, run: Run, worn: Mask, folder: Path) -> Evidence:
    """The evidence in the lab's own names; its text files say the same otherwise, line by line."""
    case = Case(chosen, chosen.part("questions"), run, run.capture)
    texts = [path for path in sorted((folder / "evidence").iterdir()) if path.name != evidence.CAPTURE]
    return Evidence(case, {path.name: worn.reverse().text(path.read_text()).splitlines() for path in texts})


def _asked(spec: ModuleType, found: Evidence, cause: str, worn: Mask, random: Random) -> list[Asked]:
    findings = spec.findings(found.case, random)
    asked = [
        Asked(each.id, "finding", points, worn.text(each.text), each.kind, plain(each.answer(found.case)), [each.proof(found.case)])
        for each, points in zip(findings, _shared_out(FINDINGS, len(findings)), strict=True)
    ]
    causes = random.sample(sorted(spec.CAUSES), len(spec.CAUSES))
    options = {letter: worn.text(spec.CAUSES[each].says) for letter, each in _lettered(causes)}
    (right,) = (letter for letter, each in _lettered(causes) if each == cause)
    asked.append(Asked("mechanism", "reasoning", MECHANISM, "Which of these explains what is seen?", "letter", right, [], options))
    shown = [list(proof.shown_by(found)) for proof in spec.CAUSES[cause].proofs]
    asked.append(
        Asked(
            "evidence",
            "reasoning",
            EVIDENCE,
            "What proves it? Give one to three frames of the capture, or lines of the other files: something for each thing that "
            "your explanation claims. What shows none of them counts against what does.",
            "places",
            [each[0] for each in shown],
            shown,
        )
    )
    return asked


def _change() -> Asked:
    text = (
        "Change the live stack so that it is well, and hand in what you changed: it is run and measured. Nothing is written here."
    )
    return Asked("fix", "fix", FIX, text, "change", "")


def _fix(spec: ModuleType, case: Case, cause: str, worn: Mask, random: Random) -> Asked:
    cures = spec.CURES[cause]
    if cures is None:
        there = [each for each in spec.CHANGES if each in case.lab.scenarios]
        cures = {each for each in there if oracle.recorded(case.lab.name, each).verdict == "green"}
    others = [each for each in spec.CHANGES if each not in cures]
    # What may be no cure here is one elsewhere: nothing is to be told from what there is to choose from.
    always = [each for each in others if each not in case.lab.scenarios]
    some = random.sample(sorted(cures), min(len(cures), random.randint(1, 2)))
    wrong = [each for each in others if each not in always]
    listed = some + always + random.sample(wrong, CHANGES - len(some) - len(always))
    random.shuffle(listed)
    return Asked(
        "fix",
        "fix",
        FIX,
        "Each of these changes is made alone, to the system as the evidence shows it. Which of them end what is complained of? "
        "Name all. Where nothing is wrong, choose the one that says so.",
        "letters",
        plain(frozenset(letter for letter, each in _lettered(listed) if each in some)),
        [],
        {letter: worn.text(spec.CHANGES[each]) for letter, each in _lettered(listed)},
    )


def _lettered(names: list[str]) -> list[tuple[str, str]]:
    return [(chr(ord("a") + number), name) for number, name in enumerate(names)]


def _shared_out(points: int, among: int) -> list[int]:
    """Whole points, as even as they go."""
    each, left = divmod(points, among)
    return [each + (number < left) for number in range(among)]
