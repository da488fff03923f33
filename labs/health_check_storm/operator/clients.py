"""One request to a service of a node. python3 /opt/clients.py asks every service on a node of each zone, and prints a line of
JSON for each: `zone`, `by` (which zone's mesh answered; None: nobody), and `took` (seconds)."""

import http.client
import json
import os
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from nodes import ZONES, addresses

#: Ports of a node's services.
PORTS = range(10001, 10001 + int(os.environ["SERVICES"]))


def request(address, port):
    """Who answered, and after how many seconds."""
    began, by = time.time(), None
    try:
        with urllib.request.urlopen(f"http://{address}:{port}/", timeout=30) as answer:
            by = answer.read().decode().strip()
    except (OSError, http.client.HTTPException):
        # A node that was just taken away, or one whose meshes are all dead.
        pass
    return by, round(time.time() - began, 4)


def main():
    for zone in ZONES:
        node = addresses(zone)[0]
        with ThreadPoolExecutor(len(PORTS)) as pool:
            for by, took in pool.map(lambda port, node=node: request(node, port), PORTS):
                print(json.dumps({"zone": zone, "by": by, "took": took}))


if __name__ == "__main__":
    main()
