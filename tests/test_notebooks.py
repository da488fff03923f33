"""The walkthroughs and exercises, executed: over the recorded runs their outputs agree with what is committed."""

import nbformat
import pytest

from workbench import notebooks

each_notebook = pytest.mark.parametrize("path", notebooks.paths(), ids=lambda path: path.stem)


@each_notebook
def test_outputs_agree(path):
    committed = notebooks.outputs(nbformat.read(path, as_version=4))
    assert any(committed), "a notebook is committed with its outputs"
    for number, (was, now) in enumerate(zip(committed, notebooks.outputs(notebooks.executed(path)), strict=True), start=1):
        assert now == was, f"code cell {number} of {path.name}: run `make publish`"


@each_notebook
def test_every_plot_has_a_picture_for_where_no_script_runs(path):
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    shown = [output.get("data", {}) for cell in cells for output in cell.outputs]
    plots = [data for data in shown if any("vegalite" in kind for kind in data)]
    assert plots
    assert all("image/png" in data for data in plots)


@each_notebook
def test_a_notebook_comes_to_a_conclusion(path):
    (shown,) = notebooks.conclusion(nbformat.read(path, as_version=4))
    assert shown
