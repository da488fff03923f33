"""What a candidate gets to look at: a recorded run under a mask, as whoever is on call would have it."""

import csv
import datetime
import io
import ipaddress
import math
import re
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pandas as pd

from workbench import recording, stack
from workbench.interviews import sessions, wire
from workbench.interviews.mask import EPHEMERAL, Mask, dotted
from workbench.lab import Lab
from workbench.recording import Run

CAPTURE, COUNTERS = "wire.pcapng", "counters.csv"
#: Days by which everything is moved back at most; what runs was built some months before it was recorded.
LONGEST_AGO = 120
#: From here on what counts since the epoch counts milliseconds.
MILLISECONDS = 1e11
#: Seconds of counters before and after the capture.
AROUND = 2
#: Where others' connections go to: no case's own ports.
OTHERS_PORTS = [5671, 6697, 8883, 9093, 9200]
#: Who is named in certificates, and in whose place.
OWNER, OWNERS = "incident-labs", ["platform-test", "staging-north", "internal-only"]
_COMMENT = re.compile(r"^\s*#.*\n|[ \t]+# .*$", re.MULTILINE)
_VARIABLE = re.compile(r'"?\$\{(\w+)(?:\[\*\])?\}"?')


@dataclass(frozen=True)
class Kept:
    """What of a run a candidate gets beside the capture, in a lab's own names."""

    #: Counters over time: by source of the metrics, which values.
    counters: dict[str, list[str]] = field(default_factory=dict)
    #: Files of the run, by the name that they get.
    logs: dict[str, str] = field(default_factory=dict)
    #: Configuration by the name that it gets: whose it is, where it lies in its container, and in the lab's folder where no
    #: scenario puts another in its place.
    config: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    #: Variables of services, which choose versions and options.
    variables: dict[str, list[str]] = field(default_factory=dict)
    #: Versions, by their names in lab.toml.
    versions: list[str] = field(default_factory=list)
    #: What the counters mean, in a sentence or two.
    says: str = ""
    #: Who takes part, by service and what it is.
    hosts: dict[str, str] = field(default_factory=dict)


def mask(run: Run, packets: list[wire.Packet], hosts: dict[str, list[str]], ports: dict[int, list[int]], random: Random) -> Mask:
    """Other names for everything in a run that has one. `hosts` and `ports` say what each may be called."""
    found = {dotted(address) for packet in packets for address in (packet.ip.src, packet.ip.dst)}
    addresses = _addresses(sorted(found | set(run.meta["addresses"].values()), key=ipaddress.IPv4Address), random)
    return Mask(
        random.randbytes(32),
        addresses,
        _distinct(ports, random),
        _distinct(hosts, random),
        {OWNER: random.choice(OWNERS)},
        {address: random.randrange(1, 1700) for address in addresses},
        -random.randrange(86400, LONGEST_AGO * 86400),
    )


def mask_beside(packets: list[wire.Packet], worn: Mask, random: Random) -> Mask:
    """A mask for others' packets, who are in the same network and are no part of the case."""
    network = next(iter(worn.addresses.values())).rpartition(".")[0]
    found = sorted({dotted(address) for packet in packets for address in (packet.ip.src, packet.ip.dst)})
    free = [f"{network}.{host}" for host in range(100, 255) if f"{network}.{host}" not in worn.addresses.values()]
    ports = sorted({packet.tcp.dport for packet in packets if packet.tcp.dport not in EPHEMERAL})
    return Mask(
        random.randbytes(32),
        dict(zip(found, random.sample(free, len(found)), strict=True)),
        dict(zip(ports, random.sample(OTHERS_PORTS, len(ports)), strict=True)),
        {},
        worn.words,
        {address: random.randrange(1, 1700) for address in found},
        worn.seconds,
    )


def _addresses(addresses: list[str], random: Random) -> dict[str, str]:
    """Each address in another network, with as many digits."""
    networks: dict[str, str] = {}
    taken, said = set(addresses), {}
    for address in addresses:
        network, _, host = address.rpartition(".")
        if network not in networks:
            _, second, third = network.split(".")
            networks[network] = f"10.{_digits(second, random)}.{_digits(third, random)}"
        while (other := f"{networks[network]}.{_digits(host, random)}") in taken:
            pass
        taken.add(other)
        said[address] = other
    return said


def _digits(number: str, random: Random) -> int:
    return random.randrange(*{1: (2, 10), 2: (10, 100), 3: (100, 255)}[len(number)])


def _distinct(pools: dict, random: Random) -> dict:
    said = {}
    for name, pool in pools.items():
        said[name] = random.choice([other for other in pool if other not in said.values()])
    return said


def write(lab: Lab, run: Run, packets: list[wire.Packet], worn: Mask, kept: Kept, folder: Path) -> None:
    """The evidence as files of a folder. `packets` wear the mask already."""
    folder.mkdir(parents=True)
    wire.write(packets, folder / CAPTURE)
    texts = {
        "hosts.txt": _hosts(run, kept),
        **{name: (run.folder / file).read_text() for name, file in kept.logs.items()},
        **_config(lab, run, kept),
    }
    for name, text in texts.items():
        (folder / name).write_text(worn.text(sessions.in_text(text, worn.key)))
    (folder / "versions.txt").write_text("".join(f"{name}: {run.meta['versions'][name]}\n" for name in kept.versions))
    if kept.counters:
        (folder / COUNTERS).write_text(worn.text(_counters(run, kept, _span(packets, worn))))


def _hosts(run: Run, kept: Kept) -> str:
    return "".join(f"{run.meta['addresses'][service]:<16} {service:<12} {says}\n" for service, says in kept.hosts.items())


def _span(packets: list[wire.Packet], worn: Mask) -> tuple[float, float]:
    """What of the run's time the capture covers, and a little more."""
    times = [worn.reverse().time(packet.time) for packet in packets]
    return min(times) - AROUND, max(times) + AROUND


def _counters(run: Run, kept: Kept, span: tuple[float, float]) -> str:
    """One line for each value: when (UTC), whose, which, and what it was."""
    rows = run.metrics[run.metrics["source"].isin(kept.counters)]
    rows = rows.assign(when=[_when(row) for _, row in rows.iterrows()])
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["time", "of", "counter", "value"])
    for _, row in rows[rows["when"].between(*span)].sort_values("when", kind="stable").iterrows():
        when = datetime.datetime.fromtimestamp(row["when"], datetime.UTC).isoformat(timespec="milliseconds")
        for counter in kept.counters[row["source"]]:
            if counter in row and row[counter] == row[counter]:
                table.writerow([when, row["source"].removeprefix("usage."), counter, _number(row[counter])])
    return text.getvalue()


def _when(row: pd.Series) -> float:
    """When something began, where that was noted (some clients count milliseconds), and not when it was told."""
    began = row.get("began", math.nan)
    return row["time"] if began != began else began / 1000 if began > MILLISECONDS else began


def _number(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _config(lab: Lab, run: Run, kept: Kept) -> dict[str, str]:
    """Files as their service reads them: without comments, and with the values of its variables."""
    services = stack.model(lab.name, run.meta["scenario"])["services"]
    texts = {}
    for name, (service, inside, file) in kept.config.items():
        mounted = [volume["source"] for volume in services[service].get("volumes", []) if volume["target"] == inside]
        text = Path(mounted[0] if mounted else lab.folder / file).read_text()
        variables = services[service].get("environment", {}) | run.meta["settings"]
        text = _VARIABLE.sub(lambda found, variables=variables: str(variables.get(found[1], found[0])), text)
        texts[name] = _COMMENT.sub("", text)
    if kept.variables:
        lines = [
            f"{service}: {name}={services[service]['environment'][name]}\n"
            for service, names in kept.variables.items()
            for name in names
        ]
        texts["variables.txt"] = "".join(lines)
    return texts


def restored(run: Run, packets: list[wire.Packet], worn: Mask, folder: Path) -> Run:
    """The run with the evidence's capture in place of its own, in the lab's own names: what its facts and questions are read
    from. Frames have the numbers that they have in the evidence. `packets` take the mask off."""
    folder.mkdir(parents=True)
    for path in run.folder.iterdir():
        if path.name != recording.CAPTURE:
            (folder / path.name).write_bytes(path.read_bytes())
    wire.undisguise(packets, worn)
    wire.write(packets, folder / recording.CAPTURE)
    return Run(folder)
