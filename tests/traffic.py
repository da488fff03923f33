"""Captures for the tests: real TLS of openssl over loopback, recorded by tcpdump, and packets written by hand."""

import contextlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

End = tuple[str, int]

FIN, SYN, RST, PSH, ACK = 0x01, 0x02, 0x04, 0x08, 0x10
IPV4, ARP, IPV6, LLDP = 0x0800, 0x0806, 0x86DD, 0x88CC
ICMP, IP_IN_IP, TCP, UDP, ICMPV6 = 1, 4, 6, 17, 58
ETHERNET, COOKED = 1, 276
#: Length of the link's header, and where the kind of what follows stands in it.
LINK_HEADERS = {ETHERNET: (14, 12), COOKED: (20, 0)}
#: Where the packet goes that marks the end of a recording (discard).
MARKER_PORT = 9
PATIENCE = 20

#: Ports that tshark gives to other protocols than TLS, and two that it gives to none.
MSSQL, MQTT, MYSQL, RDP, XMPP, POSTGRES, AMQP, VNC = 1433, 1883, 3306, 3389, 5222, 5432, 5672, 5900
REDIS, HTTP, ODD, MEMCACHED, MONGO, HIGH = 6379, 8080, 9999, 11211, 27017, 61234

#: The ends of packets written by hand.
CLIENT, SERVER = ("10.0.0.1", 40000), ("10.0.0.2", ODD)


def until(condition: Callable[[], object], what: str) -> None:
    """Waits until the condition holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"still waiting for {what}")
        time.sleep(0.005)


def run(*command: str | Path) -> str:
    """Runs a tool that has to succeed, and gives what it printed."""
    done = subprocess.run(_words(command), capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


def _words(command: Iterable[str | Path | int]) -> list[str]:
    return [str(word) for word in command]


# Recording


@contextlib.contextmanager
def recording(capture: Path, *ports: int, interface: str = "lo") -> Iterator[None]:
    """Records these TCP ports of loopback, until each connection that the block made has ended on the wire."""
    wanted = " or ".join([f"udp dst port {MARKER_PORT}", *(f"tcp port {port}" for port in ports)])
    # Immediate mode keeps one slot of the buffer for each packet, as long as the longest: by default there are eight.
    slots = ("--immediate-mode", "-s", 65535, "-B", 32768)
    command = ["tcpdump", "-i", interface, "-n", "-U", *slots, "-w", capture, wanted]
    with subprocess.Popen(_words(command), stderr=subprocess.PIPE, text=True) as tcpdump:
        try:
            said = [""]
            while "listening on" not in said[-1]:
                said.append(tcpdump.stderr.readline())
                assert said[-1], f"tcpdump does not start: {said}"
            yield
            # Loopback keeps the order: once the marker is in the file, so is all that was sent before it.
            _send_marker()
            until(lambda: any(ip[9] == UDP for _, kind, ip in frames(capture) if kind == IPV4), "the marker")
            until(lambda: _all_ended(read(capture)), "the ends of the connections")
        finally:
            tcpdump.send_signal(signal.SIGINT)
            said.append(tcpdump.stderr.read())
    assert re.search(r"^0 packets dropped by kernel", said[-1], re.MULTILINE), said


def _send_marker() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(b"marker", ("127.0.0.1", MARKER_PORT))


def _all_ended(packets: Iterable["Packet"]) -> bool:
    """Whether each connection was reset, or closed by both ends."""
    ended: dict[frozenset[End], set[End]] = {}
    for packet in packets:
        ends = ended.setdefault(frozenset((packet.source, packet.target)), set())
        if packet.flags & RST:
            ends |= {packet.source, packet.target}
        if packet.flags & FIN:
            ends.add(packet.source)
    return all(len(ends) == 2 for ends in ended.values())


def with_secrets(capture: Path, keys: Path) -> Path:
    """The capture as pcapng with its TLS secrets inside."""
    target = capture.with_name(f"{capture.stem}_keys.pcapng")
    run("editcap", "--inject-secrets", f"tls,{keys}", capture, target)
    return target


# Ends of a connection


@dataclass(frozen=True)
class Identity:
    """A server's key, and its certificate that nobody else signed."""

    key: Path
    certificate: Path


def identity(folder: Path) -> Identity:
    """Makes a key and a certificate for localhost."""
    own = Identity(folder / "key.pem", folder / "certificate.pem")
    new = ("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
    run("openssl", *new, "-subj", "/CN=localhost", "-keyout", own.key, "-out", own.certificate)
    return own


@contextlib.contextmanager
def server(own: Identity, port: int, *options: str | Path) -> Iterator[None]:
    """openssl's server: it answers each line with the same line backwards, until the block ends."""
    command = ("openssl", "s_server", "-accept", f"127.0.0.1:{port}", "-key", own.key, "-cert", own.certificate, "-rev")
    with tempfile.TemporaryFile() as log:
        running = subprocess.Popen(_words([*command, *options]), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            until(lambda: running.poll() is not None or b"ACCEPT" in _content(log), "openssl s_server")
            assert running.poll() is None, _content(log)
            yield
        finally:
            running.kill()
            running.wait()


def _content(log: IO[bytes]) -> bytes:
    log.seek(0)
    return log.read()


@contextlib.contextmanager
def client(port: int, *options: str | Path) -> Iterator[subprocess.Popen]:
    """openssl's client, with pipes to what it sends and from what it prints."""
    command = _words(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", *options])
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def talk(port: int, *options: str | Path) -> str:
    """openssl's client: it shakes hands, sends a line, reads the answer, says close_notify. Gives what it printed.

    The answer comes behind the handshake and the server's tickets: when it is there, so are they.
    """
    with client(port, *options) as running:
        running.stdin.write("ping\n")
        running.stdin.flush()
        printed = [""]
        while "gnip\n" not in printed:
            printed.append(running.stdout.readline())
            assert printed[-1], f"no answer: {''.join(printed)}"
        running.stdin.close()
        printed.append(running.stdout.read())
        assert running.wait(PATIENCE) == 0, "".join(printed)
    return "".join(printed)


def fail(port: int, *options: str | Path) -> str:
    """openssl's client in a handshake that has to fail. Gives what it printed."""
    with client(port, *options) as running:
        printed, _ = running.communicate(timeout=PATIENCE)
        assert running.returncode != 0, f"the handshake did not fail: {printed}"
    return printed


def end(
    own: Identity,
    port: int,
    ending: Callable[[ssl.SSLSocket, ssl.SSLSocket], None],
    version: str,
    keys: Path,
    protocol: str = "http/1.1",
) -> None:
    """A handshake between two ends in this process, `ending(client, server)` after it, and both sockets closed."""
    as_server, as_client = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    as_server.load_cert_chain(own.certificate, own.key)
    # A ticket that the client leaves unread would make its close a reset.
    as_server.num_tickets = 0
    as_client.load_verify_locations(own.certificate)
    for context in (as_server, as_client):
        context.set_alpn_protocols([protocol])
    as_client.keylog_filename = str(keys)
    as_client.minimum_version = as_client.maximum_version = ssl.TLSVersion[version.replace(".", "_")]
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", port)))
        near = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE))
        far = stack.enter_context(listener.accept()[0])
        far.settimeout(PATIENCE)
        accepted: list[ssl.SSLSocket] = []
        thread = threading.Thread(target=lambda: accepted.append(as_server.wrap_socket(far, server_side=True)))
        thread.start()
        secure = stack.enter_context(as_client.wrap_socket(near, server_hostname="localhost"))
        thread.join()
        ending(secure, stack.enter_context(accepted[0]))


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), PATIENCE)


def say_close_notify(side: ssl.SSLSocket) -> None:
    """Sends close_notify, without waiting for that of the other side."""
    side.setblocking(False)
    with contextlib.suppress(ssl.SSLWantReadError):
        side.unwrap()


def reset_on_close(side: socket.socket) -> None:
    """From now on closing sends RST in place of FIN."""
    side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# Packets


@dataclass(frozen=True)
class Packet:
    """One TCP packet; `time` in microseconds."""

    source: End
    target: End
    flags: int
    seq: int = 0
    ack: int = 0
    payload: bytes = b""
    options: bytes = b""
    time: int = 0


def syn(seq: int, port: int = 40000) -> Packet:
    return Packet((CLIENT[0], port), SERVER, SYN, seq)


def frames(capture: Path) -> list[tuple[int, int, bytes]]:
    """Time, kind and content of each whole frame of a pcap file as tcpdump writes it."""
    data = capture.read_bytes() if capture.exists() else b""
    if len(data) < 24:
        return []
    header, kind_at = LINK_HEADERS[struct.unpack_from("<I", data, 20)[0]]
    found, at = [], 24
    while len(data) >= at + 16:
        seconds, micros, length, _ = struct.unpack_from("<4I", data, at)
        frame = data[at + 16 : at + 16 + length]
        if len(frame) < length:
            break
        found.append((seconds * 10**6 + micros, int.from_bytes(frame[kind_at : kind_at + 2]), frame[header:]))
        at += 16 + length
    return found


def read(capture: Path) -> list[Packet]:
    """The TCP packets over IPv4 of a pcap file."""
    found = []
    for when, kind, ip in frames(capture):
        if kind != IPV4 or ip[9] != TCP:
            continue
        tcp = ip[(ip[0] & 15) * 4 : int.from_bytes(ip[2:4])]
        sport, dport, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", tcp)
        head = (offset >> 4) * 4
        source, target = (socket.inet_ntoa(ip[12:16]), sport), (socket.inet_ntoa(ip[16:20]), dport)
        found.append(Packet(source, target, flags, seq, ack, tcp[head:], tcp[20:head], when))
    return found


def conversations(capture: Path) -> list[list[Packet]]:
    """The packets of each connection of a pcap file, in the order of their first packets."""
    found: dict[frozenset[End], list[Packet]] = {}
    for packet in read(capture):
        found.setdefault(frozenset((packet.source, packet.target)), []).append(packet)
    return list(found.values())


def write(capture: Path, packets: Iterable[Packet | bytes]) -> Path:
    """Writes a pcap file of TCP packets and whole Ethernet frames."""
    with capture.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, ETHERNET))
        for packet in packets:
            when, data = (0, packet) if isinstance(packet, bytes) else (packet.time, frame(packet))
            file.write(struct.pack("<4I", *divmod(when, 10**6), len(data), len(data)) + data)
    return capture


def frame(packet: Packet) -> bytes:
    """A TCP packet as an Ethernet frame."""
    ports, numbers = (packet.source[1], packet.target[1]), (packet.seq % 2**32, packet.ack % 2**32)
    offset = (20 + len(packet.options)) // 4 << 4
    head = struct.pack(">HHIIBBHHH", *ports, *numbers, offset, packet.flags, 65535, 0, 0)
    return ip_frame(packet.source[0], packet.target[0], TCP, head + packet.options + packet.payload)


def ip_frame(source: str, target: str, protocol: int, content: bytes) -> bytes:
    """An Ethernet frame with IPv4, or with IPv6 where the addresses are IPv6."""
    if ":" in source:
        ends = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, target)
        return ethernet(IPV6, struct.pack(">IHBB", 6 << 28, len(content), protocol, 64) + ends + content)
    ends = socket.inet_aton(source) + socket.inet_aton(target)
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(content), 0, 0x4000, 64, protocol, 0)
    return ethernet(IPV4, head + ends + content)


def ethernet(kind: int, content: bytes) -> bytes:
    return bytes(12) + kind.to_bytes(2) + content


def record_types(packets: Iterable[Packet], source: End) -> list[int]:
    """The types of the TLS records that one end sent, in packets that neither repeat nor miss a byte."""
    sent, found, at = b"".join(packet.payload for packet in packets if packet.source == source), [], 0
    while len(sent) >= at + 5:
        length = int.from_bytes(sent[at + 3 : at + 5])
        if len(sent) < at + 5 + length:
            break
        found.append(sent[at])
        at += 5 + length
    return found


def moved(packets: Iterable[Packet], place: Callable[[End], End]) -> list[Packet]:
    """The same packets between other addresses and ports."""
    return [replace(packet, source=place(packet.source), target=place(packet.target)) for packet in packets]


def place(port: int, client_port: int | None = None, server: int = MYSQL) -> Callable[[End], End]:
    """Moves a server from port `server` to `port`, and its client to `client_port`."""

    def at(end: End) -> End:
        return (end[0], port if end[1] == server else client_port or end[1])

    return at


def split(packets: Iterable[Packet], size: int) -> list[Packet]:
    """The same bytes in segments of at most `size`, as over a link with a smaller MTU than that of loopback."""
    found = []
    for packet in packets:
        starts = range(0, max(len(packet.payload), 1), size)
        for start in starts:
            flags = packet.flags if start == starts[-1] else packet.flags & ~(FIN | PSH)
            part = packet.payload[start : start + size]
            found.append(replace(packet, seq=packet.seq + start, payload=part, flags=flags))
    return found
