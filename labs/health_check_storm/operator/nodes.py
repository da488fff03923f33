"""What the nodes of the grid think of the meshes, asked of each node's HAProxy.

python3 /opt/nodes.py prints a line a zone: its nodes, its services on all of them, and how many of these take which mesh
for dead.
"""

import os
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

ZONES = os.environ["ZONES"].split()
#: In the answer to `show servers state`: the proxy's name, the server's, and whether it is taken for dead (0).
PROXY, SERVER, STATE = 1, 3, 5


def addresses(zone):
    """Every node of a zone."""
    try:
        return socket.gethostbyname_ex(f"grid-{zone}")[2]
    except OSError:
        return []


def ask(address):
    """The servers of a node's services, as (server, state); nothing where the node does not answer."""
    try:
        with socket.create_connection((address, 9999), timeout=2) as node:
            node.sendall(b"show servers state\n")
            text = b"".join(iter(lambda: node.recv(65536), b"")).decode()
    except OSError:
        return []
    rows = [line.split() for line in text.splitlines()]
    return [(row[SERVER], row[STATE]) for row in rows if len(row) > STATE and row[PROXY].startswith("service-")]


def look():
    """By zone: `nodes` that answer, `services` on all of them together, and `down`: by mesh how many take it for dead."""
    where = {zone: addresses(zone) for zone in ZONES}
    every = [(zone, address) for zone in ZONES for address in where[zone]]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda node: ask(node[1]), every))
    found = {}
    for zone in ZONES:
        told = [servers for (each, _), servers in zip(every, answers, strict=True) if each == zone and servers]
        states = Counter(server for servers in told for server in servers)
        found[zone] = {
            "nodes": len(told),
            "services": sum(states[f"mesh-{zone}", state] for state in "0123"),
            "down": {mesh: states[f"mesh-{mesh}", "0"] for mesh in ZONES},
        }
    return found


if __name__ == "__main__":
    for zone, seen in look().items():
        down = ", ".join(f"mesh-{mesh} {count}" for mesh, count in seen["down"].items())
        print(f"zone {zone}: {seen['nodes']} nodes, {seen['services']} services; taken for dead: {down}")
