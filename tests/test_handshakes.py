"""TLS handshakes of openssl that finish and that do not, against what workbench.connections says of them."""

import hashlib
import re
import socket
import struct
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import traffic
from expect import AES256, Mixture, alerts, facts, tls
from traffic import AMQP, HIGH, HTTP, MEMCACHED, MONGO, MQTT, MSSQL, MYSQL, ODD, POSTGRES, RDP, REDIS, VNC, XMPP, Identity

from workbench import connections

OPTIONS = {"TLSv1.2": "-tls1_2", "TLSv1.3": "-tls1_3"}
NEW, REUSED = re.compile(r"^New, TLS", re.MULTILINE), re.compile(r"^Reused, TLS", re.MULTILINE)


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
    on_the_wire = [sum(random in packet.payload for packet in parts) for parts in traffic.conversations(capture)]
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
    # A request to say hello again is no answer yet.
    assert (table["hello_wait"] == table["server_hello_time"] - table["client_hello_time"]).all()
    assert (table["hello_wait"] > 0).all()


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
    (found,) = traffic.conversations(capture)
    # openssl's client refuses in plaintext, others encrypt it.
    alert = next(packet for packet in found if packet.payload == bytes.fromhex("15030300020230"))
    before, sent = found[: found.index(alert)], []
    for number, (words, _) in enumerate(LAST_WORDS.values()):
        sent += traffic.moved([*before, replace(alert, payload=words)], traffic.place(ODD, 40000 + number, server=ODD))
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
    assert row["hello_wait"] == row["client_fin_time"] - row["client_hello_time"] < row["end"] - row["client_hello_time"]


def test_handshakes_finish_with_their_last_flight(mixture: Mixture, capture: Path) -> None:
    sent, expected, versions = [], [], []
    for name in ("full_12", "resumed_12", "full_13", "resumed_13", "retry_13", "refused_12"):
        piece = mixture.pieces[name]
        for number in range(1, len(piece) + 1):
            beginning = piece[:number]
            sent += traffic.moved(beginning, traffic.place(MYSQL, 20000 + len(expected)))
            client, server = (traffic.record_types(beginning, end) for end in (piece[0].source, piece[0].target))
            finished = 23 in client if name.endswith("13") else 20 in client and 20 in server
            handshake = name.split("_")[0].replace("retry", "full") if finished else "unfinished"
            expected.append(handshake if client else None)
            # Of two hellos from a server the first only asks for another hello.
            versions.append(server.count(22) > (name == "retry_13"))
    table = connections.table(traffic.write(capture, sent))
    assert [None if pd.isna(handshake) else handshake for handshake in table["handshake"]] == expected
    assert table["version"].notna().tolist() == versions
