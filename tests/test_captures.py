"""One capture in many forms, or cut off, and files that are no captures, against what workbench.connections says of them."""

import os
import shlex
import struct
import subprocess
import tempfile
import zipfile
from pathlib import Path

import pandas as pd
import pytest
import traffic
from expect import NOTHING, PIECES, Mixture, check_consistent, facts, tcp, tls, together
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from traffic import ARP, HIGH, LLDP, MYSQL, ODD, SYN, UDP, Identity, syn

from workbench import connections, packets

WHOLE = together(list(PIECES.values()))
WHOLE_DECRYPTED = WHOLE | {"client_alerts": 6, "server_alerts": 6}

# Each example starts a tshark.
few = settings(max_examples=8, deadline=None, database=None)


# The same connections on other ports, addresses, links, in other files


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
            sent += traffic.moved(mixture.pieces[name], traffic.place(port, client_port))
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


def test_a_capture_is_decoded_once_where_that_is_wanted(mixture: Mixture, monkeypatch) -> None:
    monkeypatch.delenv("LAB_DECODED", raising=False)
    rows = packets.decoded(mixture.capture)
    with packets.each_decoded_once():
        folder = Path(os.environ["LAB_DECODED"])
        for decode in (packets.decoded, pytest.fail):
            monkeypatch.setattr(packets, "decoded", decode)
            packets._kept.cache_clear()
            with packets.each_decoded_once():
                assert_frame_equal(packets.table(mixture.capture), rows)
        assert len(list(folder.iterdir())) == 1
    assert not folder.exists()
    assert "LAB_DECODED" not in os.environ


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
    full = traffic.moved(mixture.pieces["full_12"], traffic.place(HIGH, client_port=40000))
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
    left = [traffic.moved(mixture.pieces[name], traffic.place(port, 20000 + number)) for number, name in enumerate(chosen)]
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
