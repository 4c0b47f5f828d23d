from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tasks.reporting.charts import Line, element, interval_plot, line_chart, outcome_bar, ticks
from tasks.verify.results import Counts, Estimate


def test_text_and_attributes_are_escaped() -> None:
    made = element("text", '</text><script>"', class_='a" onload="x')
    assert made == '<text class="a&#34; onload=&#34;x">&lt;/text&gt;&lt;script&gt;&#34;</text>'


def test_bar_by_hand() -> None:
    tree = ElementTree.fromstring(outcome_bar(Counts(correct=5, abstained=3, incorrect=2, unscored=9), "m"))
    assert [(rect.attrib["class"], float(rect.attrib["width"])) for rect in tree.findall("rect")] == [
        ("correct", 110),
        ("abstained", 66),
        ("incorrect", 44),
    ]
    assert tree.findtext("title") == "m: correct 50.0%, abstained 30.0%, incorrect 20.0% of 10"


def test_bar_without_scored_responses_says_so() -> None:
    tree = ElementTree.fromstring(outcome_bar(Counts(unscored=3), "m"))
    assert tree.findtext("text") == "nothing scored"
    assert tree.findall("rect") == []


def test_interval_by_hand() -> None:
    tree = ElementTree.fromstring(interval_plot(Estimate(value=0.25, low=0.0, high=5.0), 0.5, "not resolved"))
    assert tree.attrib["class"] == "interval not-resolved"
    zero, spanned = tree.findall("line")
    dot = tree.find("circle")
    assert dot is not None
    assert float(zero.attrib["x1"]) == 100
    assert (float(spanned.attrib["x1"]), float(spanned.attrib["x2"])) == (100, 196)
    assert float(dot.attrib["cx"]) == 148


def test_curves_have_a_thin_line_a_seed_and_a_thick_mean() -> None:
    lines = [Line("<m>", (((1, 0.0), (2, 1.0)), ((1, 1.0), (2, 2.0))), ((1, 0.5), (2, 1.5)), 7)]
    tree = ElementTree.fromstring(line_chart(lines, "Reward"))
    assert [line.attrib["class"] for line in tree.findall("polyline")] == ["seed c1", "seed c1", "mean c1"]
    assert tree.findtext("polyline/title") == "<m>"


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0, 1, [0, 0.25, 0.5, 0.75, 1]), (0, 100, [0, 25, 50, 75, 100]), (-3, 7, [-5, -2.5, 0, 2.5, 5, 7.5])],
)
def test_ticks(low: float, high: float, expected: list[float]) -> None:
    assert ticks(low, high, 4) == pytest.approx(expected)


def test_ticks_of_one_value_and_of_steps() -> None:
    assert ticks(5, 5, 4) == pytest.approx([4.5, 4.75, 5.0, 5.25, 5.5])
    assert ticks(1, 3, 4, whole=True) == [1, 2, 3]
