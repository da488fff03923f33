"""From packets to connections: what TLS and TCP did on each, one row per TCP connection."""

import functools
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from workbench import packets

FIN, SYN, RST, ACK = 0x01, 0x02, 0x04, 0x10
CHANGE_CIPHER_SPEC, ALERT = "20", "21"
CLIENT_HELLO, SERVER_HELLO, CERTIFICATE, SERVER_HELLO_DONE, CLIENT_KEY_EXCHANGE, FINISHED = "1", "2", "11", "14", "16", "20"
PRE_SHARED_KEY, SESSION_TICKET = "41", "35"
VERSIONS = {0x0300: "SSLv3", 0x0301: "TLSv1.0", 0x0302: "TLSv1.1", 0x0303: "TLSv1.2", 0x0304: "TLSv1.3"}
#: RFC 8446, 4.1.3: a ServerHello with this random is a Hello Retry Request.
RETRY_RANDOM = "cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c"
#: An encrypted TLS 1.3 alert: two bytes, the inner type, a 16-byte tag (RFC 8446, 5.2).
ENCRYPTED_ALERT_LENGTH = "19"


@dataclass
class Side:
    """What one end of a connection sent."""

    syns: int = 0
    bytes: int = 0
    fin: bool = False
    fin_time: float | None = None
    rst: bool = False
    #: `close_notify` or another name where it is readable, `encrypted` where only the record's type is.
    alert: str | None = None
    #: TLS 1.3 without keys: this side sent records whose type cannot be seen.
    hidden: bool = False
    change_cipher_spec: bool = False


@dataclass
class _Connection:
    stream: int
    start: float
    end: float
    ends: tuple
    client: Side = field(default_factory=Side)
    server: Side = field(default_factory=Side)
    client_hello_time: float | None = None
    server_hello_time: float | None = None
    retry_request: bool = False
    version_offered: str | None = None
    version: str | None = None
    cipher: str | None = None
    ticket_offered: bool = False
    pre_shared_key_offered: bool = False
    session_id_offered: str = ""
    session_id_given: str = ""
    pre_shared_key: bool = False
    full_flight: bool = False
    finished_13: bool = False

    def handshake(self) -> str | None:
        """`full`, `resumed` or `unfinished`; None where no ClientHello was seen."""
        if self.client_hello_time is None:
            return None
        if self.version == "TLSv1.3":
            if not self.finished_13:
                return "unfinished"
            return "resumed" if self.pre_shared_key else "full"
        # Up to TLS 1.2 both sides switch ciphers last; a server that resumes sends no certificate before it does.
        if self.server_hello_time is None or not (self.client.change_cipher_spec and self.server.change_cipher_spec):
            return "unfinished"
        offered = self.ticket_offered or self.session_id_offered
        return "resumed" if offered and not self.full_flight else "full"

    def session_offered(self, given: Collection[str]) -> bool:
        """A client that offers TLS 1.3 sends a session id for appearance's sake (RFC 8446, 4.1.2): its session id tells
        something only where it is one that a server gave."""
        if self.ticket_offered or self.pre_shared_key_offered:
            return True
        offers_13 = self.version_offered == "TLSv1.3"
        return bool(self.session_id_offered) and (not offers_13 or self.session_id_offered in given)

    def hello_wait(self) -> float | None:
        if self.client_hello_time is None:
            return None
        answered = next((time for time in (self.server_hello_time, self.client.fin_time) if time is not None), self.end)
        return answered - self.client_hello_time

    def row(self, given: Collection[str] = ()) -> dict:
        """The connection's row; `given` are the session ids that servers gave anywhere in the capture."""
        (client, client_port), (server, server_port) = self.ends
        row = {
            "stream": self.stream,
            "client": client,
            "client_port": client_port,
            "server": server,
            "server_port": server_port,
            "start": self.start,
            "end": self.end,
            "handshake": self.handshake(),
            "client_hello_time": self.client_hello_time,
            "server_hello_time": self.server_hello_time,
            "hello_wait": self.hello_wait(),
            "version_offered": self.version_offered,
            "version": self.version,
            "cipher": self.cipher,
            "retry_request": self.retry_request,
            "session_offered": self.session_offered(given),
            "session_id_offered": self.session_id_offered,
            "session_id_given": self.session_id_given,
        }
        for name, side in (("client", self.client), ("server", self.server)):
            row |= {f"{name}_{key}": value for key, value in vars(side).items() if key != "change_cipher_spec"}
        return row


def table(capture: Path | str) -> pd.DataFrame:
    """One row per TCP connection of a capture, in the order of their first packets.

    Columns: `stream` (tshark's tcp.stream); `client`, `client_port`, `server`, `server_port`; `start`, `end` (seconds
    since the epoch); `handshake` (full, resumed, unfinished, None without a ClientHello); `client_hello_time`,
    `server_hello_time` (seconds since the epoch; a Hello Retry Request is no ServerHello); `hello_wait` (seconds from
    ClientHello to ServerHello; where none came, until the client's FIN, or else the connection's end); `version_offered`,
    `version` (e.g. TLSv1.2); `cipher` (IANA name); `retry_request`; `session_offered`, `session_id_offered`,
    `session_id_given` (hexadecimal); and for each side, prefixed client_ or server_: `syns`, `bytes` (payload), `fin`,
    `fin_time`, `rst`, `alert`, `hidden` (see Side). Raises packets.CaptureError.
    """
    path = Path(capture)
    changed = path.stat().st_mtime_ns if path.is_file() else 0
    return _decoded(path, changed).copy()


@functools.lru_cache(maxsize=64)
def _decoded(path: Path, _changed: int) -> pd.DataFrame:
    """Captures are read more than once (to judge, to draw, to publish) and decoded once."""
    return from_packets(packets.table(path))


def from_packets(rows: pd.DataFrame) -> pd.DataFrame:
    """As `table`, from the packets that packets.table gave."""
    ends = _ends(rows)
    found: dict[int, _Connection] = {}
    for packet in rows.itertuples(index=False):
        connection = found.get(packet.stream)
        if connection is None:
            connection = _Connection(packet.stream, packet.time, packet.time, ends[packet.stream])
            found[packet.stream] = connection
        _add(connection, packet)
    given = {connection.session_id_given for connection in found.values() if connection.version != "TLSv1.3"}
    return pd.DataFrame([connection.row(given) for connection in found.values()], columns=_COLUMNS)


def _ends(rows: pd.DataFrame) -> dict[int, tuple]:
    """Client and server of each connection: its first SYN or Hello tells, where there is none the ports."""
    guessed, told = {}, {}
    may_tell = (rows["flags"] & SYN > 0) | (rows["messages"] != "") | ~rows["stream"].duplicated()
    for packet in rows[may_tell].itertuples(index=False):
        if packet.stream in told:
            continue
        source, target = (packet.src, packet.sport), (packet.dst, packet.dport)
        by_client = _from_client(packet)
        if by_client is not None:
            told[packet.stream] = (source, target) if by_client else (target, source)
        elif packet.stream not in guessed:
            guessed[packet.stream] = (source, target) if packet.sport > packet.dport else (target, source)
    return guessed | told


def _from_client(packet) -> bool | None:
    """Whether a packet comes from its connection's client; None where neither a SYN nor a Hello tells."""
    if packet.flags & SYN:
        return not packet.flags & ACK
    messages = packet.messages.split(",")
    if CLIENT_HELLO in messages or SERVER_HELLO in messages:
        return CLIENT_HELLO in messages
    return None


def _add(connection: _Connection, packet) -> None:
    by_client = (packet.src, packet.sport) == connection.ends[0]
    side = connection.client if by_client else connection.server
    connection.end = packet.time
    side.bytes += packet.bytes
    if packet.flags & SYN:
        side.syns += 1
    if packet.flags & FIN and not side.fin:
        side.fin, side.fin_time = True, packet.time
    side.rst |= bool(packet.flags & RST)
    if packet.record_types or packet.record_lengths:
        _add_records(connection, side, packet, by_client)


def _add_records(connection: _Connection, side: Side, packet, by_client: bool) -> None:
    types = packet.record_types.split(",") if packet.record_types else []
    lengths = packet.record_lengths.split(",")
    messages = packet.messages.split(",")
    if by_client and CLIENT_HELLO in messages and connection.client_hello_time is None:
        _client_hello(connection, packet)
    if not by_client and SERVER_HELLO in messages:
        _server_hello(connection, packet)
    if not by_client and (CERTIFICATE in messages or SERVER_HELLO_DONE in messages):
        connection.full_flight = True
    if by_client and CLIENT_KEY_EXCHANGE in messages:
        connection.full_flight = True
    if CHANGE_CIPHER_SPEC in types:
        side.change_cipher_spec = True
    if ALERT in types and side.alert is None:
        side.alert = _alert_name(packet.alert)
    encrypted = len(lengths) > len(types)
    side.hidden |= encrypted
    if by_client and connection.version == "TLSv1.3":
        # Unread, the client's first record is its Finished unless it has the length of an alert.
        connection.finished_13 |= FINISHED in messages or (
            encrypted and any(int(length) > 2 and length != ENCRYPTED_ALERT_LENGTH for length in lengths)
        )


def _client_hello(connection: _Connection, packet) -> None:
    connection.client_hello_time = packet.time
    offered = [int(version, 16) for version in (packet.supported_versions or packet.version).split(",") if version]
    known = [version for version in offered if version in VERSIONS]
    connection.version_offered = VERSIONS[max(known)] if known else None
    connection.session_id_offered = packet.session_id
    extensions = dict(zip(packet.extensions.split(","), packet.extension_lengths.split(","), strict=False))
    connection.ticket_offered = extensions.get(SESSION_TICKET, "0") != "0"
    connection.pre_shared_key_offered = PRE_SHARED_KEY in extensions


def _server_hello(connection: _Connection, packet) -> None:
    if packet.random.split(",")[0] == RETRY_RANDOM:
        connection.retry_request = True
        return
    connection.server_hello_time = packet.time
    version = int((packet.supported_versions or packet.version).split(",")[0], 16)
    connection.version = VERSIONS.get(version, hex(version))
    cipher = int(packet.cipher.split(",")[0], 16)
    connection.cipher = packets.names("tls.handshake.ciphersuite").get(cipher, hex(cipher))
    connection.session_id_given = packet.session_id.split(",")[0]
    connection.pre_shared_key = PRE_SHARED_KEY in packet.extensions.split(",")


def _alert_name(description: str) -> str:
    if not description:
        return "encrypted"
    number = int(description.split(",")[0])
    return packets.names("tls.alert_message.desc").get(number, str(number)).lower().replace(" ", "_")


_COLUMNS = list(_Connection(0, 0, 0, (("", 0), ("", 0))).row())


def finished(table: pd.DataFrame) -> pd.DataFrame:
    """Of a table of connections those whose handshake came to its end, full or resumed."""
    return table[table["handshake"].isin(["full", "resumed"])]


def facts(table: pd.DataFrame) -> dict:
    """The counts that `make facts` prints, of a table of connections (docs/facts.md says what each means)."""
    tls = table[table["handshake"].notna()]
    handshakes = Counter(tls["handshake"])
    syns = int(table["client_syns"].sum())
    return {
        "tcp_connections": len(table),
        "tls_connections": len(tls),
        "full_handshakes": handshakes["full"],
        "resumed_handshakes": handshakes["resumed"],
        "unfinished_handshakes": handshakes["unfinished"],
        "hello_retry_requests": int(tls["retry_request"].sum()),
        "client_alerts": _alerts(table, "client"),
        "server_alerts": _alerts(table, "server"),
        "client_resets": int(table["client_rst"].sum()),
        "server_resets": int(table["server_rst"].sum()),
        "syns": syns,
        "syn_retransmissions": syns - int((table["client_syns"] > 0).sum()),
        "tls_versions": dict(sorted(Counter(tls["version"].dropna()).items())),
        "ciphers": dict(sorted(Counter(tls["cipher"].dropna()).items())),
    }


def _alerts(table: pd.DataFrame, side: str) -> int | None:
    if table[f"{side}_hidden"].any():
        return None
    return int(table[f"{side}_alert"].notna().sum())
