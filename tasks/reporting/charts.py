"""Plots as inline SVG: no script, no font, no outside file; colours come from the page's style sheet.

Every text goes through markupsafe, so a method's or question's name cannot leave its element.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from tasks.verify.results import Counts, Estimate

Points = Sequence[tuple[float, float]]
WIDTH, HEIGHT = 340, 210
LEFT, RIGHT, TOP, BOTTOM = 44, 10, 10, 26
COLOURS = 6
"""Line colours in the style sheet, .c0 to .c5."""


@dataclass(frozen=True)
class Line:
    """A method's curve: seeds thin, their mean thick."""

    name: str
    seeds: tuple[Points, ...]
    mean: Points
    colour: int


def element(name: str, content: str | Markup = "", /, **attributes: object) -> Markup:
    """An SVG element; content that is not Markup is escaped, and so are attributes."""
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _short(value)) for key, value in attributes.items()
    )
    return Markup("<{0}{1}>{2}</{0}>").format(Markup(name), written, escape(content))


def line_chart(lines: Sequence[Line], title: str) -> Markup:
    """Curves over optimiser steps."""
    points = [point for line in lines for points in (*line.seeds, line.mean) for point in points]
    x_ticks = ticks(min(x for x, _ in points), max(x for x, _ in points), 4, whole=True)
    y_ticks = ticks(min(y for _, y in points), max(y for _, y in points), 4)
    parts = [element("title", title)]
    for tick in y_ticks:
        y = _place(tick, y_ticks, HEIGHT - BOTTOM, TOP)
        parts.append(element("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y))
        parts.append(element("text", _tick(tick), class_="tick", x=LEFT - 6, y=y + 3.5, text_anchor="end"))
    for tick in x_ticks:
        x = _place(tick, x_ticks, LEFT, WIDTH - RIGHT)
        parts.append(element("text", _tick(tick), class_="tick", x=x, y=HEIGHT - 9, text_anchor="middle"))
    for line in lines:
        for style, drawn in [("seed", one) for one in line.seeds] + [("mean", line.mean)]:
            path = " ".join(
                f"{_place(x, x_ticks, LEFT, WIDTH - RIGHT):.1f},{_place(y, y_ticks, HEIGHT - BOTTOM, TOP):.1f}"
                for x, y in drawn
            )
            label = element("title", line.name)
            parts.append(element("polyline", label, class_=f"{style} c{line.colour % COLOURS}", points=path))
    return _svg(parts, WIDTH, HEIGHT, title)


def outcome_bar(counts: Counts, label: str) -> Markup:
    """One stacked bar: correct, abstained, incorrect, as shares of the scored responses."""
    width, height = 220.0, 20.0
    if not counts.scored:
        return _svg([element("text", "nothing scored", class_="tick", x=0, y=14)], width, height, label)
    shares = {
        "correct": counts.correct / counts.scored,
        "abstained": counts.abstained / counts.scored,
        "incorrect": counts.incorrect / counts.scored,
    }
    words = ", ".join(f"{name} {100 * share:.1f}%" for name, share in shares.items())
    parts = [element("title", f"{label}: {words} of {counts.scored:,}")]
    x = 0.0
    for name, share in shares.items():
        parts.append(element("rect", class_=name, x=x, y=0, width=width * share, height=height))
        if share >= 0.11:
            middle = x + width * share / 2
            parts.append(
                element("text", f"{100 * share:.0f}", class_=f"in-{name}", x=middle, y=14, text_anchor="middle")
            )
        x += width * share
    return _svg(parts, width, height, f"{label}: {words}")


def interval_plot(estimate: Estimate, reach: float, ruling: str) -> Markup:
    """A difference with its interval around 0, on an axis from -reach to reach."""
    width, height, middle = 200.0, 18.0, 9.0

    def place(value: float) -> float:
        return 4 + (width - 8) * (max(-reach, min(reach, value)) + reach) / (2 * reach)

    assert estimate.value is not None
    parts = [element("line", class_="zero", x1=place(0), x2=place(0), y1=0, y2=height)]
    if estimate.low is not None and estimate.high is not None:
        parts.append(
            element("line", class_="span", x1=place(estimate.low), x2=place(estimate.high), y1=middle, y2=middle)
        )
    parts.append(element("circle", class_="dot", cx=place(estimate.value), cy=middle, r=3.6))
    name = f"difference {100 * estimate.value:.1f} points"
    return _svg(parts, width, height, name, f"interval {ruling.replace(' ', '-')}")


def ticks(low: float, high: float, wanted: int, whole: bool = False) -> list[float]:
    """Round values that span low..high in about `wanted` steps."""
    if high - low < 1e-12:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1, 2, 2.5, 5, 10) if size * power >= raw * 0.999)
    step = max(1.0, round(step)) if whole else step
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * index for index in range(first, last + 1)]


def _place(value: float, scale: Sequence[float], start: float, end: float) -> float:
    share = (value - scale[0]) / (scale[-1] - scale[0]) if scale[-1] > scale[0] else 0.5
    return start + share * (end - start)


def _tick(value: float) -> str:
    return f"{value:.10g}".replace("-", "\u2212")


def _short(value: object) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def _svg(parts: Sequence[Markup], width: float, height: float, label: str, style: str = "") -> Markup:
    return element(
        "svg",
        Markup("").join(parts),
        class_=style or "plot",
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_label=label,
    )
