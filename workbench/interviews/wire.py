"""A capture told again: the same connections under other addresses, ports, times, sequence numbers and TLS sessions."""

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import dpkt

from workbench.interviews import sessions
from workbench.interviews.mask import Mask

LINUX_SLL2 = 276
#: How a connection over TLS begins.
TLS_HANDSHAKE = b"\x16\x03"
WORD = 1 << 32
NO_OPERATION, END_OF_OPTIONS, SACK, TIMESTAMPS = dpkt.tcp.TCP_OPT_NOP, dpkt.tcp.TCP_OPT_EOL, dpkt.tcp.TCP_OPT_SACK, 8

#: One direction of a connection: who sends to whom.
Way = tuple[bytes, int, bytes, int]


@dataclass
class Packet:
    """A packet of IPv4 and TCP, as it was recorded on any interface; `time` in seconds since the epoch."""

    time: float
    link: dpkt.sll2.SLL2

    @property
    def ip(self) -> dpkt.ip.IP:
        return self.link.data

    @property
    def tcp(self) -> dpkt.tcp.TCP:
        return self.link.data.data

    @property
    def way(self) -> Way:
        return self.ip.src, self.tcp.sport, self.ip.dst, self.tcp.dport


@dataclass
class _Offsets:
    """What is added to the numbers that tell two recordings of one connection to be the same."""

    random: Random
    sequence: dict[Way, int] = field(default_factory=dict)
    clock: dict[bytes, int] = field(default_factory=dict)

    def of_way(self, way: Way) -> int:
        return self.sequence.setdefault(way, self.random.randrange(WORD))

    def of_host(self, address: bytes) -> int:
        return self.clock.setdefault(address, self.random.randrange(WORD))


def read(capture: Path) -> list[Packet]:
    """The packets of a capture, without what was decrypted with it. Raises ValueError where one of them is not IPv4 and TCP."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as plain:
        _editcap("--discard-all-secrets", "-F", "pcap", str(capture), plain.name)
        with Path(plain.name).open("rb") as file:
            reader = dpkt.pcap.Reader(file)
            if reader.datalink() != LINUX_SLL2:
                raise ValueError(f"{capture}: recorded on a link of type {reader.datalink()}, not on any interface ({LINUX_SLL2})")
            packets = [Packet(time, dpkt.sll2.SLL2(frame)) for time, frame in reader]
    for number, packet in enumerate(packets, 1):
        if not isinstance(packet.link.data, dpkt.ip.IP) or not isinstance(packet.link.data.data, dpkt.tcp.TCP):
            raise ValueError(f"{capture}: frame {number} is not IPv4 and TCP")
    return packets


def write(packets: Iterable[Packet], capture: Path) -> None:
    """Writes packets in the order of their times, with checksums that are right, as pcapng without any comment."""
    with tempfile.NamedTemporaryFile(suffix=".pcap") as plain:
        writer = dpkt.pcap.Writer(plain, snaplen=262144, linktype=LINUX_SLL2)
        for packet in sorted(packets, key=lambda packet: packet.time):
            # What is 0 is computed when it is written.
            packet.ip.sum = packet.tcp.sum = 0
            writer.writepkt(bytes(packet.link), packet.time)
        plain.flush()
        _editcap("-F", "pcapng", plain.name, str(capture))


def _editcap(*words: str) -> None:
    subprocess.run(["editcap", *words], check=True, capture_output=True)


def thin(packets: list[Packet], random: Random, share: float) -> list[Packet]:
    """Without about a share of the connections, each of them whole: another hour of the same traffic."""
    left_out = {
        connection for connection in sorted({_connection(packet) for packet in packets}, key=sorted) if random.random() < share
    }
    return [packet for packet in packets if _connection(packet) not in left_out]


def _connection(packet: Packet) -> frozenset:
    sender, port, receiver, its_port = packet.way
    return frozenset({(sender, port), (receiver, its_port)})


def scatter(packets: list[Packet], random: Random, count: int, begin: float, end: float) -> list[Packet]:
    """Some of the connections, each of them begun anew at any time between two moments: others use the network as well. Of those
    in which nothing is said in plain text, which would say who they are."""
    by_connection = defaultdict(list)
    for packet in packets:
        by_connection[_connection(packet)].append(packet)
    said = {
        connection: next((packet.tcp.data for packet in sent if packet.tcp.data), b"") for connection, sent in by_connection.items()
    }
    mute = [connection for connection, first in said.items() if not first or first[:2] == TLS_HANDSHAKE]
    chosen = random.sample(sorted(mute, key=sorted), min(count, len(mute)))
    found = []
    for connection in chosen:
        moved = random.uniform(begin, end) - by_connection[connection][0].time
        for packet in by_connection[connection]:
            packet.time += moved
            if packet.time < end:
                found.append(packet)
    return found


def disguise(packets: list[Packet], mask: Mask, random: Random) -> None:
    """Puts a mask on packets, in place. Lengths stay as they are, and so does what belongs together."""

    def change(data: bytearray) -> None:
        data[:] = mask.in_bytes(data)
        sessions.rename(data, mask.key)

    _rewrite(packets, change)
    offsets, interface = _Offsets(random), random.randrange(2, 60)
    for packet in packets:
        _number(packet, offsets)
        _address(packet, mask, interface)
        packet.time = mask.time(packet.time)


def undisguise(packets: list[Packet], mask: Mask) -> None:
    """Takes a mask's addresses, ports, names and times off again; numbers and sessions stay other ones."""
    back = mask.reverse()

    def change(data: bytearray) -> None:
        data[:] = back.in_bytes(data)

    _rewrite(packets, change)
    for packet in packets:
        _address(packet, back, packet.link.intindex)
        packet.time = back.time(packet.time)


def _rewrite(packets: list[Packet], change: Callable[[bytearray], None]) -> None:
    """Changes what each side sends, in pieces without a gap: what is looked for may lie in two packets."""
    by_way = defaultdict(list)
    for packet in packets:
        if packet.tcp.data:
            by_way[packet.way].append(packet)
    for sent in by_way.values():
        first = sent[0].tcp.seq
        starts = {id(packet): (packet.tcp.seq - first + WORD // 2) % WORD - WORD // 2 for packet in sent}
        pieces: list[tuple[int, bytearray, list[Packet]]] = []
        for packet in sorted(sent, key=lambda packet: starts[id(packet)]):
            start, data = starts[id(packet)], bytes(packet.tcp.data)
            if not pieces or start > pieces[-1][0] + len(pieces[-1][1]):
                pieces.append((start, bytearray(), []))
            begin, piece, parts = pieces[-1]
            piece[start - begin : start - begin + len(data)] = data
            parts.append(packet)
        for begin, piece, parts in pieces:
            change(piece)
            for packet in parts:
                at = starts[id(packet)] - begin
                packet.tcp.data = bytes(piece[at : at + len(packet.tcp.data)])


def _number(packet: Packet, offsets: _Offsets) -> None:
    tcp, (sender, port, receiver, its_port) = packet.tcp, packet.way
    mine, theirs = offsets.of_way(packet.way), offsets.of_way((receiver, its_port, sender, port))
    tcp.seq = (tcp.seq + mine) % WORD
    if tcp.flags & dpkt.tcp.TH_ACK:
        tcp.ack = (tcp.ack + theirs) % WORD
    options = []
    for kind, value in dpkt.tcp.parse_opts(tcp.opts):
        if kind == SACK:
            value = b"".join(_plus(value[at : at + 4], theirs) for at in range(0, len(value), 4))
        elif kind == TIMESTAMPS:
            echo = value[4:8]
            # Nothing is echoed in the first packet.
            value = _plus(value[:4], offsets.of_host(sender)) + (_plus(echo, offsets.of_host(receiver)) if any(echo) else echo)
        options.append(bytes([kind]) if kind in (NO_OPERATION, END_OF_OPTIONS) else bytes([kind, len(value) + 2]) + value)
    tcp.opts = b"".join(options).ljust(len(tcp.opts), b"\0")
    packet.ip.id = (packet.ip.id + offsets.of_host(sender)) % (1 << 16) if packet.ip.id else 0


def _plus(number: bytes, offset: int) -> bytes:
    return ((int.from_bytes(number) + offset) % WORD).to_bytes(4)


def _address(packet: Packet, mask: Mask, interface: int) -> None:
    ip, tcp = packet.ip, packet.tcp
    tcp.sport, tcp.dport = mask.port(ip.src, tcp.sport), mask.port(ip.dst, tcp.dport)
    ip.src, ip.dst = mask.packed(ip.src), mask.packed(ip.dst)
    packet.link.intindex = interface
    # The engine makes the hardware address of an interface of its IPv4 address.
    packet.link.hdr = b"\x02\x42" + ip.src + b"\0\0"
