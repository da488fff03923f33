"""Tests on the real stack: marked, run last, and one at a time."""

import json

import httpx
import pytest

from workbench import stack


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "stack" in item.path.parts:
            item.add_marker(pytest.mark.stack)


class Engine:
    """The engine's API, as far as the tests look into it."""

    def __init__(self) -> None:
        self._client = httpx.Client(transport=httpx.HTTPTransport(uds=stack.ENGINE_SOCKET), base_url="http://engine", timeout=30)

    def get(self, path: str, **query: str):
        answer = self._client.get(path, params=query)
        answer.raise_for_status()
        return answer.json()

    def post(self, path: str, body: dict) -> None:
        self._client.post(path, json=body).raise_for_status()

    def left_behind(self) -> list[str]:
        """Containers and networks of measured runs that are still there."""
        label = json.dumps({"label": ["com.docker.compose.project"]})
        containers = self.get("/containers/json", all="true", filters=label)
        networks = self.get("/networks", filters=label)
        return [
            thing.get("Name") or thing["Names"][0]
            for thing in containers + networks
            if thing["Labels"]["com.docker.compose.project"].endswith(stack.RUN_SUFFIX)
        ]


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine()
