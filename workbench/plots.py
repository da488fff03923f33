"""The pictures of notebooks and reports: one message each, broken and fixed in the same colours everywhere."""

import base64

import altair as alt
import pandas as pd
import vl_convert

#: Colour and, for those who do not see it, shape: a full handshake is a red cross, a resumed one a teal dot.
BROKEN, FIXED, NEUTRAL = "#c8553d", "#2a7f8e", "#8d99a6"
_HANDSHAKE = alt.Scale(domain=["full", "resumed", "unfinished"], range=[BROKEN, FIXED, NEUTRAL])
_HANDSHAKE_SHAPE = alt.Scale(domain=["full", "resumed", "unfinished"], range=["cross", "circle", "triangle-up"])
_VERDICT = alt.Scale(domain=["red", "green", "failed", "undecided"], range=[BROKEN, FIXED, "#5b4a72", NEUTRAL])
WIDTH = 620
#: Room at the left for a browser whose letters are wider than those that were measured.
_PADDING = {"left": 40, "top": 5, "right": 5, "bottom": 5}


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
        alt.Chart(data, title=title, width=WIDTH, height=44 * len(tables), padding=_PADDING)
        .mark_point(filled=True, size=55, opacity=0.8)
        .encode(
            x=alt.X("second:Q", title="seconds since the first connection"),
            y=alt.Y("of:N", title=None, sort=list(tables)),
            color=alt.Color("handshake:N", scale=_HANDSHAKE, title="handshake"),
            shape=alt.Shape("handshake:N", scale=_HANDSHAKE_SHAPE, title="handshake"),
        )
    )


def bars(data: pd.DataFrame, value: str, unit: str, title: str) -> alt.LayerChart:
    """One bar a scenario (columns `scenario`, `verdict` and the named value), with its number."""
    base = alt.Chart(data, width=WIDTH, height=alt.Step(24)).encode(
        x=alt.X(f"{value}:Q", title=unit, axis=alt.Axis(tickCount=6)),
        y=alt.Y("scenario:N", title=None, sort=list(data["scenario"])),
    )
    # Beyond the longest bar's number.
    legend = alt.Legend(offset=45)
    drawn = base.mark_bar(height=14).encode(color=alt.Color("verdict:N", scale=_VERDICT, title="verdict", legend=legend))
    number = base.mark_text(align="left", dx=4).encode(text=alt.Text(f"{value}:Q", format=".3~g"))
    return (drawn + number).properties(title=title, padding=_PADDING)


def over_time(data: pd.DataFrame, value: str, unit: str, title: str) -> alt.Chart:
    """A line a scenario (columns `scenario`, `second` and the named value), dashed apart as well as coloured."""
    names = list(dict.fromkeys(data["scenario"]))
    colours = [BROKEN if name == "broken" else FIXED if number == 1 else NEUTRAL for number, name in enumerate(names)]
    legend = alt.Undefined if len(names) > 1 else None
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


def svg(chart: alt.TopLevelMixin) -> str:
    """The chart as a picture that needs no script."""
    return vl_convert.vegalite_to_svg(chart.to_dict())


def shown(chart: alt.TopLevelMixin) -> dict:
    """A notebook's output: the specification where it can be drawn live, and a picture where no script runs."""
    spec = chart.to_dict()
    png = base64.b64encode(vl_convert.vegalite_to_png(spec, scale=1.5)).decode()
    return {"application/vnd.vegalite.v6+json": spec, "image/png": png, "text/plain": f"plot: {spec.get('title', '')}"}
