"""What several test files share."""

import socket
from pathlib import Path

import pytest
import traffic
from expect import PIECES, Mixture
from traffic import MYSQL, Identity

from workbench import lab


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--every", action="store_true", help="run every scenario by hand, as make gate does")
    parser.addoption("--seeds", type=int, default=2, help="how many interviews to make of every lab")
    parser.addoption("--only", help="the one lab to run on the stack")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that asks for `each_lab` runs once for every lab."""
    if "each_lab" in metafunc.fixturenames:
        names = lab.names()
        metafunc.parametrize("each_lab", [lab.load(name) for name in names], ids=names)


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Identity:
    return traffic.identity(tmp_path_factory.mktemp("identity"))


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return tmp_path / "wire.pcap"


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    return tmp_path / "keys.txt"


@pytest.fixture(scope="session")
def mixture(own: Identity, tmp_path_factory: pytest.TempPathFactory) -> Mixture:
    folder = tmp_path_factory.mktemp("mixture")
    capture, keys = folder / "wire.pcap", folder / "keys.txt"
    log, old, new = ("-keylogfile", keys), folder / "old.pem", folder / "new.pem"
    with traffic.recording(capture, MYSQL):
        with traffic.server(own, MYSQL, "-no_ticket", "-groups", "P-256:P-384"):
            traffic.talk(MYSQL, *log, "-tls1_2", "-sess_out", old)
            traffic.talk(MYSQL, *log, "-tls1_2", "-sess_in", old)
            traffic.talk(MYSQL, *log, "-groups", "P-256", "-sess_out", new)
            traffic.talk(MYSQL, *log, "-groups", "P-256", "-sess_in", new)
            traffic.talk(MYSQL, *log, "-groups", "X25519:P-256")
            traffic.fail(MYSQL, *log, "-tls1_2", "-verify_return_error")
        with traffic.server(own, MYSQL, "-tls1_2"):
            traffic.fail(MYSQL, "-tls1_3")
        with socket.create_server(("127.0.0.1", MYSQL)) as listener:
            for leave in (lambda client: None, traffic.reset_on_close):
                with traffic.connect(MYSQL) as client, listener.accept()[0]:
                    leave(client)
    return Mixture(capture, keys, dict(zip(PIECES, traffic.conversations(capture), strict=True)))
