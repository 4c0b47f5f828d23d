from __future__ import annotations

import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tasks.core.artifacts import ArtifactRef, ArtifactStore, Manifest
from tasks.reporting.lineage import (
    collect,
    edges,
    lineage_markdown,
    lineage_table,
    markdown_cell,
    mermaid,
    total_cost,
)
from tasks.reporting.lineage_svg import lineage_svg

HOSTILE = 'x"] --> y\n```\n<script>alert(1)</script> | # `code`'


def make(store: ArtifactStore, kind: str, label: str, *inputs: ArtifactRef, **more: object) -> ArtifactRef:
    key = f"{kind}-{label}"[:20].replace("/", "-").replace("\n", "-")
    work = store.work(kind, key)
    (work / "data" / "file").write_text(label)
    fields = {"config": {}, "wall_s": 1.5, "attempts": 2, "created_at": 0.0, **more}
    manifest = Manifest.model_validate(
        {"kind": kind, "key": key, "label": label, "digest": key, "rows": 3, "code": "c", "inputs": {"in": inputs}}
        | fields
    )
    return store.commit(manifest, work)


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path)


def test_inputs_come_before_what_was_made_from_them(store: ArtifactStore) -> None:
    a = make(store, "questions", "a")
    b = make(store, "model", "b", a)
    c = make(store, "evaluation", "c", a, b)
    found = collect(store, [c, b])
    assert [manifest.label for manifest in found] == ["a", "b", "c"]


def test_an_edge_that_a_longer_path_implies_is_not_drawn(store: ArtifactStore) -> None:
    a = make(store, "questions", "a")
    b = make(store, "model", "b", a)
    c = make(store, "evaluation", "c", a, b)
    drawn = [(source[0], target[0]) for source, target in edges(collect(store, [c]))]
    assert drawn == [("questions", "model"), ("model", "evaluation")]
    assert lineage_table(collect(store, [c]))[2]["made from"] == "a, b"


def test_a_deleted_artefact_is_named(store: ArtifactStore) -> None:
    a = make(store, "questions", "a")
    b = make(store, "model", "b", a)
    shutil.rmtree(Path(a.path).parent)
    with pytest.raises(FileNotFoundError, match="questions/questions-a was deleted"):
        collect(store, [b])


def test_mermaid_by_hand(store: ArtifactStore) -> None:
    a = make(store, "questions", "a")
    b = make(store, "model", "b", a)
    assert mermaid(collect(store, [b])).splitlines() == [
        "graph LR",
        '  n0["questions<br/>a<br/>3 rows"]',
        '  n1["model<br/>b<br/>3 rows"]',
        "  n0 --> n1",
    ]


def test_a_hostile_label_stays_inside_its_node(store: ArtifactStore) -> None:
    text = mermaid(collect(store, [make(store, "model", HOSTILE)]))
    (_, node) = text.splitlines()
    assert re.fullmatch(r'  n0\["[^"`]*"\]', node)
    assert "<script" not in node
    assert "```" not in text


def test_a_hostile_label_stays_inside_its_cell(store: ArtifactStore) -> None:
    text = lineage_markdown(collect(store, [make(store, "model", HOSTILE)]))
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len(table) == 3
    assert len(re.findall(r"(?<!\\)\|", table[2])) == len(re.findall(r"(?<!\\)\|", table[0]))
    assert "<script" not in text
    assert text.count("```") == 2


def test_markdown_cell() -> None:
    assert markdown_cell("a|b\n[x](y) <i> &lt; \u202e") == r"a\|b \[x\]\(y\) &lt;i> &amp;lt; &lt;U+202E>"


def test_table_and_cost(store: ArtifactStore) -> None:
    a = make(store, "questions", "a", dropped={"no answer": 4, "never": 0}, cost={"calls": 10, "usd": 0.5})
    b = make(store, "model", "b", a, cost={"calls": 5}, unscored={"outage": 2}, counts={"in": 7})
    found = collect(store, [b])
    first, second = lineage_table(found)
    assert first["dropped"] == "no answer 4"
    assert first["cost"] == "calls 10, usd 0.5"
    assert (second["unscored"], second["counts"], second["attempts"], second["time"]) == (
        "outage 2",
        "in 7",
        "2",
        "1.5 s",
    )
    assert total_cost(found) == {"calls": 15, "usd": 0.5}


def test_svg_has_a_box_each_and_flows_right(store: ArtifactStore) -> None:
    a = make(store, "questions", "a")
    b = make(store, "model", HOSTILE, a)
    c = make(store, "evaluation", "c", a, b)
    tree = ElementTree.fromstring(lineage_svg(collect(store, [c])))
    boxes = tree.findall("g/rect")
    assert len(boxes) == 3
    assert len(tree.findall("path")) == 2
    at = [float(box.attrib["x"]) for box in boxes]
    assert at == sorted(set(at))
    assert not tree.findall(".//script")


def test_nothing_gives_an_empty_graph(store: ArtifactStore) -> None:
    assert collect(store, []) == []
    assert mermaid([]) == "graph LR\n"
    assert ElementTree.fromstring(lineage_svg([])).findall("g") == []
