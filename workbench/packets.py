"""From a capture file to a table with one row per TCP packet, by one tshark command that anyone can paste."""

import contextlib
import functools
import hashlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import pandas as pd

#: Column name and tshark field, in the order of the table.
FIELDS = {
    "frame": "frame.number",
    "time": "frame.time_epoch",
    "stream": "tcp.stream",
    "src": "ip.src",
    "dst": "ip.dst",
    "src6": "ipv6.src",
    "dst6": "ipv6.dst",
    "sport": "tcp.srcport",
    "dport": "tcp.dstport",
    "flags": "tcp.flags",
    "bytes": "tcp.len",
    "length": "frame.len",
    "captured": "frame.cap_len",
    "lost": "tcp.analysis.lost_segment",
    "acked_unseen": "tcp.analysis.ack_lost_segment",
    "record_types": "tls.record.content_type",
    "record_lengths": "tls.record.length",
    "messages": "tls.handshake.type",
    "version": "tls.handshake.version",
    "supported_versions": "tls.handshake.extensions.supported_version",
    "random": "tls.handshake.random",
    "session_id": "tls.handshake.session_id",
    "extensions": "tls.handshake.extension.type",
    "extension_lengths": "tls.handshake.extension.len",
    "cipher": "tls.handshake.ciphersuite",
    "alert": "tls.alert_message.desc",
}
_NUMBERS = {"frame": "int64", "time": "float64", "stream": "int64", "bytes": "int64", "length": "int64", "captured": "int64"}


class CaptureError(ValueError):
    """The file cannot be read as a capture of network packets."""


def tshark_command(capture: Path | str) -> list[str]:
    """The command that `table` runs.

    TLS is looked for on every port (heuristics before port numbers); application data is not put together, because a
    response without an end would swallow the alert behind it, nor is the HTTP in it read, because one that breaks off
    would swallow the alert in its packet; packets quoted inside ICMP errors are left out.
    """
    command = ["tshark", "-n", "-r", str(capture), "-Y", "tcp && !icmp && !icmpv6"]
    command += ["-o", "tcp.try_heuristic_first:TRUE", "-o", "tls.desegment_ssl_application_data:FALSE"]
    command += ["-o", "tcp.reassemble_out_of_order:TRUE", "--disable-protocol", "http", "--disable-protocol", "http2"]
    command += ["-T", "fields", "-E", "separator=/t", "-E", "occurrence=a", "-E", "aggregator=,"]
    for field in FIELDS.values():
        command += ["-e", field]
    return command


def pasteable(capture: Path | str) -> str:
    """The same command as one line for a shell."""
    return shlex.join(tshark_command(capture))


def table(capture: Path | str) -> pd.DataFrame:
    """One row per TCP packet, columns as in FIELDS: `time` in seconds since the epoch, `flags` as a number, `bytes` of
    payload, `length` and `captured` bytes of the frame, `lost` and `acked_unseen` not empty where packets before it are
    missing. TLS columns keep tshark's comma-separated lists, empty where a packet holds none.

    A capture cut in mid-packet gives the packets that are whole. Raises CaptureError for what is no capture.
    """
    path = Path(capture)
    return _kept(path, path.stat().st_mtime_ns if path.is_file() else 0).copy()


@functools.lru_cache(maxsize=2)
def _kept(path: Path, _changed: int) -> pd.DataFrame:
    """Who reads a capture's connections often wants its packets next. Where many processes read the same captures,
    `LAB_DECODED` names a folder in which each is kept decoded."""
    folder = os.environ.get("LAB_DECODED")
    if not folder or not (path.is_file() and os.access(path, os.R_OK)):
        return decoded(path)
    digest = hashlib.sha256(path.read_bytes() + shlex.join(FIELDS.values()).encode()).hexdigest()
    kept = Path(folder) / f"{digest}.pickle"
    if not kept.is_file():
        rows = decoded(path)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as partial:
            rows.to_pickle(partial)
        Path(partial.name).replace(kept)
    return pd.read_pickle(kept)


@contextlib.contextmanager
def each_decoded_once() -> Iterator[None]:
    """Until it is left, no capture is decoded twice: a lab's report draws what was judged before."""
    if os.environ.get("LAB_DECODED"):
        yield
        return
    with tempfile.TemporaryDirectory() as folder:
        os.environ["LAB_DECODED"] = folder
        try:
            yield
        finally:
            del os.environ["LAB_DECODED"]


def decoded(path: Path) -> pd.DataFrame:
    """As `table`, decoded anew."""
    if not path.is_file():
        raise CaptureError(f"{path}: no such file")
    try:
        empty = path.stat().st_size == 0
        path.open("rb").close()
    except OSError as error:
        raise CaptureError(f"{path}: cannot be read ({error.strerror})") from None
    if empty:
        raise CaptureError(f"{path}: the file is empty; was the capture stopped before it wrote?")
    with tempfile.TemporaryFile() as errors:
        # Parsed while tshark goes on writing.
        with subprocess.Popen(tshark_command(path), stdout=subprocess.PIPE, stderr=errors) as tshark:
            rows = pd.read_csv(
                tshark.stdout,
                sep="\t",
                header=None,
                names=list(FIELDS),
                dtype=object,
                na_filter=False,
                quoting=3,
                on_bad_lines="skip",
            )
        errors.seek(0)
        stderr = errors.read()
    if tshark.returncode != 0 and rows.empty and b"cut short" not in stderr:
        said = [line for line in stderr.decode(errors="replace").splitlines() if line.startswith("tshark: ")]
        reason = said[0].removeprefix("tshark: ") if said else f"tshark ended with {tshark.returncode}"
        raise CaptureError(f"{path}: not a capture that tshark can read ({reason})")
    if rows.empty:
        _require_network_packets(path)
    return _typed(rows)


def gaps(rows: pd.DataFrame) -> list[str]:
    """What is missing from a capture, as sentences: what is not there cannot be counted."""
    found = []
    short = int((rows["captured"] < rows["length"]).sum())
    if short:
        found.append(f"{short} packets were recorded in part (a snapshot length): TLS records in them may go unseen")
    lost = rows.loc[(rows["lost"] + rows["acked_unseen"]) != "", "stream"].nunique()
    if lost:
        found.append(f"packets are missing from {lost} connections: TLS records behind the gaps may go unseen")
    return found


def _require_network_packets(path: Path) -> None:
    """Nothing of TCP inside: is it traffic without TCP, or no traffic at all (tshark also opens pictures and logs)?"""
    # Without -c: it would end the search at the first packet, though a switch's LLDP may well come before the traffic.
    command = ["tshark", "-n", "-r", str(path), "-Y", "ip || ipv6 || arp", "-T", "fields", "-e", "frame.number"]
    if not subprocess.run(command, capture_output=True, check=False).stdout:
        raise CaptureError(f"{path}: there is no network packet in it")


def _typed(rows: pd.DataFrame) -> pd.DataFrame:
    # Inside a tunnel there are several addresses in one packet: the innermost carry the connection.
    for column in ("src", "dst", "src6", "dst6", "sport", "dport", "flags", "stream", "bytes"):
        rows[column] = _objects(value.rpartition(",")[2] for value in rows[column])
    for column in ("src", "dst"):
        rows[column] = _objects(four or six for four, six in zip(rows[column], rows[f"{column}6"], strict=True))
    rows["flags"] = pd.Series([int(flags, 16) for flags in rows["flags"]], dtype="int64")
    rows[["sport", "dport"]] = rows[["sport", "dport"]].astype("int64")
    return rows.drop(columns=["src6", "dst6"]).astype(_NUMBERS)


def _objects(values: Iterable[str]) -> pd.Series:
    """A column of plain strings: pandas' own type for text is many times slower to walk through."""
    return pd.Series(list(values), dtype=object)


def names(field: str) -> dict[int, str]:
    """What tshark calls the values of a TLS field, e.g. `tls.handshake.ciphersuite` (IANA's names)."""
    return _names_by_field()[field]


@functools.cache
def _names_by_field() -> dict[str, dict[int, str]]:
    found: dict[str, dict[int, str]] = {}
    # Line by line: the whole listing is 100 MB, and every notebook's kernel asks for it.
    with subprocess.Popen(["tshark", "-G", "values"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as tshark:
        for line in tshark.stdout:
            if line.startswith(b"V\ttls."):
                _, field, value, name = line.decode().rstrip("\n").split("\t", 3)
                found.setdefault(field, {})[int(value, 0)] = name
    if tshark.returncode != 0:
        raise subprocess.CalledProcessError(tshark.returncode, tshark.args)
    return found


def holding(rows: pd.DataFrame, kind: str, column: str = "messages") -> pd.Series:
    """Which packets hold a TLS message of that type, or by `record_types` a record; True or False for each."""
    return rows[column].str.split(",").map(lambda kinds: kind in kinds).astype(bool)
