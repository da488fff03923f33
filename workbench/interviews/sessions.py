"""TLS randoms, session ids and tickets, renamed alike wherever they are sent: nobody can look them up in the recording."""

import hashlib
import hmac
import re
from collections.abc import Iterator

HANDSHAKE, CHANGE_CIPHER_SPEC = 22, 20
CLIENT_HELLO, SERVER_HELLO, NEW_SESSION_TICKET = 1, 2, 4
SESSION_TICKET = 35
#: RFC 8446, 4.1.3: what the last eight bytes of a server's random may say, and the random of a Hello Retry Request.
DOWNGRADED = (b"DOWNGRD\x01", b"DOWNGRD\x00")
RETRY_RANDOM = bytes.fromhex("cf21ad74e59a6111be1d8c021e65b891c2a211167abb8c5e079e09e2c8a8339c")
_IN_LOGS = re.compile(r"\b(?:[0-9A-F]{2} ){31}[0-9A-F]{2}\b")


def rename(data: bytearray, key: bytes) -> None:
    """What one side sent from the first byte of a connection on, as far as it is known; in place. What is not TLS up to 1.2 is
    left as it is."""
    for begin, end, kind in _messages(data):
        body = memoryview(data)[begin + 4 : end]
        if kind in (CLIENT_HELLO, SERVER_HELLO):
            _hello(body, kind, key)
        elif kind == NEW_SESSION_TICKET and len(body) > 6:
            _replace(body[6:], key)


def in_text(text: str, key: bytes) -> str:
    """Session ids in a log: bytes in hexadecimal, with spaces between them."""
    return _IN_LOGS.sub(lambda found: _other(bytes.fromhex(found[0]), key).hex(" ").upper(), text)


def _messages(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Begin, end and kind of each handshake message that is not encrypted and lies in one record."""
    at = 0
    while at + 5 <= len(data) and data[at] in (HANDSHAKE, CHANGE_CIPHER_SPEC) and data[at + 1] == 3:
        if data[at] == CHANGE_CIPHER_SPEC:
            return
        record_end = at + 5 + int.from_bytes(data[at + 3 : at + 5])
        message = at + 5
        while message + 4 <= min(record_end, len(data)):
            end = message + 4 + int.from_bytes(data[message + 1 : message + 4])
            if end > min(record_end, len(data)):
                break
            yield message, end, data[message]
            message = end
        at = record_end


def _hello(body: memoryview, kind: int, key: bytes) -> None:
    if bytes(body[2:34]) != RETRY_RANDOM:
        kept = 8 if kind == SERVER_HELLO and bytes(body[26:34]) in DOWNGRADED else 0
        _replace(body[2 : 34 - kept], key)
    at = 35 + body[34]
    _replace(body[35:at], key)
    if kind == CLIENT_HELLO:
        at += 2 + int.from_bytes(body[at : at + 2])
        at += 1 + body[at]
        _ticket(body[at + 2 :], key)


def _ticket(extensions: memoryview, key: bytes) -> None:
    at = 0
    while at + 4 <= len(extensions):
        kind, length = int.from_bytes(extensions[at : at + 2]), int.from_bytes(extensions[at + 2 : at + 4])
        if kind == SESSION_TICKET:
            _replace(extensions[at + 4 : at + 4 + length], key)
        at += 4 + length


def _replace(value: memoryview, key: bytes) -> None:
    """The same in place of the same, for one key."""
    if len(value):
        value[:] = _other(bytes(value), key)


def _other(value: bytes, key: bytes) -> bytes:
    return hashlib.shake_256(hmac.digest(key, value, "sha256")).digest(len(value))
