"""What several test files share."""

import pytest

from workbench import lab


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `each_lab` runs once for every lab."""
    if "each_lab" in metafunc.fixturenames:
        names = lab.names()
        metafunc.parametrize("each_lab", [lab.load(name) for name in names], ids=names)
