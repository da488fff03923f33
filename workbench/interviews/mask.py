"""Other names for addresses, ports, hosts and times, the same in a capture, in logs and in configuration."""

import datetime
import functools
import ipaddress
import re
from dataclasses import dataclass

#: Where Linux takes the ports of who connects from, and what a port may be moved by: it stays even or odd, as the kernel
#: prefers, and modulo 16, by which some recordings are thinned.
EPHEMERAL, STEP = range(32768, 61008), 16
HTTP_DATE = "%a, %d %b %Y %H:%M:%S GMT"
#: The validity of a certificate (ASN.1's UTCTime, 13 characters).
UTC_TIME = re.compile(rb"(?<=\x17\x0d)\d{12}(?=Z)")
IN_BYTES = re.compile(rb"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\b")
#: Dates in logs.
IN_LOGS = {
    re.compile(r"\b\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\b"): "%Y/%m/%d %H:%M:%S",
    re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\b"): "%Y-%m-%d %H:%M:%S",
    re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\b"): "%Y-%m-%dT%H:%M:%S",
}
#: A host's port that its client chose, as the text says it; and a server's, wherever it stands.
_ENDPOINT = re.compile(r"\b(\d+\.\d+\.\d+\.\d+):(3[2-9]\d{3}|[45]\d{4}|60\d{3})\b")
_PORT = re.compile(r"(?:(?<=:)|(?<=listen ))\d{2,5}\b(?!:)")


@dataclass(frozen=True)
class Mask:
    """Each name and what is said in its place, of the same length where it is sent; `turns` are by how much a host's own ports
    are moved (by its address), and `seconds` how much later everything is."""

    key: bytes
    addresses: dict[str, str]
    ports: dict[int, int]
    hosts: dict[str, str]
    #: What is replaced wherever it stands, also within a word.
    words: dict[str, str]
    turns: dict[str, int]
    seconds: int

    def __post_init__(self) -> None:
        for said in (self.addresses, self.ports, self.hosts, self.words):
            if len(set(said.values())) < len(said):
                raise ValueError(f"two are called the same: {said}")

    def reverse(self) -> "Mask":
        """The mask that takes this one off again."""
        return Mask(
            self.key,
            {other: name for name, other in self.addresses.items()},
            {other: name for name, other in self.ports.items()},
            {other: name for name, other in self.hosts.items()},
            {other: name for name, other in self.words.items()},
            {self.addresses[address]: -turn for address, turn in self.turns.items()},
            -self.seconds,
        )

    def time(self, seconds: float) -> float:
        return seconds + self.seconds

    def packed(self, address: bytes) -> bytes:
        """An IPv4 address as it stands in a packet; one that the mask does not know stays."""
        return _packed(self.addresses.get(dotted(address), dotted(address)))

    def port(self, address: bytes, port: int) -> int:
        """The port of a host; a server's is the same at every host. Those of a host that the mask does not know stay."""
        if dotted(address) not in self.addresses:
            return port
        if port not in EPHEMERAL:
            return self.ports.get(port, port)
        turned = (port - EPHEMERAL.start + STEP * self.turns[dotted(address)]) % len(EPHEMERAL)
        return EPHEMERAL.start + turned

    def in_bytes(self, data: bytes) -> bytes:
        """Data of a connection, no longer and no shorter. Raises ValueError where what is said in a name's place is."""
        said = self._names.sub(lambda found: self._said[found[0].decode()].encode(), data)
        for word, other in self.words.items():
            said = said.replace(word.encode(), other.encode())
        said = IN_BYTES.sub(lambda found: self._date(found[0].decode(), HTTP_DATE).encode(), said)
        said = UTC_TIME.sub(lambda found: self._date(found[0].decode(), "%y%m%d%H%M%S").encode(), said)
        if len(said) != len(data):
            raise ValueError(f"a name of another length in what is sent: {self._said}")
        return said

    def text(self, text: str) -> str:
        """Lines of a log, a configuration or a question."""
        text = _ENDPOINT.sub(lambda found: f"{found[1]}:{self.port(_packed(found[1]), int(found[2]))}", text)
        text = _PORT.sub(lambda found: str(self.ports.get(int(found[0]), found[0])), text)
        text = self._names.sub(lambda found: self._said[found[0].decode()].encode(), text.encode()).decode()
        for word, other in self.words.items():
            text = text.replace(word, other)
        for pattern, form in IN_LOGS.items():
            text = pattern.sub(lambda found, form=form: self._date(found[0], form), text)
        return text

    @functools.cached_property
    def _said(self) -> dict[str, str]:
        return self.addresses | self.hosts

    @functools.cached_property
    def _names(self) -> re.Pattern[bytes]:
        """A host's name as a host's, web-1 with its web: not web/1.26, nor /run/web, nor the
        process "web"."""
        any_of = "|".join(map(re.escape, sorted(self._said, key=len, reverse=True)))
        in_urls, alone = rf"(?<=//)(?:{any_of})(?!\w|-\w\w)", rf"(?<![\w./\"-])(?:{any_of})(?!\w|-\w\w|/| version)"
        return re.compile(f"{in_urls}|{alone}".encode())

    def _date(self, text: str, form: str) -> str:
        # Some call the hour after midnight 24.
        text = re.sub(r"(?<=[ T])24(?=:\d\d:\d\d)", "00", text)
        then = datetime.datetime.strptime(text, form) + datetime.timedelta(seconds=self.seconds)
        return then.strftime(form)


def dotted(address: bytes) -> str:
    """An IPv4 address of a packet as it is written."""
    return str(ipaddress.IPv4Address(address))


def _packed(address: str) -> bytes:
    return ipaddress.IPv4Address(address).packed
