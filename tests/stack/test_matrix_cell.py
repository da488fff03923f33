"""A matrix on the real stack: one of its cells, as the whole was recorded. `make matrix` runs them all."""

from workbench import gate, lab, matrix


def only(axis: lab.Axis, label: str) -> lab.Axis:
    return axis.model_copy(update={"values": {label: axis.values[label]}})


def test_a_cell_comes_to_the_recorded_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr(gate, "RUNS", tmp_path)
    chosen = lab.load(lab.names()[0])
    name = list(chosen.matrices)[-1]
    before = matrix.recorded(chosen, name).cells[-1]
    whole = chosen.matrices[name]
    small = whole.model_copy(update={"rows": only(whole.rows, before.row), "columns": only(whole.columns, before.column)})
    now = matrix.measure(chosen.model_copy(update={"matrices": {name: small}}), name)
    assert [(cell.verdict, set(cell.facts)) for cell in now.cells] == [(before.verdict, set(before.facts))]
    assert matrix.table(now).row_count == 1
    assert "<svg" in matrix.draw(now).read_text()
