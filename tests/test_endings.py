"""How connections open and end, and what goes without TLS, against what workbench.connections says of them."""

import contextlib
import socket
import ssl
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import traffic
from expect import alerts, facts, tcp, tls
from traffic import ACK, CLIENT, FIN, HIGH, HTTP, MYSQL, ODD, REDIS, RST, SERVER, SYN, VNC, Identity, Packet, syn

from workbench import connections

# Without TLS


def test_bare_connect(own: Identity, capture: Path) -> None:
    with traffic.recording(capture, HIGH), traffic.server(own, HIGH):
        for _ in range(2):
            traffic.connect(HIGH).close()
        traffic.talk(HIGH, "-tls1_2")
    table = connections.table(capture)
    assert table["handshake"].isna().tolist() == [True, True, False]
    found = connections.facts(table)
    assert (found["tcp_connections"], found["tls_connections"], found["full_handshakes"]) == (3, 1, 1)
    assert found["tls_versions"] == {"TLSv1.2": 1}


def test_plaintext_to_a_tls_server(own: Identity, capture: Path) -> None:
    with traffic.recording(capture, HTTP), traffic.server(own, HTTP), traffic.connect(HTTP) as client:
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
        traffic.connect(ODD)
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
        sent = [packet for parts in traffic.conversations(capture) for packet in last_in_one(parts, together_from)]
        packed = traffic.write(capture.with_name("packed.pcap"), traffic.moved(sent, traffic.place(443, server=HTTP)))
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
            client = traffic.connect(VNC)
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
    times = table[["client_fin_time", "server_fin_time"]]
    assert times.notna().values.tolist() == [[True, False], [False, True]]
    assert (times.max(axis=1) > table["start"]).all()
    assert (times.max(axis=1) <= table["end"]).all()


# SYNs

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
