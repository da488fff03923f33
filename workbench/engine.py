"""The Docker Engine's own API, where compose and the docker command do not tell: usage, networks, what is there."""

import datetime
import ipaddress
import json
import os
from collections.abc import Iterator

import httpx

from workbench.console import PATIENCE

SOCKET = "/var/run/docker.sock"
#: Containers of every stack carry this label.
BOX_LABEL = "incident-labs=box"
PROJECT_LABEL, SERVICE_LABEL = "com.docker.compose.project", "com.docker.compose.service"
#: Which of a service's containers it is, from 1.
NUMBER_LABEL = "com.docker.compose.container-number"
#: Where stacks get their subnets from, the first that is free: the engine's own pools end after some thirty networks.
POOLS = ("10.213.0.0/16", "172.29.0.0/16", "192.168.208.0/20")
#: Of 64 addresses each: no stack has more containers in one network.
SUBNET_BITS = 26


class EngineError(RuntimeError):
    """The engine answers with an error: one line with what was asked."""


class Engine:
    """The engine behind SOCKET."""

    def __init__(self) -> None:
        self._client = httpx.Client(transport=httpx.HTTPTransport(uds=SOCKET), base_url="http://engine", timeout=10 * PATIENCE)

    def get(self, path: str, **query: str):
        """What the engine answers, from JSON. Raises EngineError."""
        try:
            answer = self._client.get(path, params=query)
        except httpx.HTTPError as error:
            raise EngineError(f"the engine does not answer {path}: {error}") from None
        if answer.is_error:
            raise EngineError(f"the engine answers {path} with {answer.status_code}: {answer.text.strip()[:120]}")
        try:
            return answer.json()
        except ValueError:
            # Statistics of a container that goes meanwhile come with a success, and empty.
            raise EngineError(f"the engine answers {path} with no JSON: {answer.text.strip()[:120]!r}") from None

    def containers(self, *labels: str) -> list[dict]:
        """Every container that carries the labels, running or not."""
        return self.get("/containers/json", all="true", filters=json.dumps({"label": list(labels)}))

    def networks(self, *labels: str) -> list[dict]:
        return self.get("/networks", filters=json.dumps({"label": list(labels)}) if labels else "{}")

    def usage(self, container: str) -> dict[str, float]:
        """CPU seconds that a container has used so far and bytes of memory in use, without what could be freed at once, and when
        the engine read them (which may take it a second). Raises EngineError."""
        stats = self.get(f"/containers/{container}/stats", stream="false", **{"one-shot": "true"})
        memory = stats["memory_stats"]
        cache = memory.get("stats", {})
        reclaimable = cache.get("total_inactive_file", cache.get("inactive_file", 0))
        return {
            "time": datetime.datetime.fromisoformat(stats["read"]).timestamp(),
            "cpu_seconds": stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9,
            "memory_bytes": memory.get("usage", 0) - reclaimable,
        }

    def free_subnets(self) -> Iterator[str]:
        """Subnets that no network of the engine and no route of the host (HOST_ROUTES: its /proc/net/route) touches."""
        taken = [ipaddress.ip_network(config["Subnet"]) for network in self.networks() for config in _addresses(network)]
        taken += _routes(os.environ.get("HOST_ROUTES", ""))
        for pool in POOLS:
            for subnet in ipaddress.ip_network(pool).subnets(new_prefix=SUBNET_BITS):
                if not any(subnet.version == other.version and subnet.overlaps(other) for other in taken):
                    yield str(subnet)


def _addresses(network: dict) -> list[dict]:
    return [config for config in network["IPAM"]["Config"] or [] if config.get("Subnet")]


def _routes(table: str) -> list[ipaddress.IPv4Network]:
    """The destinations of a routing table but the default route: addresses are hexadecimal, lowest byte first."""
    rows = [line.split() for line in table.splitlines()[1:]]
    found = []
    for row in rows:
        destination, mask = (ipaddress.ip_address(bytes.fromhex(row[column])[::-1]) for column in (1, 7))
        if int(mask):
            found.append(ipaddress.ip_network(f"{destination}/{mask}", strict=False))
    return found
