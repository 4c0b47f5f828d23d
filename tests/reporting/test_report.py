from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tasks.reporting.render import TEMPLATES, fenced, foreign, layout_digest
from tasks.reporting.report import WORLD_BANNER

if TYPE_CHECKING:
    from conftest import FinishedRun

VOID = {"meta", "br", "img", "link", "input", "hr"}


class Page(HTMLParser):
    """Elements, attributes and text of a page; fails on tags that do not match."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def page(finished: FinishedRun) -> Page:
    return Page(finished.report())


def test_hostile_text_is_inert(page: Page) -> None:
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img", "iframe", "object", "embed", "form", "base", "link", "i2", "b"}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert "</script><script>alert(1)</script>" in page.text, "shown as text"
    assert "{{ 7*7 }}" in page.text, "not run as a template"
    assert "<U+202E>evil<U+0007>" in page.text
    assert "\u202e" not in page.text


def test_nothing_is_loaded_from_anywhere(page: Page, finished: FinishedRun) -> None:
    for _, attributes in page.elements:
        assert "src" not in attributes
        href = attributes.get("href")
        assert href is None or href.startswith("#")
    html = finished.report()
    assert "@import" not in html
    assert "url(" not in html
    assert "default-src 'none'" in html


def test_links_inside_the_page_lead_somewhere(page: Page) -> None:
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    targets = {str(attributes["href"])[1:] for tag, attributes in page.elements if tag == "a"}
    assert targets <= ids
    assert {"claims", "table", "popularity", "curves", "detectable", "examples", "lineage", "published"} <= ids


def test_the_closed_world_is_labelled(finished: FinishedRun) -> None:
    assert Page(finished.report()).text.count(WORLD_BANNER) == 2
    assert WORLD_BANNER in finished.report("report.md")
    assert json.loads(finished.report("results.json"))["note"] == WORLD_BANNER


def test_published_figures_stand_apart(finished: FinishedRun) -> None:
    html = finished.report()
    start = html.index('<section class="paper"')
    end = html.index("</section>", start)
    assert "37.2" in html[start:end]
    assert "Llama-3.1-8B-Instruct" not in html[:start] + html[end:]


def test_every_figure_of_the_table_is_shown(finished: FinishedRun) -> None:
    html = finished.report()
    for cell in finished.results.cells:
        low = cell.estimates["truthfulness"].low
        assert low is not None
        assert f"[{100 * low:.1f}, ".replace("-", "\u2212") in html


def test_findings_are_the_generated_words(page: Page, finished: FinishedRun) -> None:
    for claim in finished.results.claims:
        assert claim.says in page.text
        for part in claim.parts:
            assert re.sub(r"(?<![\w.])-(?=\d)", "\u2212", part.words) in page.text


def test_the_known_rates_give_the_known_conclusion(finished: FinishedRun) -> None:
    ruling = {claim.id: claim.ruling for claim in finished.results.claims if claim.scope == "all"}
    assert ruling["ternary-below-sft"] == "holds"
    assert ruling["binary-stops-abstaining"] == "holds"


def test_marks_follow_holm(finished: FinishedRun) -> None:
    expected = sum(
        found.p_holm is not None and found.p_holm < 0.05
        for cell in finished.results.cells
        for metric, found in cell.against_base.items()
        if metric != "abstention"
    )
    shown = len(re.findall(r'class="mark (?:better|worse)"', finished.report()))
    assert shown == expected > 0


def test_lineage_is_complete(page: Page, finished: FinishedRun) -> None:
    lineage = json.loads(finished.report("results.json"))["lineage"]
    assert len(lineage) == 1 + 1 + 1 + 3 + 3 + 12 + 15 + 1
    for manifest in lineage:
        assert manifest["label"] in page.text
        assert manifest["key"][:12] in page.text
    assert 'duplicate "<i>" 2' in page.text
    assert "unparsable 3" in page.text


def test_cost_is_summed_over_the_lineage(page: Page, finished: FinishedRun) -> None:
    cost = json.loads(finished.report("results.json"))["cost"]
    assert cost["calls"] == 3 * 1200 + 15 * 400
    assert cost["usd"] == pytest.approx(3 * 0.25 + 15 * 0.08)
    assert "9,600" in page.text


def test_markdown_keeps_foreign_text_in_code(finished: FinishedRun) -> None:
    text = finished.report("report.md")
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    assert "alert(1)" in text
    assert "alert(" not in outside
    assert "<b>" not in outside
    assert outside.count("```") == 2, "only the mermaid block is left"


def test_markdown_tables_are_whole(finished: FinishedRun) -> None:
    text = finished.report("report.md")
    outside = re.sub(r"^(`{3,})text\n.*?\n\1$", "", text, flags=re.DOTALL | re.MULTILINE)
    for block in re.findall(r"(?:^\|.*\n)+", outside, flags=re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1, block
        assert block.splitlines()[1].startswith("| ---")


def test_manifest_counts_the_rulings(finished: FinishedRun) -> None:
    counts = finished.store.manifest(finished.report_ref).counts
    assert counts["examples"] == 3
    assert sum(number for name, number in counts.items() if name.startswith("claims: ")) == 6


def test_files_of_the_report(finished: FinishedRun) -> None:
    names = {path.name for path in Path(finished.report_ref.path).iterdir()}
    assert names == {"report.html", "report.md", "results.json", "lineage.md"}


def test_a_changed_layout_makes_a_new_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = layout_digest()
    copy = tmp_path / "reporting" / "templates"
    shutil.copytree(TEMPLATES, copy)
    for path in TEMPLATES.parent.glob("published_*.json"):
        shutil.copy(path, copy.parent)
    monkeypatch.setattr("tasks.reporting.render.TEMPLATES", copy)
    assert layout_digest() == before
    (copy / "style.css").write_text("body {}")
    changed = layout_digest()
    (copy.parent / "published_truthrl.json").write_text("{}")
    assert len({before, changed, layout_digest()}) == 3


def test_fence_is_longer_than_any_inside() -> None:
    assert fenced("a ```` b") == "`````text\na ```` b\n`````"


def test_foreign_text_is_cut() -> None:
    assert foreign("x" * 2_000).endswith("(500 more characters)")
    assert foreign(None) == ""
