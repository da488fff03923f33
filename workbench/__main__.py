"""The command line: what the Makefile's targets call inside the workbench image."""

import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from workbench import classroom, connections, console, gate, lab, ledger, matrix, notebooks, packets, reliability, report, stack
from workbench.engine import EngineError
from workbench.interviews import commands as interviews
from workbench.packets import CaptureError
from workbench.stack import StackError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
Name = Annotated[str, typer.Argument(help="a lab, or all")]
ScenarioName = Annotated[str, typer.Option(help="story, all, or one scenario's name")]


def _labs(name: str) -> list[lab.Lab]:
    return [lab.load(each) for each in (lab.names() if name == "all" else [name])]


def _chosen(name: str, scenario: str) -> list[tuple[lab.Lab, list[str]]]:
    """Each lab with its scenarios: a wrong name is reported before anything runs."""
    chosen = [(each, lab.select(each, scenario)) for each in _labs(name)]
    if scenario == "all":
        for each, _ in chosen:
            for line in lab.left_out(each):
                console.err.print(f"{each.name}: {line}")
    return chosen


@app.command()
@packets.each_decoded_once()
def run(name: Name, scenario: ScenarioName = "story") -> None:
    """Tells a lab's story on real parts, judges each scenario on the wire, and writes the report. The stories of all labs are told
    briefly: what decides is measured, and not what else there is to see."""
    chosen = _chosen(name, scenario)
    closely = [] if (name, scenario) == ("all", "story") else None
    course = gate.course_of(chosen, closely)
    found = []
    for each, wanted in chosen:
        results = gate.run_scenarios(each, wanted, closely=closely, course=course)
        found.append((each, results))
        console.out.print(report.table(each, results))
        console.out.print(f"report: {report.write(each, report.latest(each)).relative_to(lab.ROOT)}")
    _conclude(found)


def _conclude(found: list[tuple[lab.Lab, list[gate.Result]]]) -> None:
    """Says of several labs in one table what they came to; ends in an error where that is not what is declared."""
    if len(found) > 1:
        console.out.print(report.summary(found))
    if not all(result.as_expected for _, results in found for result in results):
        raise SystemExit(1)


@app.command()
@packets.each_decoded_once()
def replay(name: Name) -> None:
    """Judges a lab's recorded runs again, on a machine without an engine: nothing runs, and no run's result is touched."""
    found = []
    for each in _labs(name):
        with console.step(f"{each.name}: decoding its recorded runs"):
            results = report.recorded(each)
        found.append((each, results))
        note = report.replay_note(results)
        console.out.print(report.table(each, results, note))
        console.out.print(f"report: {report.write(each, results, note).relative_to(lab.ROOT)}")
    _conclude(found)


@app.command()
def record(name: Name, scenario: ScenarioName = "all") -> None:
    """Re-records captures/<lab>/<scenario>/, and publishes what they say."""
    as_declared = True
    for each, wanted in _chosen(name, scenario):
        as_declared &= all(result.as_expected for result in ledger.record(each, wanted))
    _publish_once_whole()
    if not as_declared:
        raise SystemExit(1)


@app.command("matrix")
def run_matrix(
    name: Name,
    keep: Annotated[bool, typer.Option("--record", help="make the result the recorded one")] = False,
) -> None:
    """Runs a lab's matrices, every row with every column, and draws who is affected."""
    as_recorded = True
    for each in _labs(name):
        for which in each.matrices:
            result = matrix.measure(each, which)
            console.out.print(matrix.table(result))
            console.out.print(f"drawn: {matrix.draw(result).relative_to(lab.ROOT)}")
            for line in matrix.unlike(result):
                console.out.print(f"not as recorded: {line}", style="red", markup=False)
                as_recorded = False
            if keep:
                matrix.publish(result)
    if keep:
        _publish_once_whole()
    if not as_recorded:
        raise SystemExit(1)


def _publish_once_whole() -> None:
    """A new lab is recorded in two steps, its scenarios and its matrices: after the first there is nothing to publish yet."""
    if said := matrix.missing():
        console.err.print(f"recorded, and not yet published: {said}", style="yellow", markup=False)
    else:
        publish()


@app.command()
def publish() -> None:
    """Writes the ledger, the README's table, the matrices and the notebooks' outputs anew from captures/."""
    for path, text in (ledger.pages() | matrix.pages() | reliability.pages()).items():
        path.write_text(text)
    with console.step("executing the notebooks"):
        notebooks.publish()


@app.command()
def facts(name: str) -> None:
    """Prints the TLS and TCP facts of the capture on stdin as one JSON object. NAME is what errors call it."""
    with tempfile.NamedTemporaryFile(suffix=".capture") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
        file.flush()
        try:
            rows = packets.table(file.name)
        except CaptureError as error:
            raise CaptureError(str(error).replace(file.name, name)) from None
    for gap in packets.gaps(rows):
        console.err.print(f"note: {name}: {gap}", markup=False)
    print(json.dumps(connections.facts(connections.from_packets(rows)), indent=1))


@app.command()
def build(name: Name, scenario: ScenarioName = "all") -> None:
    """Builds every image that a lab's scenarios name."""
    for each, wanted in _chosen(name, scenario):
        gate.build(each, wanted)


@app.command()
def images(name: Name) -> None:
    """Prints the name of every image that a lab's scenarios take."""
    named = [stack.images(stack.model(each.name, scenario)) for each in _labs(name) for scenario in each.scenarios]
    print("\n".join(sorted(set().union(*named))))


@app.command("reliability")
def measure_reliability(busy: Annotated[bool, typer.Option(help="both cores are kept busy meanwhile")] = False) -> None:
    """Runs what `make test` runs of each lab that is due, and notes what came of it in docs/reliability.csv and its page."""
    well = reliability.measure(busy)
    for path, text in reliability.pages().items():
        path.write_text(text)
        console.out.print(f"{path.relative_to(lab.ROOT)} and its raw results: {reliability.said(reliability.read())}")
    if not well:
        raise SystemExit(1)


@app.command("bench")
def benchmark(name: str, measured: Path) -> None:
    """Writes docs/benchmark.md from the times that compose/bench.sh took, and from what is measured here."""
    # pyshark is slow to import as well, and no other command needs it.
    from workbench import bench

    first, *_ = _labs(name)
    text = bench.page(json.loads(measured.read_text()), name, bench.latest(first.name))
    (lab.ROOT / "docs" / "benchmark.md").write_text(text)
    console.out.print(text, markup=False)


@app.command("new")
def new_lab(name: str, case: int) -> None:
    """Makes a new lab from the template."""
    # jupytext is no command's but this one's.
    from workbench import template

    for path in template.new(name, case):
        console.out.print(str(path.relative_to(lab.ROOT)))


@app.command()
def labs() -> None:
    """Checks every lab.toml, and says what there is."""
    for each in _labs("all"):
        console.out.print(f"labs/{each.name}/lab.toml: {len(each.scenarios)} scenarios, {len(each.claims)} claims")


for command in (
    classroom.up, classroom.check, classroom.hint, classroom.solution, classroom.reset, classroom.down, classroom.live
):  # fmt: skip
    app.command()(command)
app.command("room")(classroom.show_room)
app.command()(interviews.interview)
app.command()(interviews.grade)


class Interrupted(BaseException):
    """SIGINT or SIGTERM. Not a KeyboardInterrupt, which typer would turn into a silent end."""


def _interrupt(number: int, _frame: object) -> None:
    raise Interrupted(signal.Signals(number).name)


def main() -> None:
    """Runs a command; what the user can mend is said in one line, with exit code 2."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        app(standalone_mode=False)
    except (lab.LabError, StackError, EngineError, CaptureError, FileNotFoundError) as error:
        console.err.print(f"error: {error}", style="red", markup=False)
        sys.exit(2)
    except PermissionError as error:
        said = f"error: {error.filename}: belongs to somebody else; take another SEAT, or a clone of your own"
        console.err.print(said, style="red", markup=False)
        sys.exit(2)
    except Interrupted:
        console.err.print("interrupted: of what was measured nothing is left running", style="yellow")
        sys.exit(130)
    except Exception as error:
        # typer's usage errors are click's, which carry their own exit code.
        if hasattr(error, "exit_code") and hasattr(error, "format_message"):
            console.err.print(f"error: {error.format_message()}", style="red", markup=False)
            sys.exit(error.exit_code)
        raise
    finally:
        if ticket := os.environ.get("TICKET"):
            Path(ticket).unlink(missing_ok=True)


if __name__ == "__main__":
    main()
