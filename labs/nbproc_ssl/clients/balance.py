"""Who is served, and by which of HAProxy's processes: python3 /opt/balance.py so-far|sparse|held HOST. Prints lines of JSON: for
each `process` its `connections` over TLS (each is asked for them at a port of its own, from 9001 on).

so-far: since it began. sparse: of a client that comes 400 times, one connection after the other. held: of 60 clients that come one
after the other and stay; each asks once when all are there, and a further line says how many were `opened` and `answered`.
"""

import itertools
import json
import re
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

from probe import PATIENCE, REQUEST, WELL, context

SPARSE, HELD = 400, 60
FIRST_PORT, MOST = 9001, 16
#: What each process counts: connections over TLS so far, and those that stand.
COUNTER = {"so-far": "CumSslConns", "sparse": "CumSslConns", "held": "CurrSslConns"}


def counts(host, counter):
    found = {}
    for number in range(1, MOST + 1):
        try:
            with socket.create_connection((host, FIRST_PORT - 1 + number), timeout=PATIENCE) as process:
                process.sendall(b"show info\n")
                text = b"".join(iter(lambda: process.recv(65536), b"")).decode()
        except ConnectionRefusedError:
            break
        found[number] = int(re.search(rf"^{counter}: (\d+)", text, re.MULTILINE)[1])
    return found


def connect(host, settings):
    """A connection that stands; None where it comes to nothing in time."""
    try:
        return settings.wrap_socket(socket.create_connection((host, 443), timeout=PATIENCE))
    except OSError:
        return None


def answered(connection):
    try:
        connection.sendall(REQUEST)
        return connection.recv(4096).startswith(WELL)
    except OSError:
        return False


def sparse(host, settings):
    for _ in range(SPARSE):
        if made := connect(host, settings):
            made.close()


def held(host, settings):
    """What each process holds, once all clients are there and before they ask. Where one does not get in, none comes after it."""
    connections = list(itertools.takewhile(bool, (connect(host, settings) for _ in range(HELD))))
    standing = counts(host, COUNTER["held"])
    with ThreadPoolExecutor(HELD) as pool:
        print(json.dumps({"opened": HELD, "answered": sum(pool.map(answered, connections))}))
    return standing


def main():
    way, host = sys.argv[1], sys.argv[2]
    before = {} if way == "so-far" else counts(host, COUNTER[way])
    if way == "sparse":
        sparse(host, context())
    after = held(host, context()) if way == "held" else counts(host, COUNTER[way])
    for number in after:
        print(json.dumps({"process": number, "connections": after[number] - before.get(number, 0)}))


if __name__ == "__main__":
    main()
