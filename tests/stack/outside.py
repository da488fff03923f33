"""What stands outside of every box, for the controls: here a probe finds what it must not find from inside."""

import contextlib
import os
import secrets
import time
from collections.abc import Iterator

from seat import docker

from workbench import console

BASE = os.environ["BASE_TRIXIE"]
PORT, NAME = 47711, "deb.debian.org"
LISTENER = f"$s = IO::Socket::INET->new(LocalPort => {PORT}, Listen => 9, ReuseAddr => 1) or die; 1 while $s->accept"


@contextlib.contextmanager
def container(network: str, *, listens: bool = False) -> Iterator[str]:
    """The name of a container on that network, which is there while the block lasts; where it listens, it does so on PORT
    from the block's beginning."""
    name = f"incident-labs-outside-{secrets.token_hex(4)}"
    command = ["perl", "-MIO::Socket::INET", "-e", LISTENER] if listens else ["sleep", "infinity"]
    options = ["--detach", "--init", "--name", name, "--label", "incident-labs=box", "--network", network]
    docker("run", *options, BASE, *command)
    try:
        deadline = time.monotonic() + 20 * console.PATIENCE
        while listens and not finds(name, connects("127.0.0.1")):
            assert time.monotonic() < deadline, f"{name} does not listen: {docker('logs', name, check=False).stderr}"
            time.sleep(0.1)
        yield name
    finally:
        docker("rm", "--force", name)


def connects(address: str, port: int = PORT) -> list[str]:
    """The command that ends with 0 where something listens there."""
    return ["timeout", "3", "bash", "-c", f": </dev/tcp/{address}/{port}"]


def resolves(name: str = NAME) -> list[str]:
    """The command that ends with 0 where that name has an address."""
    return ["timeout", "10", "getent", "hosts", name]


def finds(container: str, command: list[str]) -> bool:
    return docker("exec", container, *command, check=False).returncode == 0
