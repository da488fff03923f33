"""The two archives of an interview: what the candidate gets, and what the interviewer keeps."""

import dataclasses
import io
import json
import zipfile

from workbench.interviews import live, sheet
from workbench.interviews.making import EVIDENCE, FINDINGS, FIX, MECHANISM, Interview
from workbench.interviews.sheet import Asked
from workbench.lab import LabError, sections

CANDIDATE, INTERVIEWER, KEY, SHEET = "candidate.zip", "interviewer.zip", "key.json", "answers.toml"
#: Headings of a lab's INTERVIEW.md.
SITUATION, LIVE, HEADINGS = "Situation", "Live", ("For whom", "Time", "Good paths", "Weak paths", "Follow-ups")
#: What each file of the evidence is.
_FILES = {
    "wire.pcapng": "recorded where the situation says",
    "hosts.txt": "who takes part, and at which address",
    "versions.txt": "what runs",
    "variables.txt": "options that services are started with",
    "counters.csv": "counters over time (UTC); `cpu_seconds` and counts add up from each service's start",
}


def parts_of(made: Interview) -> dict[str, str]:
    """The parts of a lab's INTERVIEW.md, by heading. Raises LabError where one is missing."""
    return sections(made.lab.folder / "INTERVIEW.md", SITUATION, *HEADINGS)


def candidate(made: Interview) -> bytes:
    """What the candidate gets: the situation, the evidence and the sheet."""
    evidence = {f"evidence/{path.name}": path.read_bytes() for path in (made.folder / "evidence").iterdir()}
    listed = "\n".join(f"- `{name}`: {_is(name.partition('/')[2])}" for name in sorted(evidence))
    page = f"""# Interview {made.code}

{made.mask.text(parts_of(made)[SITUATION])}

## What there is

{listed}

{made.mask.text(made.lab.part("interview").KEPT.says)} The recording has most of the connections of its
time, not all. Whoever is not in `hosts.txt`, nor in a group that is named there, uses the same network and is no part of this.

## What to do

Find out what goes on, and answer the questions of `{SHEET}` in that file. Any tool will do; Wireshark and a text editor are
enough. Nothing has to be guessed: whatever is asked for is in the evidence, and the evidence may also say that all is well.
{_live_part(made) if made.live else f"Then hand in `{SHEET}`."}
"""
    stack = live.files(made.lab, made.lab.part("interview").LIVE) if made.live else {}
    return _zipped({"README.md": page.encode(), SHEET: sheet.write(made.code, made.asked).encode(), **evidence, **stack})


def _is(name: str) -> str:
    """What a file of the evidence is."""
    return _FILES.get(name) or ("lines of its log" if name.endswith(".log") else "as it is on the host")


def _live_part(made: Interview) -> str:
    """About the stack that goes with the evidence; its names and addresses are its own."""
    copies = " and ".join(f"`{live.FOLDER}/{name}`" for name in made.lab.learner.copies)
    return f"""
## The system itself

`{live.FOLDER}/` is the same system, small enough for a machine with Docker: `make -C {live.FOLDER} up` brings it up, and applies
what you changed; `make -C {live.FOLDER} down` ends it. Its names, ports and addresses are its own.

{parts_of(made)[LIVE]}

Only {copies} may be changed. `make -C {live.FOLDER} hand-in` puts them and `{SHEET}` into `handed-in.tar.gz`: hand in that.
"""


def interviewer(made: Interview, whom: str) -> bytes:
    """What the interviewer keeps: the key, and how to go through the interview."""
    return _zipped({"README.md": _guide(made, whom).encode(), KEY: _key(made, whom).encode()})


def _key(made: Interview, whom: str) -> str:
    entry = {"interview": made.code, "for": whom, "lab": made.lab.name, "seed": made.seed, "live": made.live, "origin": made.origin}
    return json.dumps(entry | {"cause": made.cause, "asked": [dataclasses.asdict(each) for each in made.asked]}, indent=1) + "\n"


def read_key(archive: bytes) -> tuple[dict, list[Asked]]:
    """The key in an interviewer's archive. Raises LabError where there is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            entry = json.loads(file.read(KEY))
        return entry, [Asked(**each) for each in entry["asked"]]
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise LabError(f"not an interviewer's archive ({error})") from None


def _guide(made: Interview, whom: str) -> str:
    parts, again = parts_of(made), " LIVE=yes" if made.live else ""
    is_incident = made.cause == made.lab.part("interview").INCIDENT
    rows = "\n".join(
        f"| {number} | {each.id} | {each.points} | {each.right} | {_shown(each)} |" for number, each in enumerate(made.asked, 1)
    )
    names = "\n".join(f"| {name} | {said} |" for name, said in sorted((made.mask.addresses | made.mask.hosts).items()))
    ports = "\n".join(f"| port {port} | {said} |" for port, said in sorted(made.mask.ports.items()))
    fix = "changes after which it is well, by recorded runs; each wrong one takes away what a right one gives"
    if made.live:
        fix = "what was changed, measured by the `make check` that grading names: all of the points where the incident is gone"
    told = "\n\n".join(f"## {heading}\n\n{parts[heading]}" for heading in HEADINGS)
    return f"""# Interview {made.code}, for {whom}: not for the candidate

Case {made.lab.case}, `{made.lab.name}`: {made.lab.title}.
{"The evidence shows the incident" if is_incident else "A look-alike: the evidence does not show the incident"}, made from the
recorded run `{made.origin}` with the seed `{made.seed}`;
`make interview FOR="{whom}" LAB={made.lab.name} SEED={made.seed}{again} OUT=again` makes it again.

{made.lab.part("interview").CAUSES[made.cause].says}

## Answers

`make grade ANSWERS={"handed-in.tar.gz" if made.live else "answers.toml"}` counts the points.

| question | | points | right | what shows it |
|---|---|---|---|---|
{rows}

## Rubric

| | points | what counts |
|---|---|---|
| finding | {FINDINGS} | facts that are in the evidence |
| reasoning | {MECHANISM + EVIDENCE} | the mechanism ({MECHANISM}) and what proves it ({EVIDENCE}), less for what proves nothing |
| fix | {FIX} | {fix} |
| speed | | yours to weigh; the time below is what the sheet should take |

{told}

## Names

| in the lab | here |
|---|---|
{names}
{ports}
"""


def _shown(asked: Asked) -> str:
    words = []
    for places in asked.shown:
        if places:
            more = f" and {len(places) - 8} more" if len(places) > 8 else ""
            words.append(", ".join(map(str, places[:8])) + more)
    return "; ".join(words) or "–"


def _zipped(files: dict[str, bytes]) -> bytes:
    """The same bytes for the same files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in sorted(files.items()):
            entry = zipfile.ZipInfo(name)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    return target.getvalue()
