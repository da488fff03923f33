"""The benchmark: how fast captures are decoded, what stacks and images take. Times of whole runs: compose/bench.sh."""

import asyncio
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyshark

from workbench import connections, gate, lab, ledger, packets, recording

ROUNDS = 9


def decoding(capture: Path) -> dict[str, float]:
    """Packets per second: plain tshark with the very fields that the workbench asks for, the workbench up to its table
    of connections, and pyshark reading the same fields of TLS and TCP. Medians of ROUNDS, pyshark's of one."""
    command = packets.tshark_command(capture)
    number = len(packets.table(capture))
    # By turns, so that whatever else the machine does falls on both.
    rounds = [
        (
            _seconds(lambda: subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)),
            _seconds(lambda: connections.from_packets(packets.decoded(capture))),
        )
        for _ in range(ROUNDS)
    ]
    plain, ours = map(statistics.median, zip(*rounds, strict=True))
    slow = _seconds(lambda: _with_pyshark(capture))
    return {"packets": number, "tshark": number / plain, "workbench": number / ours, "pyshark": number / slow}


def _with_pyshark(capture: Path) -> None:
    asyncio.set_event_loop(asyncio.new_event_loop())
    with pyshark.FileCapture(str(capture), display_filter="tcp", keep_packets=False) as found:
        for packet in found:
            _ = packet.tcp.stream, packet.tcp.flags, getattr(packet, "tls", None)


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def peak_memory(run: recording.Run) -> dict[str, float]:
    """MiB that each service of a run had in use at most while the wire was recorded."""
    usage = run.metrics[run.metrics["source"].str.startswith("usage.")]
    peaks = usage.groupby("source")["memory_bytes"].max() / 2**20
    return {source.removeprefix("usage."): float(peak) for source, peak in peaks.items()}


def page(measured: dict, name: str, run: recording.Run) -> str:
    """docs/benchmark.md. `measured` is what compose/bench.sh took: `times` in seconds by phase, cold and warm, and the size of
    all `images` of a cold machine, shared layers counted once (empty where there was none); `name` the lab, or all; `run` what is
    decoded, and says what machine it was."""
    lines = ["# The benchmark", "", f"Written by `make bench LAB={name}`. The machine: {ledger.machine(run.meta['host'])}.", ""]
    for state, phases in measured["times"].items():
        lines += [f"## `make run LAB={name}`, {state}", "", "| phase | seconds |", "|---|---|"]
        lines += [f"| {phase} | {seconds} |" for phase, seconds in phases.items()]
        lines += [f"| **together** | {sum(phases.values())} |", ""]
    rate = decoding(run.capture)
    lines += [
        "## Decoding",
        "",
        f"A capture of {rate['packets']} packets (`{run.folder.parent.parent.name}`, broken), up to a table of connections; pyshark"
        " makes no table.",
        "",
    ]
    lines += ["| reader | packets/s | of plain tshark |", "|---|---|---|"]
    readers = ("tshark", "workbench", "pyshark")
    lines += [f"| {reader} | {rate[reader]:.0f} | {rate[reader] / rate['tshark']:.2f} |" for reader in readers]
    lines += ["", "## Memory", "", "Peaks of the recorded broken runs.", "", "| case | MiB | of which |", "|---|---|---|"]
    for chosen in map(lab.load, lab.names()):
        peaks = peak_memory(recording.published(chosen.name, "broken"))
        each = ", ".join(f"{service} {peak:.0f}" for service, peak in peaks.items())
        lines.append(f"| {chosen.case} | {sum(peaks.values()):.0f} | {each} |")
    if measured["images"]:
        lines += ["", "## Images", "", f"All that a cold machine makes, shared layers counted once: {measured['images']}."]
    return "\n".join(lines) + "\n"


def latest(name: str) -> recording.Run:
    """The latest broken run here: whole, so larger than a published one."""
    found = sorted((gate.RUNS / name / "broken").glob(f"*/{recording.CAPTURE}"))
    if not found:
        raise FileNotFoundError(f"runs/{name}/broken: no run to decode; make run LAB={name} makes one")
    return recording.Run(found[-1].parent)
