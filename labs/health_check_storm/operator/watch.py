"""Clients of the services, and what the nodes think of the meshes: what happens as lines of JSON, one each.

Every second a look at the nodes (`nodes`); four requests a second, two of them to nodes of the first zone (`request`), each
told when it has ended: which zone's node was asked, which zone's mesh answered (None: nobody), and after how many seconds.
"""

import itertools
import json
import random
import threading
import time

from clients import PORTS, request
from nodes import ZONES, addresses, look

#: Whom requests are for, again and again, one each quarter of a second.
TURNS = [ZONES[0], ZONES[1], ZONES[0], ZONES[2]]
PAUSE = 1 / len(TURNS)

#: One line at a time.
SPEAKS = threading.Lock()


def tell(source, **values):
    line = json.dumps({"time": round(time.time(), 3), "source": source} | values)
    with SPEAKS:
        print(line, flush=True)


def send(zone):
    """One request to a service on some node of a zone."""
    nodes = addresses(zone)
    if not nodes:
        return
    began = time.time()
    by, took = request(random.choice(nodes), random.choice(PORTS))
    tell("request", began=round(began, 3), zone=zone, by=by, took=took)


def clients():
    for zone in itertools.cycle(TURNS):
        threading.Thread(target=send, args=(zone,), daemon=True).start()
        time.sleep(PAUSE)


def main():
    threading.Thread(target=clients, daemon=True).start()
    while True:
        tell("nodes", zones=look())
        time.sleep(1)


if __name__ == "__main__":
    main()
