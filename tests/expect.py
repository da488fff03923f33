"""What workbench.connections has to say of traffic whose counts are known."""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
from traffic import Packet

from workbench import connections

ECDSA_AES256 = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
AES256 = "TLS_AES_256_GCM_SHA384"
CIPHERS = {"TLSv1.2": ECDSA_AES256, "TLSv1.3": AES256}

NOTHING = {
    "tcp_connections": 0,
    "tls_connections": 0,
    "full_handshakes": 0,
    "resumed_handshakes": 0,
    "unfinished_handshakes": 0,
    "hello_retry_requests": 0,
    "client_alerts": 0,
    "server_alerts": 0,
    "client_resets": 0,
    "server_resets": 0,
    "syns": 0,
    "syn_retransmissions": 0,
    "tls_versions": {},
    "ciphers": {},
}


def tcp(number: int = 1, **counts) -> dict:
    """The facts of so many TCP connections without TLS, but for the counts given."""
    return NOTHING | {"tcp_connections": number, "syns": number} | counts


def tls(number: int = 1, version: str | None = None, **counts) -> dict:
    """The facts of so many TLS connections; those of a version have its usual cipher."""
    if version:
        counts = {"tls_versions": {version: number}, "ciphers": {CIPHERS[version]: number}} | counts
    return tcp(number, tls_connections=number, **counts)


def facts(capture: Path) -> dict:
    return connections.facts(connections.table(capture))


def alerts(table: pd.DataFrame) -> list[tuple[str | None, str | None]]:
    """The alerts of client and server of each connection."""
    sides = [[None if pd.isna(name) else name for name in table[f"{side}_alert"]] for side in ("client", "server")]
    return list(zip(*sides, strict=True))


def together(parts: list[dict]) -> dict:
    """The facts of several captures as of one."""
    total = {}
    for name, nothing in NOTHING.items():
        values = [part[name] for part in parts]
        if isinstance(nothing, dict):
            total[name] = dict(sum((Counter(value) for value in values), Counter()))
        else:
            # Where one count cannot be known, nor can the sum.
            total[name] = None if None in values else sum(values)
    return total


def check_consistent(found: dict) -> None:
    """What holds of the facts of any capture."""
    handshakes = found["full_handshakes"], found["resumed_handshakes"], found["unfinished_handshakes"]
    assert found["tls_connections"] == sum(handshakes), found
    assert found["tls_connections"] <= found["tcp_connections"], found
    assert found["hello_retry_requests"] <= found["tls_connections"], found
    assert sum(found["tls_versions"].values()) == sum(found["ciphers"].values()), found
    # Nobody finishes a handshake before the server has chosen a version.
    assert sum(handshakes[:2]) <= sum(found["tls_versions"].values()) <= found["tls_connections"], found
    assert 0 <= found["syn_retransmissions"] <= found["syns"] <= found["tcp_connections"] + found["syn_retransmissions"], found
    for count in ("client_alerts", "server_alerts", "client_resets", "server_resets"):
        assert found[count] is None or 0 <= found[count] <= found["tcp_connections"], found
    # As printed for people and programs: no numpy numbers, no NaN.
    assert json.loads(json.dumps(found, allow_nan=False)) == found, found


PIECES = {
    "full_12": tls(1, "TLSv1.2", full_handshakes=1, client_alerts=1, server_alerts=1),
    "resumed_12": tls(1, "TLSv1.2", resumed_handshakes=1, client_alerts=1, server_alerts=1),
    "full_13": tls(1, "TLSv1.3", full_handshakes=1, client_alerts=None, server_alerts=None),
    "resumed_13": tls(1, "TLSv1.3", resumed_handshakes=1, client_alerts=None, server_alerts=None),
    "retry_13": tls(1, "TLSv1.3", full_handshakes=1, client_alerts=None, server_alerts=None, hello_retry_requests=1),
    "refused_12": tls(1, "TLSv1.2", unfinished_handshakes=1, client_alerts=1),
    "too_new": tls(1, unfinished_handshakes=1, server_alerts=1),
    "bare": tcp(),
    "reset": tcp(client_resets=1),
}


@dataclass(frozen=True)
class Mixture:
    """A capture with one connection of each of PIECES, in their order, the keys to it, and the packets of each."""

    capture: Path
    keys: Path
    pieces: dict[str, list[Packet]] = field(repr=False)
