"""The walkthroughs and exercises: executed over the recorded runs, and committed with what they show."""

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

from workbench.lab import ROOT

#: Seconds that one cell may take.
CELL_TIMEOUT = 120


def paths() -> list[Path]:
    """Every notebook of the repository."""
    return sorted((ROOT / "notebooks").glob("*.ipynb"))


def executed(path: Path, runs: Path | None = None) -> nbformat.NotebookNode:
    """A notebook with fresh outputs, read from captures/ or from another folder of runs. A cell that fails raises
    nbclient's CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    environment = dict(os.environ) | ({"LAB_RUNS": str(runs)} if runs else {})
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            notebook,
            timeout=CELL_TIMEOUT,
            resources={"metadata": {"path": str(ROOT)}},
            record_timing=False,
            # Sockets in a folder of its own: no port, no other user listens, and kernels side by side have each their own.
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}}),
        )
        client.execute(env=environment)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[list]:
    """What each code cell shows: what it prints, and then what it displays, without the pictures, which are drawn from the
    specifications that are kept. What is printed comes in one piece: a busy kernel passes it on in several, at any time."""
    shown = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed = "".join(output.text for output in cell.outputs if output.output_type == "stream")
            displayed = [output.data for output in cell.outputs if "data" in output]
            kept = [{kind: value for kind, value in data.items() if kind != "image/png"} for data in displayed]
            shown.append(([{"text": printed}] if printed else []) + kept)
    return shown


def conclusion(notebook: nbformat.NotebookNode) -> list[list]:
    """What the cell tagged `conclusion` shows."""
    tagged = [cell for cell in notebook.cells if "conclusion" in cell.metadata.get("tags", [])]
    return outputs(nbformat.v4.new_notebook(cells=tagged))


def publish() -> None:
    """Writes every notebook's outputs anew from captures/."""
    for path in paths():
        nbformat.write(executed(path), path)
