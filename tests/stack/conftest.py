"""Tests on the real stack: marked, run last, and one at a time."""

import subprocess

import pytest

from workbench import stack
from workbench.engine import PROJECT_LABEL, Engine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "stack" in item.path.parts:
            item.add_marker(pytest.mark.stack)


@pytest.fixture(scope="session")
def engine() -> Engine:
    return Engine()


def lost(network: dict) -> bool:
    """Whether it is there because the engine has lost count of what was in it: it cannot be removed, and is empty."""
    tried = subprocess.run(["docker", "network", "rm", network["Id"]], capture_output=True, text=True, check=False)
    return stack.lost_count(tried.stderr)


@pytest.fixture
def left_behind(engine):
    """Containers and networks of measured runs that are still there, when it is called."""

    def found() -> list[str]:
        things = engine.containers(PROJECT_LABEL) + engine.networks(PROJECT_LABEL)
        ours = [thing for thing in things if thing["Labels"][PROJECT_LABEL].endswith(stack.RUN_SUFFIX)]
        return [thing.get("Name") or thing["Names"][0] for thing in ours if "Driver" not in thing or not lost(thing)]

    return found
