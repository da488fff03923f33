"""What the workbench says while it works: on stderr, so that stdout stays a command's result."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

from rich.console import Console

out = Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 120)
err = Console(stderr=True, highlight=False, soft_wrap=True)

#: One knob for every time-out: PATIENCE=3 waits three times as long everywhere.
PATIENCE = float(os.environ.get("PATIENCE", "1"))


@contextlib.contextmanager
def step(what: str) -> Iterator[None]:
    """Says what is being done, again every ten seconds while it lasts, and how long it took."""
    began = time.monotonic()
    done = threading.Event()

    def heartbeat() -> None:
        while not done.wait(10):
            err.print(f"  … {what}: {time.monotonic() - began:.0f} s", style="dim")

    err.print(f"  {what} …", style="dim")
    beat = threading.Thread(target=heartbeat, daemon=True)
    beat.start()
    try:
        yield
    finally:
        done.set()
        beat.join()
        took = time.monotonic() - began
        if took >= 2:
            err.print(f"  … {what}: took {took:.1f} s", style="dim")
