"""Lineage: every artefact behind a result, from the manifests in the store."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tasks.core.artifacts import ArtifactRef, ArtifactStore, Manifest
from tasks.reporting.words import duration, number, visible

Node = tuple[str, str]
"""(kind, key) of an artefact."""
ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "&": "#amp;", "|": "#124;"}
LABEL_CHARACTERS = 80


def collect(store: ArtifactStore, refs: Iterable[ArtifactRef]) -> list[Manifest]:
    """Manifests of these artefacts and of all that they were made from, inputs before what they made.

    Raises:
        FileNotFoundError: an artefact of the chain was deleted; says which and what to do.
    """
    found: dict[Node, Manifest] = {}
    waiting = list(refs)[::-1]
    while waiting:
        ref = waiting[-1]
        if (ref.kind, ref.key) in found:
            waiting.pop()
            continue
        manifest = _manifest(store, ref)
        missing = [one for one in inputs_of(manifest) if (one.kind, one.key) not in found]
        if missing:
            waiting += missing[::-1]
        else:
            found[ref.kind, ref.key] = manifest
            waiting.pop()
    return list(found.values())


def _manifest(store: ArtifactStore, ref: ArtifactRef) -> Manifest:
    try:
        return store.manifest(ref)
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"artefact {ref.kind}/{ref.key} was deleted from {store.root}: run the flow again, it is made anew"
        ) from error


def inputs_of(manifest: Manifest) -> list[ArtifactRef]:
    """Direct inputs, in the order in which the stage names them."""
    return [ref for refs in manifest.inputs.values() for ref in refs]


def edges(manifests: Sequence[Manifest]) -> list[tuple[Node, Node]]:
    """(input, artefact) pairs, without those that a longer path implies."""
    known = {(manifest.kind, manifest.key) for manifest in manifests}
    above: dict[Node, set[Node]] = {}
    drawn: list[tuple[Node, Node]] = []
    for manifest in manifests:
        direct = list(dict.fromkeys((ref.kind, ref.key) for ref in inputs_of(manifest)))
        direct = [node for node in direct if node in known]
        implied = set().union(*(above[node] for node in direct)) if direct else set()
        above[manifest.kind, manifest.key] = implied | set(direct)
        drawn += [(node, (manifest.kind, manifest.key)) for node in direct if node not in implied]
    return drawn


def mermaid(manifests: Sequence[Manifest]) -> str:
    """The graph as mermaid text; labels are escaped, so that none can end its node or the code block."""
    names = {(manifest.kind, manifest.key): f"n{index}" for index, manifest in enumerate(manifests)}
    lines = ["graph LR"]
    for manifest in manifests:
        parts = (manifest.kind, manifest.label, f"{manifest.rows:,} rows")
        text = "<br/>".join(_inert(part) for part in parts)
        lines.append(f'  {names[manifest.kind, manifest.key]}["{text}"]')
    lines += [f"  {names[source]} --> {names[target]}" for source, target in edges(manifests)]
    return "\n".join(lines) + "\n"


def lineage_table(manifests: Sequence[Manifest]) -> list[dict[str, str]]:
    """One row an artefact, as plain text: escape it for where it is shown."""
    labels = {(manifest.kind, manifest.key): manifest.label for manifest in manifests}
    return [
        {
            "artefact": manifest.label,
            "kind": manifest.kind,
            "key": manifest.key[:12],
            "made from": ", ".join(labels.get((ref.kind, ref.key), ref.key[:12]) for ref in inputs_of(manifest)),
            "rows": f"{manifest.rows:,}",
            "counts": _pairs(manifest.counts),
            "dropped": _pairs(manifest.dropped),
            "unscored": _pairs(manifest.unscored),
            "cost": _pairs(manifest.cost),
            "time": duration(manifest.wall_s),
            "attempts": str(manifest.attempts),
        }
        for manifest in manifests
    ]


def lineage_markdown(manifests: Sequence[Manifest]) -> str:
    """Graph and table as Markdown."""
    rows = lineage_table(manifests)
    lines = ["# Lineage", "", "```mermaid", mermaid(manifests).rstrip(), "```", ""]
    if rows:
        lines.append("| " + " | ".join(rows[0]) + " |")
        lines.append("|" + " --- |" * len(rows[0]))
        lines += ["| " + " | ".join(markdown_cell(value) for value in row.values()) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def total_cost(manifests: Sequence[Manifest]) -> dict[str, float]:
    """Cost of all artefacts together, by name."""
    total: dict[str, float] = {}
    for manifest in manifests:
        for name, amount in manifest.cost.items():
            total[name] = total.get(name, 0.0) + amount
    return total


def markdown_cell(text: str) -> str:
    """Text that stays text in a Markdown table cell."""
    flat = re.sub(r"\s+", " ", visible(text)).strip()
    return re.sub(r"([\\`*_{}\[\]()#|~!$])", r"\\\1", flat.replace("&", "&amp;").replace("<", "&lt;"))


def _inert(text: str) -> str:
    flat = re.sub(r"\s+", " ", visible(text)).strip()[:LABEL_CHARACTERS]
    return "".join(ENTITIES.get(character, character) for character in flat)


def _pairs(values: dict[str, int] | dict[str, float]) -> str:
    return ", ".join(f"{name} {number(value)}" for name, value in values.items() if value)
