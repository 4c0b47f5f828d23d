"""The lineage graph as inline SVG: one column a layer, each artefact right of everything it was made from.

Artefacts stand as far right as what is made from them allows, so that those of one stage line up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from markupsafe import Markup

from tasks.core.artifacts import Manifest
from tasks.reporting.charts import element
from tasks.reporting.lineage import Node, edges
from tasks.reporting.words import shorten, visible

BOX_WIDTH, BOX_HEIGHT = 172.0, 36.0
GAP_X, GAP_Y, MARGIN = 36.0, 10.0, 6.0
LABEL_CHARACTERS = 24
KEPT_END = 7
"""Last characters of a shortened label: "seed 10" tells artefacts apart."""


def lineage_svg(manifests: Sequence[Manifest]) -> Markup:
    """The graph; a box's title holds its full label and key."""
    drawn = edges(manifests)
    places = _places(manifests, drawn)
    tallest = max((y for _, y in places.values()), default=0.0)
    widest = max((x for x, _ in places.values()), default=0.0)
    width, height = widest + BOX_WIDTH + 2 * MARGIN, tallest + BOX_HEIGHT + 2 * MARGIN
    parts = [_edge(places[source], places[target]) for source, target in drawn]
    parts += [_box(manifest, *places[manifest.kind, manifest.key]) for manifest in manifests]
    return element(
        "svg",
        Markup("").join(parts),
        class_="dag",
        viewBox=f"{-MARGIN:g} {-MARGIN:g} {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        aria_label=f"Lineage graph of {len(manifests)} artefacts",
    )


def _places(manifests: Sequence[Manifest], drawn: Sequence[tuple[Node, Node]]) -> dict[Node, tuple[float, float]]:
    """Top left corner by artefact; a layer is ordered by the mean height of what its boxes were made from."""
    sources: dict[Node, list[Node]] = defaultdict(list)
    for source, target in drawn:
        sources[target].append(source)
    columns = _columns(manifests, drawn)
    tallest = max((len(column) for column in columns.values()), default=0) * (BOX_HEIGHT + GAP_Y)
    places: dict[Node, tuple[float, float]] = {}
    for index in sorted(columns):
        order = {node: y for node, (_, y) in places.items()}
        column = sorted(columns[index], key=lambda one: (_mean_height(one, sources, order), one.kind, one.label))
        top = (tallest - len(column) * (BOX_HEIGHT + GAP_Y)) / 2
        for row, manifest in enumerate(column):
            places[manifest.kind, manifest.key] = index * (BOX_WIDTH + GAP_X), top + row * (BOX_HEIGHT + GAP_Y)
    return places


def _columns(manifests: Sequence[Manifest], drawn: Sequence[tuple[Node, Node]]) -> dict[int, list[Manifest]]:
    """Artefacts by column, 0 left; manifests come inputs first, so targets are placed before their sources."""
    targets: dict[Node, list[Node]] = defaultdict(list)
    for source, target in drawn:
        targets[source].append(target)
    from_right: dict[Node, int] = {}
    for manifest in reversed(manifests):
        node = manifest.kind, manifest.key
        from_right[node] = max((from_right[target] + 1 for target in targets[node]), default=0)
    deepest = max(from_right.values(), default=0)
    columns: dict[int, list[Manifest]] = defaultdict(list)
    for manifest in manifests:
        columns[deepest - from_right[manifest.kind, manifest.key]].append(manifest)
    return columns


def _mean_height(manifest: Manifest, sources: dict[Node, list[Node]], heights: dict[Node, float]) -> float:
    above = [heights[source] for source in sources[manifest.kind, manifest.key]]
    return round(sum(above) / len(above), 3) if above else 0.0


def _edge(source: tuple[float, float], target: tuple[float, float]) -> Markup:
    x1, y1 = source[0] + BOX_WIDTH, source[1] + BOX_HEIGHT / 2
    x2, y2 = target[0], target[1] + BOX_HEIGHT / 2
    bend = GAP_X / 2
    return element("path", class_="edge", d=f"M{x1:g} {y1:g}C{x1 + bend:g} {y1:g} {x2 - bend:g} {y2:g} {x2:g} {y2:g}")


def _box(manifest: Manifest, x: float, y: float) -> Markup:
    label = visible(manifest.label)
    name = label
    if len(label) > LABEL_CHARACTERS:
        name = f"{label[: LABEL_CHARACTERS - KEPT_END - 1]}\u2026{label[-KEPT_END:]}"
    content = Markup("").join(
        [
            element("title", f"{shorten(label, 200)} ({manifest.kind} {manifest.key}), {manifest.rows:,} rows"),
            element("rect", x=x, y=y, width=BOX_WIDTH, height=BOX_HEIGHT, rx=4),
            element("text", name, class_="label", x=x + 9, y=y + 15),
            element("text", f"{manifest.kind} \u00b7 {manifest.rows:,} rows", class_="sub", x=x + 9, y=y + 28.5),
        ]
    )
    return element("g", content, class_="node")
