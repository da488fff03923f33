"""A lab: the folder labs/<lab>/, its lab.toml as a typed model, and its lab.py."""

import importlib.util
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

ROOT = Path(__file__).resolve().parent.parent

Verdict = Literal["green", "red", "failed", "undecided"]
Kind = Literal["broken", "fix", "wrong_fix", "exhibit"]
Sentence = Annotated[str, Field(min_length=3)]


class LabError(ValueError):
    """lab.toml or the lab's folder is wrong: one line with file, key and reason."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Edit(_Strict):
    """A change made by hand: the first `old` in a file of the learner's copy becomes `new`."""

    file: str
    old: str = Field(min_length=1)
    new: str


class Scenario(_Strict):
    """One small overlay on the broken stack, scenarios/<name>.yaml (the broken stack itself has none)."""

    kind: Kind
    expected: Verdict
    says: Sentence
    story: bool = False
    #: What the kernel has to have for it, as a path: not every one does.
    needs: str | None = Field(default=None, pattern="^/proc/sys/")
    #: How this scenario is helped beyond real parts, where it is.
    help: str | None = None
    #: The same, as a learner writes it into his copy.
    by_hand: list[Edit] = []

    @model_validator(mode="after")
    def _expected_fits_the_kind(self) -> "Scenario":
        allowed = {"broken": ["red"], "fix": ["green"], "wrong_fix": ["red", "failed"]}
        if self.kind in allowed and self.expected not in allowed[self.kind]:
            raise ValueError(f"a {self.kind} is expected {' or '.join(allowed[self.kind])}, not {self.expected}")
        return self


class Bound(_Strict):
    """A bound on one fact. Its name is a sentence that can be false."""

    fact: str
    min: float | None = None
    max: float | None = None

    @model_validator(mode="after")
    def _has_a_bound(self) -> "Bound":
        if self.min is None and self.max is None:
            raise ValueError("needs min, max or both: what has no bound cannot fail")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is above max {self.max}")
        return self


class Oracle(Bound):
    """What a run is judged by."""

    #: The fact that counts the samples, and how many are enough to judge.
    samples: str
    at_least: float = Field(gt=0)
    #: What a value out of bounds means: the incident (red), or that something else is broken (failed).
    otherwise: Literal["red", "failed"] = "red"
    #: The scenarios that have it to themselves, and no other oracle; those that are named nowhere have all the others.
    of: list[str] = []


class Claim(_Strict):
    """A figure or technical claim of the article, and what became of it here."""

    says: Sentence
    #: The article's figure, as published; None for a claim without one.
    figure: str | None = None
    status: Literal["reproduced", "reduced", "not reproduced", "wrong"]
    why: Sentence
    #: Where our figure comes from: a fact of a recorded scenario, and how to print it (a format specification).
    scenario: str | None = None
    fact: str | None = None
    unit: str = ""
    format: str = "g"

    @model_validator(mode="after")
    def _fact_needs_a_scenario(self) -> "Claim":
        if (self.fact is None) != (self.scenario is None):
            raise ValueError("fact and scenario belong together")
        return self


class Column(_Strict):
    """A fact shown in the tables of the command, the README and the report."""

    title: str
    fact: str
    format: str = "g"
    #: The article's figure for it, by scenario.
    article: dict[str, str] = {}


class Version(_Strict):
    """How to ask a running service what it really is."""

    service: str
    command: list[str] = Field(min_length=1)


class Recording(_Strict):
    #: The service in whose network the wire is recorded.
    at: str
    #: What of it, as a filter of tcpdump's.
    filter: str = "tcp"
    #: tshark display filter of the packets that a recorded run keeps; {service} stands for that service's address, any
    #: other name for what a drive noted by it under the source `keep` (a number).
    keep: str
    #: Container logs worth keeping, and the text that a kept line contains.
    logs: dict[str, list[str]] = {}
    #: Files that a drive leaves in the run's folder beside its metrics, and that a recorded run keeps.
    files: list[str] = []
    #: Services that only a closer look needs: nothing asks them when a run is to measure what decides and no more.
    closely: list[str] = []
    #: File inside a service to which it writes TLS secrets (NSS key log), as service:path.
    secrets: str | None = None


class Axis(_Strict):
    """One side of a matrix."""

    title: Sentence
    #: By label: the scenario whose overlay makes it, an overlay that is no scenario (a path in the lab's folder), or variables of
    #: the axis's services.
    values: dict[str, str | dict[str, str]] = Field(min_length=2)
    services: list[str] = []

    @model_validator(mode="after")
    def _variables_need_services(self) -> "Axis":
        if not self.services and any(isinstance(value, dict) for value in self.values.values()):
            raise ValueError("services: missing; whose variables are these?")
        return self


class Matrix(_Strict):
    """Two things that vary, each with each: who is affected?"""

    says: Sentence
    rows: Axis
    columns: Axis


class Guard(Bound):
    """What a learner's version must leave as it is."""

    #: Why a version beyond the bound is refused.
    refusal: Sentence


class Cheat(_Strict):
    """A change that hides the incident in place of curing it, and the guard that refuses it; None where what
    compose.yaml may change is enough to refuse it."""

    by_hand: list[Edit] = Field(min_length=1)
    guard: str | None = None


class Learner(_Strict):
    """What a learner gets, and what his version is held to."""

    #: Files that are copied for him to edit; compose.yaml is one of them.
    copies: list[str] = Field(min_length=1)
    #: Compose variables of the stack that stands while he looks around.
    settings: dict[str, str] = {}
    #: Variables of services that are not his to change, as service.VARIABLE. The others are, and nothing else.
    fixed: list[str] = []
    guards: dict[str, Guard] = Field(min_length=1)
    cheats: dict[str, Cheat] = Field(min_length=1)

    @model_validator(mode="after")
    def _parts_fit(self) -> "Learner":
        if "compose.yaml" not in self.copies:
            raise ValueError("copies: compose.yaml is missing")
        for name, cheat in self.cheats.items():
            if cheat.guard is not None and cheat.guard not in self.guards:
                raise ValueError(f"cheats.{name}.guard: there is no guard {cheat.guard}")
        return self


class Lab(_Strict):
    """lab.toml. `name` and `folder` come from where it lies."""

    name: str
    folder: Path
    case: int = Field(gt=0)
    title: Sentence
    article: Sentence
    grade: Literal["E1", "E1-reduced", "E2"]
    helps: list[Sentence] = []
    #: Services that other services' traffic passes through: they may set rules for it in a network of their own.
    routers: list[str] = []
    #: What one scenario takes warm, in seconds, where what decides is all that is measured.
    seconds: int = Field(gt=0)
    versions: dict[str, Version] = Field(min_length=1)
    recording: Recording
    scenarios: dict[str, Scenario]
    oracles: dict[str, Oracle] = Field(min_length=1)
    columns: list[Column] = Field(min_length=1)
    claims: dict[str, Claim] = Field(min_length=1)
    learner: Learner
    matrices: dict[str, Matrix] = {}

    @model_validator(mode="after")
    def _parts_fit(self) -> "Lab":
        for name, scenario in self.scenarios.items():
            if scenario.kind != "exhibit" and (scenario.kind == "broken") == bool(scenario.by_hand):
                raise ValueError(f"scenarios.{name}.by_hand: every fix, right or wrong, says how a learner writes it")
        broken = [name for name, scenario in self.scenarios.items() if scenario.kind == "broken"]
        if broken != ["broken"]:
            raise ValueError("scenarios: exactly one is of kind broken, and it is named broken")
        for name, oracle in self.oracles.items():
            for scenario in oracle.of:
                if scenario not in self.scenarios:
                    raise ValueError(f"oracles.{name}.of: there is no scenario {scenario}")
        for name, claim in self.claims.items():
            if claim.scenario is not None and claim.scenario not in self.scenarios:
                raise ValueError(f"claims.{name}.scenario: there is no scenario {claim.scenario}")
        for name, matrix in self.matrices.items():
            for value in (*matrix.rows.values.values(), *matrix.columns.values.values()):
                if isinstance(value, str) and value not in self.scenarios and not (self.folder / value).is_file():
                    raise ValueError(f"matrices.{name}: there is no scenario {value}, nor a file of that name")
        for column in self.columns:
            for scenario in column.article:
                if scenario not in self.scenarios:
                    raise ValueError(f"columns.{column.title}.article: there is no scenario {scenario}")
        return self

    def story(self) -> list[str]:
        return [name for name, scenario in self.scenarios.items() if scenario.story]

    def overlay(self, name: str) -> Path | None:
        """The compose overlay of a scenario, or of a matrix's own, which is given by its path; None for the broken stack."""
        if name == "broken":
            return None
        return self.folder / (f"scenarios/{name}.yaml" if name in self.scenarios else name)

    def oracles_of(self, scenario: str) -> dict[str, Oracle]:
        """What a scenario is judged by, or a learner's version, which is no scenario."""
        own = {name: oracle for name, oracle in self.oracles.items() if scenario in oracle.of}
        return own or {name: oracle for name, oracle in self.oracles.items() if not oracle.of}

    def deciding(self) -> list[Column]:
        """The columns whose facts decide whether the incident is there."""
        facts = {oracle.fact for oracle in self.oracles_of("broken").values() if oracle.otherwise == "red"}
        return [column for column in self.columns if column.fact in facts]

    def part(self, name: str) -> ModuleType:
        """One of the lab's own Python files: `lab` (drive and facts), `questions`, or what its notebook needs. Raises
        LabError."""
        path = self.folder / f"{name}.py"
        spec = importlib.util.spec_from_file_location(f"labs.{self.name}.{name}", path)
        if spec is None or spec.loader is None or not path.is_file():
            raise LabError(f"{_shown(path)}: missing")
        module = importlib.util.module_from_spec(spec)
        # What dataclasses ask for, and pickles.
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module


def sections(page: Path, *wanted: str) -> dict[str, str]:
    """The parts of a page of Markdown, by their headings of the second order. Raises LabError where a wanted one is missing."""
    found = re.findall(r"^## ([^\n]+)\n\n(.*?)(?=\n## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    parts = {heading: text.strip() for heading, text in found}
    if missing := [heading for heading in wanted if heading not in parts]:
        raise LabError(f"{page.relative_to(ROOT)}: the part {missing[0]!r} is missing")
    return parts


def _folders() -> list[str]:
    return sorted(path.parent.name for path in (ROOT / "labs").glob("*/lab.toml"))


def names() -> list[str]:
    """Every lab, in the order of its case number."""
    return sorted(_folders(), key=lambda name: load(name).case)


def load(name: str) -> Lab:
    """Reads the lab.toml of a lab, given by its name or by its case number. Raises LabError."""
    if name.isdigit():
        cases = {load(known).case: known for known in _folders()}
        if int(name) not in cases:
            raise LabError(f"there is no case {name}; there is: {', '.join(map(str, sorted(cases)))}")
        name = cases[int(name)]
    folder = ROOT / "labs" / name
    path = folder / "lab.toml"
    if name not in _folders():
        raise LabError(f"there is no lab {name!r}; there is: {', '.join(_folders())}")
    try:
        data = tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LabError(f"{_shown(path)}: not valid TOML: {error}") from None
    try:
        return Lab(name=name, folder=folder, **data)
    except TypeError:
        raise LabError(f"{_shown(path)}: name and folder come from the path, not from a key") from None
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the whole"
        reason = first["msg"].removeprefix("Value error, ")
        more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
        raise LabError(f"{_shown(path)}: {key}: {reason}{more}") from None


def select(lab: Lab, scenario: str) -> list[str]:
    """The scenarios that SCENARIO names: `story`, `all` (but what this kernel has not what it takes for), or one by name.
    Raises LabError."""
    if scenario == "story":
        return lab.story()
    if scenario == "all":
        return [name for name in lab.scenarios if not _missing(lab, name)]
    if scenario not in lab.scenarios:
        raise LabError(f"{lab.name} has no scenario {scenario!r}; it has: {', '.join(lab.scenarios)}")
    if missing := _missing(lab, scenario):
        raise LabError(f"{scenario}: it needs {missing}, which this kernel does not have; `make replay` judges its recorded run")
    return [scenario]


def left_out(lab: Lab) -> list[str]:
    """What `all` leaves out on this machine, as sentences."""
    return [f"{name}: left out, this kernel has no {missing}" for name in lab.scenarios if (missing := _missing(lab, name))]


def _missing(lab: Lab, scenario: str) -> str | None:
    needs = lab.scenarios[scenario].needs
    return needs if needs and not Path(needs).exists() else None


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
