"""Every notebook in JupyterLab, looked at with a real browser: it opens, runs all of its cells, and shows no error."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import nbformat
import pytest
import seat
from seat import PICTURES, docker

from workbench import lab
from workbench.lab import ROOT, Lab

KINDS = ("walkthrough", "exercise")


@pytest.fixture(scope="module")
def browser() -> str:
    return subprocess.run(["bash", "compose/browser.sh"], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def here():
    with seat.opened() as opened:
        PICTURES.mkdir(parents=True, exist_ok=True)
        yield opened


def look(here: seat.Seat, browser: str, notebook: str, picture: str) -> dict:
    """Runs a notebook of the seat in the browser. Its container shares the door's network, so that 127.0.0.1 is the
    door's own."""
    url = urlsplit(here.url)._replace(netloc="127.0.0.1:8888").geturl()
    done = docker(
        *("run", "--rm", "--init", "--label", "incident-labs=notebooks", "--network", f"container:{here.door}"),
        *("--user", f"{os.getuid()}:{os.getgid()}", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--memory", "3g", "--pids-limit", "1024", "--shm-size", "512m"),
        *("--volume", f"{ROOT}/tests:{ROOT}/tests:ro", "--volume", f"{PICTURES}:{PICTURES}"),
        *(browser, "python3", f"{ROOT}/tests/stack/browse.py", url, notebook, str(PICTURES / picture)),
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def without_outputs(path) -> nbformat.NotebookNode:
    """The seat's copy as if it had never run: what is then to be seen was done in the browser."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    nbformat.write(notebook, path)
    return notebook


def test_the_notebooks_open_and_run(here, browser, each_lab):
    """Both at once, in a browser each."""
    with ThreadPoolExecutor(len(KINDS)) as pool:
        list(pool.map(lambda kind: opens_and_runs(here, browser, each_lab, kind), KINDS))


def opens_and_runs(here: seat.Seat, browser: str, each_lab: Lab, kind: str) -> None:
    name = f"case-{each_lab.case}/{kind}.ipynb"
    cells = [cell for cell in without_outputs(here.folder / name).cells if cell.cell_type == "code"]
    seen = look(here, browser, name, f"case-{each_lab.case}-{kind}")
    assert seen["prompts"] == [f"[{number}]:" for number in range(1, len(cells) + 1)]
    assert seen["errors"] == seen["dialogs"] == []
    assert seen["pictures"] > 0
    assert seen["broken_pictures"] == 0
    assert len(seen["outputs"]) >= len(cells) / 2
    assert set(seen["files"]) == {"captures", "exercise.ipynb", "walkthrough.ipynb"}
    if kind == "exercise":
        assert sum("Open." in output for output in seen["outputs"]) == sum(".check(" in cell.source for cell in cells)


def test_a_cell_that_fails_is_noticed(here, browser):
    """The control of the test above."""
    folder = here.folder / "control"
    folder.mkdir()
    cells = [nbformat.v4.new_code_cell(source) for source in ("1 + 1", "1 / 0", "2 + 2")]
    metadata = nbformat.read(here.folder / "case-1" / "exercise.ipynb", as_version=4).metadata
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), folder / "fails.ipynb")
    seen = look(here, browser, "control/fails.ipynb", "control")
    assert seen["prompts"] == ["[1]:", "[2]:", "[ ]:"]
    assert len(seen["errors"]) == 1
    assert "ZeroDivisionError" in seen["errors"][0]
    assert seen["pictures"] == 0


def test_every_notebook_stays_open_at_once(here):
    """The kernels of the tests above are all still there: where they fill the memory, the next one stands still."""
    kernels = docker("exec", here.jupyter, "sh", "-c", "grep -lz ipykernel_launcher /proc/[0-9]*/cmdline | wc -l").stdout
    if int(kernels) < len(KINDS) * len(lab.names()):
        pytest.skip("not every notebook was opened")
    used = docker("stats", "--no-stream", "--format", "{{.MemPerc}}", here.jupyter).stdout.strip()
    assert float(used.rstrip("%")) < 80
