"""Captures made here, of traffic whose counts are known, against what workbench.connections says of them."""

import contextlib
import hashlib
import json
import re
import shlex
import socket
import ssl
import struct
import subprocess
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
import pytest
import traffic
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from traffic import ACK, ARP, FIN, LLDP, RST, SYN, UDP, Identity, Packet

from workbench import connections, packets

# Ports that tshark gives to other protocols than TLS, and two that it gives to none.
MSSQL, MQTT, MYSQL, RDP, XMPP, POSTGRES, AMQP, VNC = 1433, 1883, 3306, 3389, 5222, 5432, 5672, 5900
REDIS, HTTP, ODD, MEMCACHED, MONGO, HIGH = 6379, 8080, 9999, 11211, 27017, 61234

ECDSA_AES256 = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"
AES256 = "TLS_AES_256_GCM_SHA384"
CIPHERS = {"TLSv1.2": ECDSA_AES256, "TLSv1.3": AES256}
OPTIONS = {"TLSv1.2": "-tls1_2", "TLSv1.3": "-tls1_3"}
NEW, REUSED = re.compile(r"^New, TLS", re.MULTILINE), re.compile(r"^Reused, TLS", re.MULTILINE)

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

# Each example starts a tshark.
few = settings(max_examples=8, deadline=None, database=None)
many = settings(max_examples=50, deadline=None, database=None)


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


def place(port: int, client_port: int | None = None, server: int = MYSQL) -> Callable[[traffic.End], traffic.End]:
    """Moves a server from port `server` to `port`, and its client to `client_port`."""

    def at(end: traffic.End) -> traffic.End:
        return (end[0], port if end[1] == server else client_port or end[1])

    return at


def check_consistent(found: dict) -> None:
    """What holds of the facts of any capture."""
    handshakes = found["full_handshakes"], found["resumed_handshakes"], found["unfinished_handshakes"]
    assert found["tls_connections"] == sum(handshakes)
    assert found["tls_connections"] <= found["tcp_connections"]
    assert found["hello_retry_requests"] <= found["tls_connections"]
    assert sum(found["tls_versions"].values()) == sum(found["ciphers"].values())
    # Nobody finishes a handshake before the server has chosen a version.
    assert sum(handshakes[:2]) <= sum(found["tls_versions"].values()) <= found["tls_connections"]
    assert 0 <= found["syn_retransmissions"] <= found["syns"] <= found["tcp_connections"] + found["syn_retransmissions"]
    for count in ("client_alerts", "server_alerts", "client_resets", "server_resets"):
        assert found[count] is None or 0 <= found[count] <= found["tcp_connections"]
    # As printed for people and programs: no numpy numbers, no NaN.
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return traffic.identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return tmp_path / "wire.pcap"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys.txt"


# Handshakes that finish


@pytest.mark.parametrize(("version", "port"), [("TLSv1.2", MYSQL), ("TLSv1.2", HIGH), ("TLSv1.3", POSTGRES), ("TLSv1.3", ODD)])
def test_each_handshake_counts_once(own: Identity, capture: Path, keys: Path, version: str, port: int) -> None:
    with traffic.recording(capture, port), traffic.server(own, port):
        for _ in range(3):
            traffic.talk(port, OPTIONS[version], "-keylogfile", keys)
    # Without keys TLS 1.3 hides what is an alert.
    count = 3 if version == "TLSv1.2" else None
    table = connections.table(capture)
    assert connections.facts(table) == tls(3, version, full_handshakes=3, client_alerts=count, server_alerts=count)
    assert set(table["server_port"]) == {port}
    assert not table["session_offered"].any()
    decrypted = connections.table(traffic.with_secrets(capture, keys))
    assert connections.facts(decrypted) == tls(3, version, full_handshakes=3, client_alerts=3, server_alerts=3)
    assert alerts(decrypted) == [("close_notify", "close_notify")] * 3


SESSIONS = pytest.mark.parametrize(
    ("version", "options", "port"),
    [
        pytest.param("TLSv1.2", (), AMQP, id="1.2-ticket"),
        pytest.param("TLSv1.2", ("-no_ticket",), REDIS, id="1.2-session-id"),
        pytest.param("TLSv1.3", (), HTTP, id="1.3-psk"),
        # Here the ticket is only the name of a session that the server keeps.
        pytest.param("TLSv1.3", ("-no_ticket",), RDP, id="1.3-psk-kept-by-server"),
    ],
)


@SESSIONS
def test_resumed(own: Identity, capture: Path, keys: Path, version: str, options: tuple[str, ...], port: int) -> None:
    session, chosen = keys.with_name("session.pem"), (OPTIONS[version], "-keylogfile", keys)
    with traffic.recording(capture, port), traffic.server(own, port, *options):
        assert NEW.search(traffic.talk(port, *chosen, "-sess_out", session))
        assert REUSED.search(traffic.talk(port, *chosen, "-sess_in", session, "-sess_out", session))
        assert REUSED.search(traffic.talk(port, *chosen, "-sess_in", session))
    count = 3 if version == "TLSv1.2" else None
    expected = tls(3, version, full_handshakes=1, resumed_handshakes=2, client_alerts=count, server_alerts=count)
    table = connections.table(capture)
    assert connections.facts(table) == expected
    assert facts(traffic.with_secrets(capture, keys)) == expected | {"client_alerts": 3, "server_alerts": 3}
    assert table["handshake"].tolist() == ["full", "resumed", "resumed"]
    assert table["session_offered"].tolist() == [False, True, True]


def test_session_id_comes_back(own: Identity, capture: Path) -> None:
    session = capture.with_name("session.pem")
    with traffic.recording(capture, VNC), traffic.server(own, VNC, "-tls1_2", "-no_ticket"):
        traffic.talk(VNC, "-tls1_2", "-sess_out", session)
        traffic.talk(VNC, "-tls1_2", "-sess_in", session)
    first, second = connections.table(capture).to_dict("records")
    assert re.fullmatch("[0-9a-f]{64}", first["session_id_given"])
    assert first["session_id_offered"] == ""
    assert second["session_id_offered"] == second["session_id_given"] == first["session_id_given"]


@SESSIONS
def test_declined(own: Identity, capture: Path, version: str, options: tuple[str, ...], port: int) -> None:
    session = capture.with_name("session.pem")
    with traffic.recording(capture, port):
        with traffic.server(own, port, *options):
            traffic.talk(port, OPTIONS[version], "-sess_out", session)
        # A restarted server knows neither its sessions nor the key of its tickets.
        with traffic.server(own, port, *options):
            assert NEW.search(traffic.talk(port, OPTIONS[version], "-sess_in", session))
    table = connections.table(capture)
    assert table["handshake"].tolist() == ["full", "full"]
    assert table["session_offered"].tolist() == [False, True]


@pytest.mark.parametrize("options", [(), ("-no_ticket",)], ids=["ticket", "session-id"])
def test_declined_for_a_newer_version(own: Identity, capture: Path, options: tuple[str, ...]) -> None:
    session = capture.with_name("session.pem")
    with traffic.recording(capture, MQTT):
        with traffic.server(own, MQTT, "-tls1_2", *options):
            traffic.talk(MQTT, "-sess_out", session)
        with traffic.server(own, MQTT, *options):
            assert NEW.search(traffic.talk(MQTT, "-sess_in", session))
    table = connections.table(capture)
    assert table["version"].tolist() == ["TLSv1.2", "TLSv1.3"]
    assert table["handshake"].tolist() == ["full", "full"]
    assert table["session_offered"].tolist() == [False, True]


@pytest.mark.parametrize("options", [(), ("-no_ticket",)], ids=["ticket", "session-id"])
def test_session_id_for_appearances_is_no_session(own: Identity, capture: Path, options: tuple[str, ...]) -> None:
    session = capture.with_name("session.pem")
    with traffic.recording(capture, XMPP), traffic.server(own, XMPP, "-tls1_2", *options):
        # A client that also offers TLS 1.3 always sends a session id, which here meets a server of TLS 1.2.
        assert NEW.search(traffic.talk(XMPP, "-sess_out", session))
        assert REUSED.search(traffic.talk(XMPP, "-sess_in", session))
    table = connections.table(capture)
    assert (table["session_id_offered"].str.len() == 64).all()
    assert table["version_offered"].tolist() == ["TLSv1.3", "TLSv1.3"]
    assert table["handshake"].tolist() == ["full", "resumed"]
    assert table["session_offered"].tolist() == [False, True]


def test_hello_retry_request(own: Identity, capture: Path, keys: Path) -> None:
    session = capture.with_name("session.pem")
    groups = ("-groups", "P-256:P-384", "-keylogfile", keys)
    with traffic.recording(capture, MSSQL), traffic.server(own, MSSQL, "-groups", "P-384"):
        traffic.talk(MSSQL, *groups, "-sess_out", session)
        assert REUSED.search(traffic.talk(MSSQL, *groups, "-sess_in", session))
        # This one guesses the group, and needs no second hello.
        traffic.talk(MSSQL, "-groups", "P-384", "-keylogfile", keys)
        traffic.fail(MSSQL, *groups, "-verify_return_error")
    # RFC 8446, 4.1.3: this is the random of a server that asks for another hello.
    random = hashlib.sha256(b"HelloRetryRequest").digest()
    on_the_wire = [sum(random in packet.payload for packet in parts) for parts in conversations(capture)]
    assert on_the_wire == [1, 1, 0, 1]
    expected = tls(4, "TLSv1.3", full_handshakes=2, resumed_handshakes=1, unfinished_handshakes=1)
    expected |= {"hello_retry_requests": 3, "client_alerts": None, "server_alerts": None}
    table = connections.table(capture)
    assert connections.facts(table) == expected
    # The one who refuses says so, but no close_notify; its server says nothing.
    assert facts(traffic.with_secrets(capture, keys)) == expected | {"client_alerts": 4, "server_alerts": 3}
    assert table["handshake"].tolist() == ["full", "resumed", "full", "unfinished"]
    assert table["retry_request"].tolist() == [True, True, False, True]
    assert table["session_offered"].tolist() == [False, True, False, False]


def test_session_offered_before_the_retry(own: Identity, capture: Path) -> None:
    session = capture.with_name("session.pem")
    with traffic.recording(capture, MSSQL):
        with traffic.server(own, MSSQL):
            traffic.talk(MSSQL, "-ciphersuites", AES256, "-sess_out", session)
        # The retry names a cipher with another hash, for which the client's second hello has no key to offer.
        with traffic.server(own, MSSQL, "-groups", "P-384", "-ciphersuites", "TLS_AES_128_GCM_SHA256"):
            assert NEW.search(traffic.talk(MSSQL, "-groups", "P-256:P-384", "-sess_in", session))
    table = connections.table(capture)
    assert table["handshake"].tolist() == ["full", "full"]
    assert table["retry_request"].tolist() == [False, True]
    assert table["session_offered"].tolist() == [False, True]


def conversations(capture: Path) -> list[list[Packet]]:
    return traffic.connections(traffic.read(capture))


def test_versions_and_ciphers(own: Identity, capture: Path) -> None:
    old = ("-cipher", "DEFAULT@SECLEVEL=0")
    with traffic.recording(capture, MONGO), traffic.server(own, MONGO, *old):
        traffic.talk(MONGO, "-tls1_1", *old)
        traffic.talk(MONGO, "-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256")
        traffic.talk(MONGO, "-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305")
        traffic.talk(MONGO, "-ciphersuites", "TLS_CHACHA20_POLY1305_SHA256")
        for _ in range(2):
            traffic.talk(MONGO, "-ciphersuites", "TLS_AES_128_GCM_SHA256")
    table = connections.table(capture)
    found = connections.facts(table)
    assert found["tls_versions"] == {"TLSv1.1": 1, "TLSv1.2": 2, "TLSv1.3": 3}
    assert found["ciphers"] == {
        "TLS_AES_128_GCM_SHA256": 2,
        "TLS_CHACHA20_POLY1305_SHA256": 1,
        "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": 1,
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": 1,
        "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": 1,
    }
    assert found["full_handshakes"] == found["tls_connections"] == found["tcp_connections"] == 6
    offered = table["version_offered"].tolist()
    assert offered == ["TLSv1.1", "TLSv1.2", "TLSv1.2", "TLSv1.3", "TLSv1.3", "TLSv1.3"]


# Handshakes that do not


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_client_refuses_the_certificate(own: Identity, capture: Path, keys: Path, version: str) -> None:
    with traffic.recording(capture, MEMCACHED), traffic.server(own, MEMCACHED, OPTIONS[version]):
        for _ in range(2):
            traffic.fail(MEMCACHED, "-verify_return_error", "-keylogfile", keys)
    # openssl says it in plaintext in both versions; what the server of TLS 1.3 says stays hidden.
    hidden = {"server_alerts": None} if version == "TLSv1.3" else {}
    expected = tls(2, version, unfinished_handshakes=2, client_alerts=2)
    table = connections.table(capture)
    assert connections.facts(table) == expected | hidden
    assert alerts(table) == [("unknown_ca", None)] * 2
    assert facts(traffic.with_secrets(capture, keys)) == expected


CHANGE_CIPHER_SPEC = bytes.fromhex("140303000101")


def sealed(length: int) -> bytes:
    """A record of TLS 1.3 that cannot be read."""
    return struct.pack(">BHH", 23, 0x0303, length) + bytes(range(length))


LAST_WORDS = {
    "alert": (sealed(19), "unfinished"),
    "switch-alert": (CHANGE_CIPHER_SPEC + sealed(19), "unfinished"),
    "switch": (CHANGE_CIPHER_SPEC, "unfinished"),
    # A Finished with SHA-256, one with SHA-384, and one with the alert right behind it.
    "finished": (sealed(53), "full"),
    "switch-finished": (CHANGE_CIPHER_SPEC + sealed(69), "full"),
    "switch-finished-alert": (CHANGE_CIPHER_SPEC + sealed(69) + sealed(19), "full"),
}


@pytest.fixture(scope="module")
def last_words(own: Identity, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """A handshake of TLS 1.3 that the client refuses, once with each of LAST_WORDS in place of its alert."""
    capture = tmp_path_factory.mktemp("refused") / "wire.pcap"
    with traffic.recording(capture, ODD), traffic.server(own, ODD, "-tls1_3"):
        traffic.fail(ODD, "-verify_return_error")
    (found,) = conversations(capture)
    # openssl's client refuses in plaintext, others encrypt it.
    alert = next(packet for packet in found if packet.payload == bytes.fromhex("15030300020230"))
    before, sent = found[: found.index(alert)], []
    for number, (words, _) in enumerate(LAST_WORDS.values()):
        sent += traffic.moved([*before, replace(alert, payload=words)], place(ODD, 40000 + number, server=ODD))
    return connections.table(traffic.write(capture, sent))


@pytest.mark.parametrize("name", LAST_WORDS)
def test_unread_alert_is_no_finished(last_words: pd.DataFrame, name: str) -> None:
    assert len(last_words) == len(LAST_WORDS)
    table = last_words.iloc[[list(LAST_WORDS).index(name)]]
    assert table["handshake"].tolist() == [LAST_WORDS[name][1]]
    assert table["version"].tolist() == ["TLSv1.3"]
    assert connections.facts(table)["client_alerts"] == (0 if name == "switch" else None)


@pytest.mark.parametrize(
    ("offers", "takes", "alert"),
    [
        (("-tls1_2", "-cipher", "AES256-SHA"), ("-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-SHA"), "handshake_failure"),
        (
            ("-ciphersuites", "TLS_AES_128_GCM_SHA256"),
            ("-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384"),
            "handshake_failure",
        ),
        (("-tls1_3", "-groups", "P-256"), ("-tls1_3", "-groups", "P-384"), "handshake_failure"),
        (("-tls1_2",), ("-tls1_3",), "protocol_version"),
        (("-tls1_3",), ("-tls1_2",), "protocol_version"),
    ],
    ids=["1.2-cipher", "1.3-cipher", "1.3-group", "too-old", "too-new"],
)
def test_nothing_in_common(own: Identity, capture: Path, offers: tuple[str, ...], takes: tuple[str, ...], alert: str) -> None:
    with traffic.recording(capture, POSTGRES), traffic.server(own, POSTGRES, *takes):
        traffic.fail(POSTGRES, *offers)
    table = connections.table(capture)
    assert connections.facts(table) == tls(unfinished_handshakes=1, server_alerts=1)
    assert alerts(table) == [(None, alert)]
    assert not table["session_offered"].any()


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"], ids=["mute", "plaintext"])
def test_server_without_tls(capture: Path, answer: bytes) -> None:
    with (
        socket.create_server(("127.0.0.1", MYSQL)) as listener,
        traffic.recording(capture, MYSQL),
        traffic.client(MYSQL) as client,
    ):
        connection, _ = listener.accept()
        with connection:
            assert connection.recv(1 << 16).startswith(b"\x16\x03\x01")
            connection.sendall(answer)
            if not answer:
                client.kill()
            client.wait(traffic.PATIENCE)
            # Its end in the buffer, the socket closes without a reset.
            assert connection.recv(1 << 16) == b""
    table = connections.table(capture)
    assert connections.facts(table) == tls(unfinished_handshakes=1)
    (row,) = table.to_dict("records")
    assert row["version_offered"] == "TLSv1.3"
    assert pd.isna(row["version"])
    assert row["server_bytes"] == len(answer)


# Without TLS


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), traffic.PATIENCE)


def test_bare_connect(own: Identity, capture: Path) -> None:
    with traffic.recording(capture, HIGH), traffic.server(own, HIGH):
        for _ in range(2):
            connect(HIGH).close()
        traffic.talk(HIGH, "-tls1_2")
    table = connections.table(capture)
    assert table["handshake"].isna().tolist() == [True, True, False]
    found = connections.facts(table)
    assert (found["tcp_connections"], found["tls_connections"], found["full_handshakes"]) == (3, 1, 1)
    assert found["tls_versions"] == {"TLSv1.2": 1}


def test_plaintext_to_a_tls_server(own: Identity, capture: Path) -> None:
    with traffic.recording(capture, HTTP), traffic.server(own, HTTP), connect(HTTP) as client:
        client.sendall(b"GET / HTTP/1.0\r\n\r\n")
        # The server may reset what it does not understand.
        with contextlib.suppress(ConnectionResetError):
            client.recv(100)
    found = facts(capture)
    assert (found["tcp_connections"], found["tls_connections"]) == (1, 0)


def test_plaintext_on_ports_of_tls(capture: Path) -> None:
    sent = []
    for port in (443, 8443):
        client, server = ("10.0.0.1", 40000), ("10.0.0.2", port)
        sent += [
            Packet(client, server, SYN, 99),
            Packet(server, client, SYN | ACK, 499, 100),
            Packet(client, server, ACK, 100, 500, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            Packet(server, client, ACK, 500, 135, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        ]
    assert facts(traffic.write(capture, sent)) == tcp(2)


def test_refused_connect(capture: Path) -> None:
    with traffic.recording(capture, ODD), pytest.raises(ConnectionRefusedError):
        connect(ODD)
    assert facts(capture) == tcp(server_resets=1)


# Ends


def ending(client_says: bool, server_says: bool) -> Callable[[ssl.SSLSocket, ssl.SSLSocket], None]:
    """An end of a connection with the close_notify of either side, or without."""

    def act(client: ssl.SSLSocket, server: ssl.SSLSocket) -> None:
        for says, side, other in ((client_says, client, server), (server_says, server, client)):
            if says:
                traffic.say_close_notify(side)
                other.settimeout(traffic.PATIENCE)
                # Read as bytes: what is left in the buffer would make the other's close a reset.
                assert socket.socket.recv(other, 1 << 16)

    return act


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_close_notify_by_side(own: Identity, capture: Path, keys: Path, version: str) -> None:
    said = [(True, True), (True, False), (True, False), (False, True), (False, False)]
    with traffic.recording(capture, MYSQL):
        for client_says, server_says in said:
            traffic.end(own, MYSQL, ending(client_says, server_says), version, keys)
    table, decrypted = connections.table(capture), connections.table(traffic.with_secrets(capture, keys))
    expected = tls(5, version, full_handshakes=5, client_alerts=3, server_alerts=2)
    assert connections.facts(decrypted) == expected
    assert alerts(decrypted) == [tuple("close_notify" if says else None for says in pair) for pair in said]
    if version == "TLSv1.2":
        assert connections.facts(table) == expected
        assert alerts(table) == [tuple("encrypted" if says else None for says in pair) for pair in said]
    else:
        assert connections.facts(table) == expected | {"client_alerts": None, "server_alerts": None}
        assert alerts(table) == [(None, None)] * 5


#: A protocol, and the parts of a response in it that is not whole.
BROKEN_OFF = {
    "without an end": ("http/1.1", [b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", b"x" * 50]),
    "in the head": ("http/1.1", [b"HTTP/1.1 200 OK\r\nContent-"]),
    "in a chunk": ("http/1.1", [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nxxxx"]),
    "in a frame": ("h2", [bytes.fromhex("000000040000000000000fff000000000001") + b"x" * 20]),
}


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_close_notify_behind_half_a_response(own: Identity, capture: Path, keys: Path, version: str) -> None:
    def respond(parts: list[bytes]) -> Callable[[ssl.SSLSocket, ssl.SSLSocket], None]:
        def act(client: ssl.SSLSocket, server: ssl.SSLSocket) -> None:
            for part in parts:
                server.sendall(part)
                assert client.recv(1000) == part
            ending(False, True)(client, server)

        return act

    with traffic.recording(capture, HTTP):
        for protocol, parts in BROKEN_OFF.values():
            traffic.end(own, HTTP, respond(parts), version, keys, protocol)
    for together_from in (1, 2, 3):
        sent = [packet for parts in conversations(capture) for packet in last_in_one(parts, together_from)]
        packed = traffic.write(capture.with_name("packed.pcap"), traffic.moved(sent, place(443, server=HTTP)))
        table = connections.table(traffic.with_secrets(packed, keys))
        assert connections.facts(table) == tls(4, version, full_handshakes=4, server_alerts=4)
        assert alerts(table) == [(None, "close_notify")] * 4


def last_in_one(conversation: list[Packet], number: int) -> list[Packet]:
    """With the last packets of the server, one of them its FIN, in one packet."""
    last = [packet for packet in conversation if packet.source[1] == HTTP and (packet.payload or packet.flags & FIN)]
    assert last[-1].flags & FIN
    first, *others = last[-number:]
    payload = b"".join(packet.payload for packet in last[-number:])
    one = replace(first, payload=payload, flags=first.flags | others[-1].flags if others else first.flags)
    return [one if packet is first else packet for packet in conversation if packet not in others]


def reset(by: str) -> Callable[[socket.socket, socket.socket], None]:
    def act(client: socket.socket, server: socket.socket) -> None:
        side = {"client": client, "server": server}[by]
        traffic.reset_on_close(side)
        side.close()

    return act


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_resets_by_side(own: Identity, capture: Path, keys: Path, version: str) -> None:
    with traffic.recording(capture, REDIS):
        for side in ("client", "server", "client", "client"):
            traffic.end(own, REDIS, reset(side), version, keys)
    table = connections.table(traffic.with_secrets(capture, keys))
    assert connections.facts(table) == tls(4, version, full_handshakes=4, client_resets=3, server_resets=1)
    assert table["client_rst"].tolist() == [True, False, True, True]
    assert table["server_rst"].tolist() == [False, True, False, False]
    assert not table[["client_fin", "server_fin"]].any(axis=None)


def test_fin_and_reset_of_one_connection(capture: Path) -> None:
    with socket.create_server(("127.0.0.1", VNC)) as listener, traffic.recording(capture, VNC):
        for first_is_client in (True, False):
            client = connect(VNC)
            server, _ = listener.accept()
            first, second = (client, server) if first_is_client else (server, client)
            first.close()
            assert second.recv(1) == b""
            traffic.reset_on_close(second)
            second.close()
    table = connections.table(capture)
    assert connections.facts(table) == tcp(2, client_resets=1, server_resets=1)
    sides = ["client_fin", "client_rst", "server_fin", "server_rst"]
    assert table[sides].values.tolist() == [[True, False, False, True], [False, True, True, False]]


# SYNs

CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", ODD)


def syn(seq: int, port: int = 40000) -> Packet:
    return Packet((CLIENT[0], port), SERVER, SYN, seq)


SYN_ACK, LAST_ACK = Packet(SERVER, CLIENT, SYN | ACK, 7, 2), Packet(CLIENT, SERVER, ACK, 2, 8)
OPENINGS = {
    "one": ([syn(1)], tcp()),
    "unanswered": ([syn(1)] * 3, tcp(syns=3, syn_retransmissions=2)),
    "answered": ([syn(1), syn(1), SYN_ACK, LAST_ACK], tcp(syns=2, syn_retransmissions=1)),
    # The server's are not counted.
    "of-server": ([syn(1), SYN_ACK, SYN_ACK, SYN_ACK], tcp()),
    # The same ports with another number are another connection.
    "port-again": (
        [syn(1), syn(1), Packet(SERVER, CLIENT, RST | ACK, 0, 2), syn(5000)],
        tcp(2, syns=3, syn_retransmissions=1, server_resets=1),
    ),
    "two": ([syn(1), syn(1, 40001), syn(1), syn(1, 40001), syn(1)], tcp(2, syns=5, syn_retransmissions=3)),
    # Without its beginning a connection has no SYN, and so none too many.
    "from-the-answer": ([SYN_ACK, LAST_ACK], tcp(syns=0)),
    "from-the-end": ([Packet(CLIENT, SERVER, FIN | ACK, 2, 8)], tcp(syns=0)),
}


@pytest.fixture(scope="module")
def openings(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """All of OPENINGS in one capture, the first with 10.1.0.0 for its client's address, the next with 10.1.0.1 ..."""
    sent = []
    for number, (opening, _) in enumerate(OPENINGS.values()):
        address = f"10.1.0.{number}"
        sent += traffic.moved(opening, lambda end, address=address: (address, end[1]) if end != SERVER else end)
    return connections.table(traffic.write(tmp_path_factory.mktemp("openings") / "wire.pcap", sent))


@pytest.mark.parametrize("name", OPENINGS)
def test_syns(openings: pd.DataFrame, name: str) -> None:
    address = f"10.1.0.{list(OPENINGS).index(name)}"
    assert connections.facts(openings[openings["client"] == address]) == OPENINGS[name][1]


@pytest.mark.parametrize("address", ["10.0.0.2", "2001:db8::2"])
def test_quoted_packets_are_not_sent_again(capture: Path, address: str) -> None:
    router = "2001:db8::1" if ":" in address else "10.0.0.1"
    sent = Packet((address, 40000), (address[:-1] + "9", ODD), SYN, 1)
    # Destination unreachable, with the packet that did not get there.
    kind, protocol = (1, traffic.ICMPV6) if ":" in address else (3, traffic.ICMP)
    error = struct.pack(">BBHI", kind, 1, 0, 0) + traffic.frame(sent)[14:]
    traffic.write(capture, [sent, traffic.ip_frame(router, address, protocol, error)])
    assert facts(capture) == tcp()


# The same connections on other ports, addresses, links, in other files


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
WHOLE = together(list(PIECES.values()))
WHOLE_DECRYPTED = WHOLE | {"client_alerts": 6, "server_alerts": 6}


@dataclass(frozen=True)
class Mixture:
    """A capture with one connection of each of PIECES, in their order, the keys to it, and the packets of each."""

    capture: Path
    keys: Path
    pieces: dict[str, list[Packet]] = field(repr=False)


@pytest.fixture(scope="module")
def mixture(own: Identity, tmp_path_factory: pytest.TempPathFactory) -> Mixture:
    folder = tmp_path_factory.mktemp("mixture")
    capture, keys = folder / "wire.pcap", folder / "keys.txt"
    log, old, new = ("-keylogfile", keys), folder / "old.pem", folder / "new.pem"
    with traffic.recording(capture, MYSQL):
        with traffic.server(own, MYSQL, "-no_ticket", "-groups", "P-256:P-384"):
            traffic.talk(MYSQL, *log, "-tls1_2", "-sess_out", old)
            traffic.talk(MYSQL, *log, "-tls1_2", "-sess_in", old)
            traffic.talk(MYSQL, *log, "-groups", "P-256", "-sess_out", new)
            traffic.talk(MYSQL, *log, "-groups", "P-256", "-sess_in", new)
            traffic.talk(MYSQL, *log, "-groups", "X25519:P-256")
            traffic.fail(MYSQL, *log, "-tls1_2", "-verify_return_error")
        with traffic.server(own, MYSQL, "-tls1_2"):
            traffic.fail(MYSQL, "-tls1_3")
        with socket.create_server(("127.0.0.1", MYSQL)) as listener:
            for leave in (lambda client: None, traffic.reset_on_close):
                with connect(MYSQL) as client, listener.accept()[0]:
                    leave(client)
    return Mixture(capture, keys, dict(zip(PIECES, conversations(capture), strict=True)))


def decrypted_facts(capture: Path, keys: Path) -> dict:
    return facts(traffic.with_secrets(capture, keys))


def test_mixture(mixture: Mixture) -> None:
    assert facts(mixture.capture) == WHOLE
    assert decrypted_facts(mixture.capture, mixture.keys) == WHOLE_DECRYPTED


def test_every_port_that_tshark_knows(mixture: Mixture, capture: Path) -> None:
    listed = [line.split("\t") for line in traffic.run("tshark", "-G", "decodes").splitlines()]
    ports = sorted({int(words[1]) for words in listed if words[0] == "tcp.port"} - {0})
    assert len(ports) > 300
    # The clients' ports are in nobody's list.
    clients = {"full_12": 64998, "full_13": 64999}
    assert not set(clients.values()) & set(ports)
    sent = []
    for port in ports:
        for name, client_port in clients.items():
            sent += traffic.moved(mixture.pieces[name], place(port, client_port))
    table = connections.table(traffic.write(capture, sent))
    assert connections.facts(table) == together([PIECES[name] for name in clients] * len(ports))
    assert table["server_port"].tolist() == sorted(ports * 2)


def test_ipv6(mixture: Mixture, capture: Path) -> None:
    addresses = {True: "::1", False: "2001:db8::2"}
    sent = [packet for piece in mixture.pieces.values() for packet in piece]
    traffic.write(capture, traffic.moved(sent, lambda end: (addresses[end[1] == MYSQL], end[1])))
    table = connections.table(capture)
    assert connections.facts(table) == WHOLE
    assert set(table["server"]) == {"::1"}
    assert set(table["client"]) == {"2001:db8::2"}
    assert set(table["server_port"]) == {MYSQL}


def test_tunnel(mixture: Mixture, capture: Path) -> None:
    sent = []
    for packet in traffic.moved(mixture.pieces["full_12"], lambda end: (f"10.9.9.{1 + (end[1] == MYSQL)}", end[1])):
        inner = traffic.frame(packet)[14:]
        ends = ("192.0.2.1", "192.0.2.2") if packet.target[1] == MYSQL else ("192.0.2.2", "192.0.2.1")
        sent.append(traffic.ip_frame(*ends, traffic.IP_IN_IP, inner))
    table = connections.table(traffic.write(capture, sent))
    assert connections.facts(table) == PIECES["full_12"]
    assert table[["client", "server", "server_port"]].values.tolist() == [["10.9.9.1", "10.9.9.2", MYSQL]]


def test_pcap_and_pcapng_give_the_same_table(mixture: Mixture, tmp_path: Path) -> None:
    capture = mixture.capture
    table = connections.table(capture)
    for kind in ("pcapng", "nsecpcap"):
        other = tmp_path / f"wire.{kind}"
        traffic.run("editcap", "-F", kind, capture, other)
        assert other.read_bytes()[:4] != capture.read_bytes()[:4]
        assert_frame_equal(connections.table(other), table)


def test_any_interface(own: Identity, capture: Path) -> None:
    with traffic.recording(capture, ODD, interface="any"), traffic.server(own, ODD):
        for _ in range(2):
            traffic.talk(ODD, "-tls1_2")
    assert "Linux cooked-mode" in traffic.run("capinfos", "-E", capture)
    assert facts(capture) == tls(2, "TLSv1.2", full_handshakes=2, client_alerts=2, server_alerts=2)


def test_without_the_first_packets(mixture: Mixture, capture: Path) -> None:
    # The server's port is the higher one, so that only the hello tells which side is which.
    full = traffic.moved(mixture.pieces["full_12"], place(HIGH, client_port=40000))
    hello = next(number for number, packet in enumerate(full) if packet.payload)
    for start in range(1, hello + 1):
        table = connections.table(traffic.write(capture, full[start:]))
        assert connections.facts(table) == PIECES["full_12"] | {"syns": 0}
        assert table["server_port"].tolist() == [HIGH]
    # Without its hello a handshake is none that was seen.
    assert facts(traffic.write(capture, full[hello + 1 :]))["tls_connections"] == 0


def test_packets_seen_twice(mixture: Mixture, capture: Path) -> None:
    sent = [packet for packet in traffic.read(mixture.capture) for _ in range(1 if packet.flags & SYN else 2)]
    traffic.write(capture, sent)
    assert facts(capture) == WHOLE
    assert decrypted_facts(capture, mixture.keys) == WHOLE_DECRYPTED


@pytest.mark.parametrize("offset", [0, 1])
def test_packets_out_of_order(mixture: Mixture, capture: Path, offset: int):
    sent = []
    for piece in mixture.pieces.values():
        small = traffic.split(piece, 500)
        for at in range(4 + offset, len(small) - 1, 2):
            small[at], small[at + 1] = small[at + 1], small[at]
        sent += small
    traffic.write(capture, sent)
    assert facts(capture) == WHOLE
    assert decrypted_facts(capture, mixture.keys) == WHOLE_DECRYPTED


def test_handshakes_finish_with_their_last_flight(mixture: Mixture, capture: Path) -> None:
    sent, expected, versions = [], [], []
    for name in ("full_12", "resumed_12", "full_13", "resumed_13", "retry_13", "refused_12"):
        piece = mixture.pieces[name]
        for number in range(1, len(piece) + 1):
            beginning = piece[:number]
            sent += traffic.moved(beginning, place(MYSQL, 20000 + len(expected)))
            client, server = (traffic.record_types(beginning, end) for end in (piece[0].source, piece[0].target))
            finished = 23 in client if name.endswith("13") else 20 in client and 20 in server
            handshake = name.split("_")[0].replace("retry", "full") if finished else "unfinished"
            expected.append(handshake if client else None)
            # Of two hellos from a server the first only asks for another hello.
            versions.append(server.count(22) > (name == "retry_13"))
    table = connections.table(traffic.write(capture, sent))
    assert [None if pd.isna(handshake) else handshake for handshake in table["handshake"]] == expected
    assert table["version"].notna().tolist() == versions


# At 5 bytes the first segment holds the head of a record; with fewer tshark may not see that it is TLS.
@given(size=st.integers(5, 1500), with_keys=st.booleans())
@few
def test_segments_of_any_size(mixture: Mixture, size: int, with_keys: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sent = [packet for piece in mixture.pieces.values() for packet in traffic.split(piece, size)]
        capture = traffic.write(Path(folder) / "wire.pcap", sent)
        if with_keys:
            assert decrypted_facts(capture, mixture.keys) == WHOLE_DECRYPTED
        else:
            assert facts(capture) == WHOLE


@given(chosen=st.lists(st.sampled_from(list(PIECES)), min_size=1, max_size=6), port=st.integers(1, 19999), data=st.data())
@few
def test_facts_of_many_are_the_sum(mixture: Mixture, chosen: list[str], port: int, data: st.DataObject) -> None:
    left = [traffic.moved(mixture.pieces[name], place(port, 20000 + number)) for number, name in enumerate(chosen)]
    turns = data.draw(st.permutations([number for number, piece in enumerate(left) for _ in piece]))
    sent = [left[number].pop(0) for number in turns]
    with tempfile.TemporaryDirectory() as folder:
        capture = traffic.write(Path(folder) / "wire.pcap", sent)
        assert facts(capture) == together([PIECES[name] for name in chosen])


# Files that are cut off, and files that are no captures


def whole_frames(data: bytes) -> int:
    """How many packets are wholly in the beginning of a capture file."""
    number, at = 0, 0
    if data[:4] == b"\n\r\r\n":
        while len(data) >= at + 8:
            kind, length = struct.unpack_from("<II", data, at)
            at += length
            number += kind == 6 and at <= len(data)
        return number
    at = 24
    while len(data) >= at + 16:
        at += 16 + struct.unpack_from("<I", data, at + 8)[0]
        number += at <= len(data)
    return number


@pytest.fixture(scope="module", params=["pcap", "pcapng"])
def uncut(request: pytest.FixtureRequest, mixture: Mixture) -> tuple[bytes, pd.DataFrame]:
    """The bytes of a capture, and its packets."""
    capture = mixture.capture if request.param == "pcap" else traffic.with_secrets(mixture.capture, mixture.keys)
    return capture.read_bytes(), packets.table(capture)


@given(data=st.data())
@few
def test_cut_anywhere(uncut: tuple[bytes, pd.DataFrame], data: st.DataObject) -> None:
    content, table = uncut
    cut = content[: data.draw(st.integers(0, len(content)))]
    number = whole_frames(cut)
    with tempfile.TemporaryDirectory() as folder:
        capture = Path(folder) / "cut.pcap"
        capture.write_bytes(cut)
        if number == 0:
            check_refused(capture)
            return
        left = packets.table(capture)
    assert_frame_equal(left, table[table["frame"] <= number])
    found, whole = connections.facts(connections.from_packets(left)), connections.facts(connections.from_packets(table))
    check_consistent(found)
    for count in ("tcp_connections", "tls_connections", "hello_retry_requests", "syns", "client_resets"):
        assert found[count] <= whole[count]


def check_refused(path: Path) -> None:
    """It is refused in one line that names the file."""
    with pytest.raises(packets.CaptureError) as refused:
        connections.table(path)
    message = str(refused.value)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1


NO_CAPTURES = {
    "empty": b"",
    "text": b"2026-01-01 00:00:00 connection refused\n" * 10,
    "secrets": b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n",
    # tshark opens pictures and programs too, as files of one packet.
    "png": b"\x89PNG\r\n\x1a\n" + bytes.fromhex("0000000d4948445200000001000000010802000000907753de"),
    "elf": b"\x7fELF\x02\x01\x01" + bytes(57),
    "header-of-pcap": struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1),
    "header-of-pcapng": struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28),
}


@pytest.mark.parametrize("name", NO_CAPTURES)
def test_no_capture(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"a file of {name}"
    path.write_bytes(NO_CAPTURES[name])
    check_refused(path)


def test_zip_folder_and_nothing(mixture: Mixture, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "wire.zip", "w") as archive:
        archive.write(mixture.capture)
    for path in (tmp_path / "wire.zip", tmp_path / "nothing", tmp_path):
        check_refused(path)


DATAGRAM = traffic.ip_frame("10.0.0.1", "10.0.0.2", UDP, struct.pack(">HHHH", 5353, 53, 12, 0) + b"text")
DATAGRAM6 = traffic.ip_frame("::1", "::1", UDP, struct.pack(">HHHH", 5353, 53, 12, 0) + b"text")
WHO_HAS = traffic.ethernet(ARP, struct.pack(">HHBBH", 1, 0x0800, 6, 4, 1) + bytes(20))
NEIGHBOUR = traffic.ethernet(LLDP, bytes.fromhex("0207040000000000010407050000000002060200780000"))


@pytest.mark.parametrize(
    "sent",
    [[DATAGRAM], [DATAGRAM6], [WHO_HAS], [NEIGHBOUR, NEIGHBOUR, DATAGRAM]],
    ids=["udp", "udp-over-ipv6", "arp", "udp-behind-lldp"],
)
def test_traffic_without_tcp(capture: Path, sent: list[bytes]) -> None:
    traffic.write(capture, sent)
    table = connections.table(capture)
    assert len(table) == 0
    assert connections.facts(table) == NOTHING


def test_cut_without_tcp(capture: Path) -> None:
    content = traffic.write(capture, [DATAGRAM, DATAGRAM]).read_bytes()
    capture.write_bytes(content[:-1])
    assert facts(capture) == NOTHING


def test_a_changed_file_is_read_again(capture: Path) -> None:
    traffic.write(capture, [syn(1)])
    table = connections.table(capture)
    table["client_rst"] = True
    # What a caller does to its table is its own affair.
    assert facts(capture) == tcp()
    traffic.write(capture, [syn(1), syn(1, 40001)])
    assert facts(capture) == tcp(2)
    capture.unlink()
    check_refused(capture)


# tshark's command


def test_pasted_command_prints_a_line_for_each_packet(mixture: Mixture, tmp_path: Path) -> None:
    path = tmp_path / "it's a file; of $HOME.pcap"
    path.write_bytes(mixture.capture.read_bytes())
    assert shlex.split(packets.pasteable(path)) == packets.tshark_command(path)
    done = subprocess.run(["sh", "-c", packets.pasteable(path)], capture_output=True, text=True, check=True)
    table = packets.table(path)
    assert len(done.stdout.splitlines()) == len(table) == len(traffic.read(path))
    assert table["bytes"].sum() == sum(len(packet.payload) for packet in traffic.read(path))
    assert table["flags"].tolist() == [packet.flags for packet in traffic.read(path)]


# Any packets at all


HELLO = {"record_types": "22", "record_lengths": "200"}
HELLO_12 = HELLO | {"messages": "1", "version": "0x0303", "extensions": "10,35", "extension_lengths": "8,0"}
HELLO_13 = HELLO_12 | {"supported_versions": "0x0304,0x0303", "session_id": "ab" * 32}
CHOICE_12 = HELLO | {"messages": "2", "version": "0x0303", "cipher": "0xc02c", "random": "11" * 32}
CHOICE_13 = CHOICE_12 | {"supported_versions": "0x0304", "cipher": "0x1302"}
EVENTS = {
    "syn": {"flags": SYN},
    "syn_ack": {"flags": SYN | ACK},
    "ack": {},
    "fin": {"flags": FIN | ACK},
    "reset": {"flags": RST},
    "hello_12": HELLO_12,
    "hello_ticket": HELLO_12 | {"extension_lengths": "8,180"},
    "hello_session_id": HELLO_12 | {"session_id": "cd" * 32},
    "hello_13": HELLO_13,
    "hello_psk": HELLO_13 | {"extensions": "10,41", "extension_lengths": "8,90"},
    "hello_of_no_version": HELLO_12 | {"version": "", "supported_versions": "0x7f1c"},
    "choice_12": CHOICE_12,
    "choice_13": CHOICE_13,
    "choice_psk": CHOICE_13 | {"extensions": "43,41", "extension_lengths": "2,2"},
    "choice_unknown": CHOICE_12 | {"version": "0x7f1c", "cipher": "0xfafa"},
    "retry": CHOICE_13 | {"random": hashlib.sha256(b"HelloRetryRequest").hexdigest()},
    "certificate": HELLO | {"messages": "11,12,14"},
    "key_exchange": {"record_types": "22,20,22", "record_lengths": "66,1,40", "messages": "16"},
    "switch": {"record_types": "20", "record_lengths": "1"},
    "alert": {"record_types": "21", "record_lengths": "2", "alert": "40"},
    "alert_unknown": {"record_types": "21", "record_lengths": "2", "alert": "199"},
    "alert_encrypted": {"record_types": "21", "record_lengths": "26"},
    "data": {"record_types": "23", "record_lengths": "100"},
    "sealed_alert": {"record_lengths": "19"},
    "sealed_finished": {"record_types": "20", "record_lengths": "1,69"},
    "finished": {"record_types": "20,22", "record_lengths": "1,52", "messages": "20"},
}
COLUMNS = [name for name in packets.FIELDS if name not in ("src6", "dst6")]
SENT = st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from(list(EVENTS))), max_size=30)


def synthetic(sent: list[tuple[int, bool, str]], first_stream: int = 0) -> pd.DataFrame:
    """A table as packets.table gives it, of (stream, whether the client sends, one of EVENTS)."""
    rows = []
    for number, (stream, by_client, event) in enumerate(sent):
        ends = [("10.0.0.1", 40000 + stream), ("10.0.0.2", 443)]
        (src, sport), (dst, dport) = ends if by_client else reversed(ends)
        row = dict.fromkeys(COLUMNS, "") | {"frame": number + 1, "time": float(number), "stream": first_stream + stream}
        row |= {"src": src, "dst": dst, "sport": sport, "dport": dport, "flags": ACK, "bytes": 0}
        rows.append(row | EVENTS[event])
    return pd.DataFrame(rows, columns=COLUMNS)


@given(sent=SENT)
@many
def test_facts_of_any_packets_are_consistent(sent: list[tuple[int, bool, str]]) -> None:
    table = connections.from_packets(synthetic(sent))
    found = connections.facts(table)
    check_consistent(found)
    assert found["tcp_connections"] == len({stream for stream, _, _ in sent})
    assert found["client_resets"] + found["server_resets"] <= sum(event == "reset" for _, _, event in sent)
    for side in ("client", "server"):
        assert (found[f"{side}_alerts"] is None) == bool(table[f"{side}_hidden"].any())


@given(first=SENT, second=SENT)
@many
def test_facts_of_any_packets_add_up(first: list[tuple[int, bool, str]], second: list[tuple[int, bool, str]]) -> None:
    parts = [synthetic(first), synthetic(second, first_stream=10)]
    found = [connections.facts(connections.from_packets(part)) for part in parts]
    assert connections.facts(connections.from_packets(pd.concat(parts))) == together(found)


@given(sent=SENT, shuffled=st.randoms())
@many
def test_facts_do_not_depend_on_the_order_of_connections(sent: list[tuple[int, bool, str]], shuffled) -> None:
    # The packets of one connection stay in order, those of different ones mix anyhow.
    left = {stream: [packet for packet in sent if packet[0] == stream] for stream, _, _ in sent}
    turns = [stream for stream, _, _ in sent]
    shuffled.shuffle(turns)
    mixed = [left[stream].pop(0) for stream in turns]
    tables = [connections.from_packets(synthetic(packets)) for packets in (sent, mixed)]
    assert connections.facts(tables[0]) == connections.facts(tables[1])
