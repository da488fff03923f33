"""One run of a scenario as a folder: capture, metrics, logs, and run.json with what it was recorded on."""

import contextlib
import datetime
import hashlib
import json
import math
import os
import platform
import resource
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from workbench import console, stack
from workbench.lab import ROOT, Lab, Version
from workbench.stack import Setup, Stack, StackError

CAPTURE, METRICS, META = "wire.pcapng", "metrics.jsonl", "run.json"
#: A run is disturbed when others used more than this much CPU meanwhile, in cores on average.
DISTURBED_ABOVE = 0.3


@dataclass(frozen=True)
class Run:
    """A recorded run, fresh (runs/) or published (captures/): the same files, read by the same code."""

    folder: Path

    @cached_property
    def meta(self) -> dict:
        """run.json: lab, scenario, started, seconds, window (start and end of the recording, seconds since the epoch),
        versions, host, addresses (by service), settings, cpu_of_others (cores), disturbed, failure (None, or why the
        stack failed)."""
        return json.loads((self.folder / META).read_text())

    @property
    def capture(self) -> Path:
        return self.folder / CAPTURE

    @cached_property
    def metrics(self) -> pd.DataFrame:
        """One row per sample: `time` (seconds since the epoch), `source`, and whatever that source measures."""
        return _metrics(self.folder)

    def window(self) -> pd.DataFrame:
        """The metrics taken while the wire was recorded."""
        return self.metrics[self.metrics["time"].between(*self.meta["window"])]

    def log(self, service: str) -> str:
        """A service's log, empty where none was kept."""
        path = self.folder / f"{service}.log"
        return path.read_text() if path.is_file() else ""

    def phases(self) -> dict[str, float]:
        """When each phase of the drive began, by its name (seconds since the epoch), as Recorder.phase noted it."""
        rows = self.metrics[self.metrics["source"] == "phase"]
        return dict(zip(rows["name"], rows["time"], strict=True))

    def cpu_cores(self, service: str, begin: float = 0, end: float = math.inf) -> float | None:
        """CPU that a service used while the wire was recorded, or in a part of that time (seconds since the epoch), in cores
        on average; None where it was read less than twice."""
        rows = self.window()
        rows = rows[rows["time"].between(begin, end) & (rows["source"] == f"usage.{service}")]
        return rate(rows, "cpu_seconds") if len(rows) > 1 else None


class Recorder:
    """What a drive records with. Made by `record`, one for each run; `closely` asks for more than what decides."""

    def __init__(self, running: Stack, folder: Path, *, closely: bool = False) -> None:
        self.closely = closely
        self._stack = running
        self._folder = folder
        self._metrics = (folder / METRICS).open("a")
        self._lock = threading.Lock()
        #: CPU seconds of every container that was seen, by service: what one that is gone has used counts, too.
        self._used: dict[str, dict[str, float]] = {}
        self.window: tuple[float, float] | None = None
        self.packets: dict[str, int] = {}

    def note(self, source: str, **values: float | int | str | None) -> None:
        """Adds one sample to the metrics, with the time it was taken."""
        line = json.dumps({"time": time.time()} | {"source": source} | values)
        with self._lock:
            self._metrics.write(line + "\n")

    def phase(self, name: str) -> float:
        """Notes that a phase of the drive begins, and returns when (seconds since the epoch)."""
        now = time.time()
        self.note("phase", name=name, time=now)
        return now

    def keep(self, name: str, text: str) -> None:
        """Leaves a file in the run's folder; lab.toml's recording.files says which of them a recorded run keeps."""
        (self._folder / name).write_text(text)

    @contextlib.contextmanager
    def capture(self) -> Iterator[None]:
        """Records the wire at lab.toml's recording.at, and what each service and the host use, while the block runs."""
        self._stack.up("capture")
        self._wait_until_writing()
        stopped = threading.Event()
        sampler = threading.Thread(target=self._sample, args=(stopped,), daemon=True)
        began = time.time()
        self._sample_all()
        sampler.start()
        try:
            yield
        finally:
            stopped.set()
            sampler.join()
            self.window = (began, time.time())
            self._stack.stop("capture")
        raw = self._folder / "raw.pcap"
        self._stack.copy_out("capture", "/capture/wire.pcap", raw)
        self.packets = _tcpdump_counts(self._stack.logs("capture"))
        kept = int(_tool("capinfos", "-M", "-c", "-T", "-r", raw).split()[-1])
        if kept < self.packets["captured"]:
            raise StackError(f"capture: it outgrew its file: {kept} of {self.packets['captured']} packets are left; record less")

    def _wait_until_writing(self) -> None:
        deadline = time.monotonic() + 15 * console.PATIENCE
        while "listening on" not in self._stack.logs("capture"):
            if time.monotonic() > deadline:
                raise StackError("capture: tcpdump does not start: " + self._stack.logs("capture").strip()[-200:])
            time.sleep(0.1)

    def _sample(self, stopped: threading.Event) -> None:
        while not stopped.wait(2):
            self._sample_all()
        self._sample_all()

    def _sample_all(self) -> None:
        """The first and the last of these span all that happens in between. The engine reads all services at about the
        same time, up to a second later; the host is read then, too."""
        there = {}
        for service in [*self._stack.services, "capture"]:
            with contextlib.suppress(StackError):
                there[service] = self._stack.containers(service)
        every = [container for containers in there.values() for container in containers]
        with ThreadPoolExecutor(len(every)) as pool:
            used = dict(zip(every, pool.map(self._usage, every), strict=True))
        for service, containers in there.items():
            self._note_usage(service, {each: used[each] for each in containers if used[each]})
        self.note("host", busy_seconds=_host_busy_seconds(), own_seconds=_own_seconds())

    def _usage(self, container: str) -> dict[str, float] | None:
        with contextlib.suppress(StackError):
            return self._stack.usage(container)
        return None

    def _note_usage(self, service: str, used: dict[str, dict[str, float]]) -> None:
        if not used:
            return
        known = self._used.setdefault(service, {})
        known.update({container: each["cpu_seconds"] for container, each in used.items()})
        self.note(
            f"usage.{service}",
            time=max(each["time"] for each in used.values()),
            cpu_seconds=sum(known.values()),
            memory_bytes=sum(each["memory_bytes"] for each in used.values()),
        )

    def close(self) -> None:
        self._metrics.close()


def record(setup: Setup, settings: dict[str, str], folder: Path, *, closely: bool = False) -> Run:
    """Runs a setup once, from up to down, and leaves its folder. A stack that fails is a run with a `failure`. `closely`
    asks the drive for more than what decides."""
    lab = setup.lab
    module = lab.part("lab")
    folder.mkdir(parents=True, exist_ok=False)
    meta = {
        "lab": lab.name,
        "scenario": setup.name,
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "failure": None,
        "versions": {},
        "window": None,
    }
    began = time.monotonic()
    recorder = None
    try:
        without = [] if closely else lab.recording.closely
        with stack.running(setup, settings, folder, without=without) as running:
            meta["host"] = _host(running)
            meta["addresses"] = {service: own[0] for service in running.started() if (own := running.addresses(service))}
            recorder = Recorder(running, folder, closely=closely)
            try:
                with console.step("driving and recording"):
                    module.drive(running, recorder)
                meta["versions"] = _versions(lab, running)
                meta["bases"] = {service: running.image_source(service) for service in running.started()}
            finally:
                recorder.close()
                _collect(lab, running, folder)
    except StackError as error:
        meta["failure"] = str(error)
    if recorder is not None and recorder.window is not None and meta["failure"] is None:
        meta["window"] = recorder.window
        meta["packets"] = recorder.packets
        _to_pcapng(setup, folder)
    meta["settings"] = dict(settings)
    meta["seconds"] = round(time.monotonic() - began, 1)
    if meta["window"] is not None:
        meta["cpu_of_others"] = round(_cpu_of_others(folder, recorder.window), 2)
    meta["disturbed"] = meta.get("cpu_of_others", 0) > DISTURBED_ABOVE
    (folder / META).write_text(json.dumps(meta, indent=1) + "\n")
    return Run(folder)


def trim(run: Run, lab: Lab, target: Path) -> Run:
    """Copies a run to `target` with the packets and log lines that lab.toml keeps, and the SHA-256 of each file."""
    target.mkdir(parents=True)
    # Braces are tshark's too (`tcp.port in {1, 2}`): only names of services are filled in.
    keep = lab.recording.keep
    filled = dict(run.meta["addresses"])
    for _, noted in run.metrics[run.metrics["source"] == "keep"].drop(columns=["time", "source"]).iterrows():
        filled |= {name: f"{value:.3f}".rstrip("0").rstrip(".") for name, value in noted.dropna().items()}
    for name, value in filled.items():
        keep = keep.replace(f"{{{name}}}", value)
    _tool("tshark", "-n", "-r", run.capture, "-Y", keep, "-w", target / CAPTURE)
    (target / METRICS).write_text((run.folder / METRICS).read_text())
    for name in lab.recording.files:
        # A run that was not looked at closely leaves fewer of them.
        if (run.folder / name).is_file():
            (target / name).write_text((run.folder / name).read_text())
    for service, kept in lab.recording.logs.items():
        lines = [line for line in run.log(service).splitlines() if any(text in line for text in kept)]
        (target / f"{service}.log").write_text("\n".join(lines[:400]) + "\n")
    files = sorted(path for path in target.iterdir())
    digests = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    meta = run.meta | {"kept": keep, "sha256": digests}
    (target / META).write_text(json.dumps(meta, indent=1) + "\n")
    return Run(target)


def published(lab: str, scenario: str) -> Run:
    """The recorded run of a scenario. `LAB_RUNS` names another folder of runs to read in its place."""
    folder = Path(os.environ.get("LAB_RUNS", ROOT / "captures")) / lab / scenario
    if not (folder / META).is_file():
        latest = sorted(path.parent for path in folder.glob(f"*/{META}"))
        if not latest:
            raise FileNotFoundError(f"{folder}: no recorded run; `make record LAB={lab}` makes one")
        folder = latest[-1]
    return Run(folder)


def available(lab: Lab) -> dict[str, Run]:
    """The recorded runs of a lab's scenarios, by name and in the order of lab.toml; at least the story's."""
    found = {}
    for scenario in lab.scenarios:
        try:
            found[scenario] = published(lab.name, scenario)
        except FileNotFoundError:
            if scenario in lab.story():
                raise
    return found


def _collect(lab: Lab, running: Stack, folder: Path) -> None:
    """Logs of every service, and the TLS secrets where a part writes them. What has died gives what it has."""
    for service in running.services:
        with contextlib.suppress(StackError):
            (folder / f"{service}.log").write_text(running.logs(service))
    if lab.recording.secrets:
        service, _, path = lab.recording.secrets.partition(":")
        with contextlib.suppress(StackError):
            (folder / "secrets.log").write_text(running.exec(service, ["cat", path]))


def _to_pcapng(setup: Setup, folder: Path) -> None:
    raw, secrets = folder / "raw.pcap", folder / "secrets.log"
    options = ["--capture-comment", f"incident-labs, case {setup.lab.case}, {setup.name}"]
    if secrets.is_file():
        # Only the sessions of this capture: the warm-up's secrets open nothing here.
        seen = _tool("tshark", "-n", "-r", raw, "-o", "tcp.try_heuristic_first:TRUE", "-Y", "tls.handshake.type in {1,2}",
                     "-T", "fields", "-e", "tls.handshake.random", "-e", "tls.handshake.session_id").split()  # fmt: skip
        wanted = {value.lower() for values in seen for value in values.split(",")}
        lines = secrets.read_text().splitlines()
        kept = [line for line in lines if any(word.lower().rpartition(":")[2] in wanted for word in line.split()[1:2])]
        secrets.write_text("\n".join(kept) + "\n")
        if kept:
            options += ["--inject-secrets", f"tls,{secrets}"]
    _tool("editcap", *options, raw, folder / CAPTURE)
    raw.unlink()


def _tool(*command: object) -> str:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()[-300:]}")
    return done.stdout


def _versions(lab: Lab, running: Stack) -> dict[str, str]:
    def ask(version: Version) -> str:
        said = running.exec(version.service, version.command).strip().splitlines()
        # Some runtimes tell first of options that they were given.
        told = [line for line in said if not line.startswith("Picked up ")]
        if not told:
            raise StackError(f"lab.toml, versions: {' '.join(version.command)} prints nothing to stdout in {version.service}")
        return told[0]

    with ThreadPoolExecutor() as pool:
        return dict(zip(lab.versions, pool.map(ask, lab.versions.values()), strict=True))


def _host(running: Stack) -> dict:
    info = running.engine()
    return {
        "kernel": platform.release(),
        "machine": platform.machine(),
        "cpus": info["NCPU"],
        "cpu_model": _cpu_model(),
        "memory_gib": round(info["MemTotal"] / 2**30, 1),
        "engine": info["ServerVersion"],
        "engine_os": info["OperatingSystem"],
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _host_busy_seconds() -> float:
    """Seconds of CPU that anything has used on this host; what a hypervisor took away counts too."""
    user, nice, system, _idle, _iowait, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _metrics(folder: Path) -> pd.DataFrame:
    return pd.DataFrame([json.loads(line) for line in (folder / METRICS).read_text().splitlines()])


def _cpu_of_others(folder: Path, window: tuple[float, float]) -> float:
    """Cores used meanwhile by anything but the stack and the workbench (the engine's own work counts as others)."""
    rows = _metrics(folder)
    rows = rows[rows["time"].between(*window)]
    host = rows[rows["source"] == "host"]
    services = [source.removeprefix("usage.") for source in rows["source"].unique() if source.startswith("usage.")]
    ours = rate(host, "own_seconds") + sum(_cores(rows, service) for service in services)
    return max(0.0, rate(host, "busy_seconds") - ours)


def _cores(rows: pd.DataFrame, service: str) -> float:
    return rate(rows[rows["source"] == f"usage.{service}"], "cpu_seconds")


def rate(rows: pd.DataFrame, counter: str) -> float:
    """What a counter gained per second between the first and the last of the rows."""
    first, last = rows.iloc[0], rows.iloc[-1]
    return float((last[counter] - first[counter]) / (last["time"] - first["time"]))


def _tcpdump_counts(log: str) -> dict[str, int]:
    """tcpdump's closing words: packets captured, and dropped by the kernel."""
    counts = {}
    for line in log.splitlines():
        number, _, what = line.partition(" packets ")
        if number.isdigit():
            counts[what.split()[0]] = int(number)
    return counts
