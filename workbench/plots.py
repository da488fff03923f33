"""The pictures of notebooks and reports: one message each, broken and fixed in the same colours everywhere."""

import base64
import io
import textwrap
from collections.abc import Iterable

import altair as alt
import pandas as pd
import vl_convert
from PIL import Image

#: Colour and, for those who do not see it, shape: a full handshake is a red cross, a resumed one a teal dot.
BROKEN, FIXED, NEUTRAL, OTHER = "#c8553d", "#2a7f8e", "#8d99a6", "#5b4a72"
_HANDSHAKE = alt.Scale(domain=["full", "resumed", "unfinished"], range=[BROKEN, FIXED, NEUTRAL])
_HANDSHAKE_SHAPE = alt.Scale(domain=["full", "resumed", "unfinished"], range=["cross", "circle", "triangle-up"])
_VERDICT = alt.Scale(domain=["red", "green", "failed", "undecided"], range=[BROKEN, FIXED, OTHER, NEUTRAL])
WIDTH = 520
#: Room at the left for a browser whose letters are wider than those that were measured.
_PADDING = {"left": 40, "top": 5, "right": 5, "bottom": 5}
#: Letters that can be read when a narrow screen makes the picture smaller, and nothing at its side that would make it wider.
_LETTERS = 12
#: So many letters of a title fit into a line, of a wide font, too.
_TITLE = 56


@alt.theme.register("incident-labs", enable=True)
def _theme() -> alt.theme.ThemeConfig:
    return {
        "config": {
            "axis": {"labelFontSize": _LETTERS, "titleFontSize": _LETTERS, "labelLimit": WIDTH / 2},
            "legend": {"orient": "bottom", "labelFontSize": _LETTERS, "titleFontSize": _LETTERS, "labelLimit": WIDTH},
            "title": {"anchor": "start", "subtitleFontSize": _LETTERS},
        }
    }


def _legend(names: list[str]) -> alt.Legend:
    """In as many columns as there is room for."""
    return alt.Legend(columns=max(1, WIDTH // (40 + 7 * max(map(len, names)))))


def _beside(names: Iterable[str]) -> int:
    """The width of a field with names at its left: what they take is its loss, or the picture grows wider."""
    return WIDTH - 6 * max(map(len, names))


def handshakes(tables: dict[str, pd.DataFrame], title: str) -> alt.Chart:
    """Every TLS connection as a mark over time (seconds since the first), a row for each name in `tables`."""
    parts = []
    for name, table in tables.items():
        tls = table[table["handshake"].notna()]
        parts.append(
            pd.DataFrame({"of": name, "second": (tls["start"] - tls["start"].min()).round(3), "handshake": tls["handshake"]})
        )
    data = pd.concat(parts, ignore_index=True)
    return (
        alt.Chart(data, title=title, width=_beside(tables), height=44 * len(tables), padding=_PADDING)
        .mark_point(filled=True, size=55, opacity=0.8)
        .encode(
            x=alt.X("second:Q", title="seconds since the first connection"),
            y=alt.Y("of:N", title=None, sort=list(tables)),
            color=alt.Color("handshake:N", scale=_HANDSHAKE, title="handshake"),
            shape=alt.Shape("handshake:N", scale=_HANDSHAKE_SHAPE, title="handshake"),
        )
    )


def bars(data: pd.DataFrame, value: str, unit: str, title: str) -> alt.LayerChart:
    """One bar a scenario, or whatever `scenario` names (and the named value), with its number; coloured by its `verdict`, where it
    has one."""
    base = alt.Chart(data, width=_beside(data["scenario"]), height=alt.Step(24)).encode(
        x=alt.X(f"{value}:Q", title=unit, axis=alt.Axis(tickCount=6)),
        y=alt.Y("scenario:N", title=None, sort=list(data["scenario"])),
    )
    judged = alt.Color("verdict:N", scale=_VERDICT, title="verdict")
    drawn = base.mark_bar(height=14).encode(color=judged if "verdict" in data else alt.value(NEUTRAL))
    number = base.mark_text(align="left", dx=4).encode(text=alt.Text(f"{value}:Q", format=",.3~r"))
    return (drawn + number).properties(title=title, padding=_PADDING)


def over_time(data: pd.DataFrame, value: str, unit: str, title: str) -> alt.Chart:
    """A line a scenario (columns `scenario`, `second` and the named value), dashed apart as well as coloured."""
    names = list(dict.fromkeys(data["scenario"]))
    colours = [BROKEN if name == "broken" else FIXED if number == 1 else NEUTRAL for number, name in enumerate(names)]
    legend = _legend(names) if len(names) > 1 else None
    return (
        alt.Chart(data, title=title, width=WIDTH, height=200)
        .mark_line(point=True)
        .encode(
            x=alt.X("second:Q", title="seconds"),
            y=alt.Y(f"{value}:Q", title=unit),
            color=alt.Color("scenario:N", scale=alt.Scale(domain=names, range=colours), title=None, legend=legend),
            # The same domain, so that one legend tells both; none where there is nothing to tell apart.
            strokeDash=alt.StrokeDash("scenario:N", scale=alt.Scale(domain=names), title=None, legend=legend),
        )
    )


def timeline(data: pd.DataFrame, unit: str, title: str, moments: dict[str, float]) -> alt.LayerChart:
    """A line for each `what` (columns `second`, `what`, `value` and `colour`), dashed apart as well as coloured, over what happens
    meanwhile: the names of moments, each with its second."""
    names = list(dict.fromkeys(data["what"]))
    colours = list(data.drop_duplicates("what")["colour"])
    # The colours tell already, and the legend needs no column for them.
    data = data.drop(columns="colour")
    # In turns higher and lower, so that two that come soon after one another can both be read, and the late ones leftwards.
    late = data["second"].max() / 2
    rows = [(name, second, number % 2) for number, (name, second) in enumerate(moments.items())]
    told = pd.DataFrame(rows, columns=["name", "second", "row"])
    legend = _legend(names)
    lines = (
        alt.Chart(data, width=WIDTH, height=200)
        .mark_line()
        .encode(
            x=alt.X("second:Q", title="seconds", scale=alt.Scale(nice=False)),
            y=alt.Y("value:Q", title=unit),
            color=alt.Color("what:N", scale=alt.Scale(domain=names, range=colours), title=None, legend=legend),
            strokeDash=alt.StrokeDash("what:N", scale=alt.Scale(domain=names), title=None, legend=legend),
        )
    )
    rules = alt.Chart(told).mark_rule(strokeDash=[4, 4], color=NEUTRAL).encode(x="second:Q")
    # Above the field, in two rows.
    words = [
        alt.Chart(some).mark_text(align=align, dx=dx, fontSize=_LETTERS, color="#5c6b7a").encode(
            x="second:Q", y=alt.Y("row:O", axis=None, scale=alt.Scale(domain=[0, 1], range=[-7, -21], padding=0)), text="name:N"
        )
        for some, align, dx in ((told[told["second"] <= late], "left", -2), (told[told["second"] > late], "right", 2))
    ]  # fmt: skip
    heading = alt.Title(title, offset=30 if moments else 6)
    return alt.layer(rules, lines, *words).resolve_scale(y="independent").properties(title=heading, padding=_PADDING)


def waits(data: pd.DataFrame, moment: str, title: str, kinds: dict[str, str], what: str) -> alt.LayerChart:
    """A mark for each that waited (columns `second`, from a moment that has the name `moment`, `ms`, and `kind`: one of `kinds`,
    each with its colour, of `what` it is); each step upwards is ten times the last."""
    shapes = alt.Scale(domain=list(kinds), range=["triangle-up", "cross", "circle", "diamond"][: len(kinds)])
    # There are hundreds, and a notebook would give each of their values a line.
    listed = alt.InlineData(values=data.to_csv(index=False), format=alt.CsvDataFormat(type="csv"))
    marks = (
        alt.Chart(listed, width=WIDTH, height=260)
        .mark_point(filled=True, size=45, opacity=0.75)
        .encode(
            x=alt.X("second:Q", title=f"seconds from {moment}"),
            y=alt.Y("ms:Q", title="ms", scale=alt.Scale(type="log")),
            color=alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=list(kinds.values())), title=what),
            shape=alt.Shape("kind:N", scale=shapes, title=what),
        )
    )
    line = alt.Chart(pd.DataFrame({"second": [0]})).mark_rule(strokeDash=[4, 4]).encode(x="second:Q")
    return (line + marks).properties(title=title, padding=_PADDING)


def distribution(data: pd.DataFrame, title: str) -> alt.Chart:
    """The share that had waited no longer than a time: a line for each `who` (columns `who`, `ms`), dashed apart as well as
    coloured; each step to the right is ten times the last."""
    names = list(dict.fromkeys(data["who"]))
    ranked = data.assign(share=data.groupby("who")["ms"].rank(method="first", pct=True)).sort_values(["who", "share"])
    return (
        alt.Chart(ranked, title=title, width=WIDTH, height=220, padding=_PADDING)
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("ms:Q", title="ms", scale=alt.Scale(type="log")),
            y=alt.Y("share:Q", title="share that waited no longer", axis=alt.Axis(format="%")),
            color=alt.Color("who:N", scale=alt.Scale(domain=names, range=[NEUTRAL, BROKEN, FIXED]), title=None),
            strokeDash=alt.StrokeDash("who:N", scale=alt.Scale(domain=names), title=None),
        )
    )


def matrix(cells: list[dict], row: str, column: str, title: str, subtitle: str) -> alt.LayerChart:
    """A field for each of `cells` (`row`, `column`, `verdict`, `figures`), which says its verdict and its figures."""
    data = pd.DataFrame(cells)
    columns, rows = list(dict.fromkeys(data["column"])), list(dict.fromkeys(data["row"]))
    base = alt.Chart(data, width=_beside(rows), height=alt.Step(40)).encode(
        x=alt.X(
            "column:N",
            title=column,
            sort=columns,
            # A label's second line grows downwards, towards the field.
            axis=alt.Axis(
                orient="top",
                labelAngle=0,
                labelExpr="split(datum.label, ', ')",
                labelPadding=4 + _LETTERS * max(label.count(", ") for label in columns),
                ticks=False,
            ),
        ),
        y=alt.Y("row:N", title=row, sort=rows, axis=alt.Axis(ticks=False)),
    )
    field = base.mark_rect(stroke="white", strokeWidth=2).encode(color=alt.Color("verdict:N", scale=_VERDICT, title="verdict"))
    words = [
        base.mark_text(color="white", dy=dy, fontWeight=weight, fontSize=size).encode(text=text)
        for text, dy, weight, size in (("verdict:N", -7, "bold", _LETTERS), ("figures:N", 8, "normal", _LETTERS))
    ]
    return alt.layer(field, *words).properties(title=alt.Title(title, subtitle=subtitle), padding=_PADDING)


def flame_graph(stacks: str, root: str, marked: str, title: str) -> alt.LayerChart:
    """Collapsed stacks (one a line, frames between semicolons, a count at the end) from the frame that holds `root`
    upwards; frames that hold `marked`, and what they call, stand out. Frames below one in 200 are left out."""
    frames = pd.DataFrame(_frames(stacks, root, marked))
    frames = frames[frames["end"] - frames["start"] >= 0.5]
    frames["label"] = [
        frame.rpartition("/")[2] if (end - start) > 1.1 * len(frame.rpartition("/")[2]) else ""
        for frame, start, end in zip(frames["frame"], frames["start"], frames["end"], strict=True)
    ]
    frames["middle"] = (frames["start"] + frames["end"]) / 2
    height = alt.Step(13)
    base = alt.Chart(frames, width=WIDTH, height=height)
    level = alt.Y("level:O", title=None, axis=None, sort="descending")
    colour = alt.Color(
        "kind:N", scale=alt.Scale(domain=[marked, "other"], range=[BROKEN, "#cfd6dc"]), title=None, legend=alt.Legend(orient="top")
    )
    boxes = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        x=alt.X("start:Q", title=f"% of the samples under {root}", scale=alt.Scale(domain=[0, 100], nice=False)),
        x2="end:Q",
        y=level,
        color=colour,
        tooltip=["frame:N"],
    )
    words = base.mark_text(fontSize=9).encode(x="middle:Q", y=level, text="label:N")
    return (boxes + words).properties(title=title)


def _frames(stacks: str, root: str, marked: str) -> list[dict]:
    """Rows `frame`, `level`, `start` and `end` (per cent of all samples), `kind`; calls of one frame side by side."""
    tree: dict = {}
    total = 0
    for line in stacks.splitlines():
        path, _, count = line.rpartition(" ")
        frames = path.split(";")
        first = next((number for number, frame in enumerate(frames) if root in frame), None)
        if first is None:
            continue
        total += int(count)
        level = tree
        for frame in frames[first:]:
            entry = level.setdefault(frame, {"samples": 0, "calls": {}})
            entry["samples"] += int(count)
            level = entry["calls"]
    rows: list[dict] = []
    _lay_out(tree, 0, 0, False, marked, total, rows)
    return rows


def _lay_out(calls: dict, level: int, start: int, within: bool, marked: str, total: int, rows: list[dict]) -> None:
    for frame, entry in sorted(calls.items()):
        inside = within or marked in frame
        end = start + entry["samples"]
        kind = marked if inside else "other"
        rows.append({"frame": frame, "level": level, "start": 100 * start / total, "end": 100 * end / total, "kind": kind})
        _lay_out(entry["calls"], level + 1, start, inside, marked, total, rows)
        start = end


def share_of_samples(stacks: str, root: str, *within: str) -> float | None:
    """The share of the samples under `root` whose stacks hold every frame of `within`; None where there is no sample."""
    total = samples(stacks, root)
    return samples(stacks, root, *within) / total if total else None


def samples(stacks: str, *within: str) -> int:
    """How many samples of collapsed stacks hold every frame of `within`."""
    counted = (line.rpartition(" ") for line in stacks.splitlines())
    return sum(int(count) for path, _, count in counted if all(frame in path for frame in within))


def svg(chart: alt.TopLevelMixin) -> str:
    """The chart as a picture that needs no script."""
    return vl_convert.vegalite_to_svg(_spec(chart))


def shown(chart: alt.TopLevelMixin) -> dict:
    """A notebook's output: the specification where it can be drawn live, and a picture where no script runs."""
    spec = _spec(chart)
    return {
        "application/vnd.vegalite.v6+json": spec,
        "image/png": _png(spec),
        "text/plain": f"plot: {' '.join(spec['title']['text'])}",
    }


def _spec(chart: alt.TopLevelMixin) -> dict:
    """The chart's specification, a long title in several lines."""
    spec = chart.to_dict()
    title = spec["title"] if isinstance(spec["title"], dict) else {"text": spec["title"]}
    return spec | {"title": title | {"text": textwrap.wrap(title["text"], _TITLE)}}


def _png(spec: dict) -> str:
    """In few colours, which is a tenth of what the renderer writes."""
    drawn = Image.open(io.BytesIO(vl_convert.vegalite_to_png(spec, scale=1.5)))
    small = io.BytesIO()
    drawn.convert("RGB").quantize(64, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return base64.b64encode(small.getvalue()).decode()
