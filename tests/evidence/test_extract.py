"""Text of ordinary and of hostile pages."""

from __future__ import annotations

import pytest

from tasks.evidence.extract import extract_page

BODY = "<p>The lighthouse at Skerry Point was lit for the first time in 1871, after four winters of work.</p>"
MORE = "".join(f"<p>Keeper number {number} wrote of the weather in the log book every day.</p>" for number in range(5))
NAVIGATION = "<nav><a href=/>Home</a> <a href=/shop>Buy now</a></nav>"
PAGE = f"<html><head><script>var secret = 1</script></head><body>{NAVIGATION}{BODY}{MORE}</body></html>"


def test_main_text_without_scripts_and_navigation() -> None:
    page = extract_page("k", PAGE)
    assert (page.status, page.reason) == ("main_text", "")
    assert page.text.startswith("The lighthouse at Skerry Point was lit for the first time in 1871")
    assert page.text.endswith("every day.")
    assert not any(word in page.text for word in ("Home", "Buy now", "secret"))


def test_a_page_in_which_trafilatura_finds_nothing_goes_to_the_lenient_parser() -> None:
    page = extract_page("k", "<span>hi</span>")
    assert (page.status, page.reason, page.text) == ("lenient", "no_text", "hi")


@pytest.mark.parametrize("html", ["<html><body></body></html>", "<script>x()</script>", "<!-- only a comment -->"])
def test_a_page_without_text_fails(html: str) -> None:
    page = extract_page("k", html)
    assert (page.status, page.reason, page.text) == ("failed", "no_text", "")


@pytest.mark.parametrize("depth", [260, 400, 3_000])
def test_deep_nesting_does_not_lose_the_tail(depth: int) -> None:
    html = f"<html><body>{'<div>' * depth}{BODY}{'</div>' * depth}<p>The tail of the page.</p></body></html>"
    page = extract_page("k", html)
    assert (page.status, page.reason) == ("lenient", "beyond_libxml2")
    assert "1871" in page.text
    assert page.text.endswith("The tail of the page.")


def test_unclosed_elements_that_html_closes_by_itself_are_not_nesting() -> None:
    items = "".join(f"<li>Item {number} of the list of things<br>" for number in range(400))
    page = extract_page("k", f"<html><body><article><p>{BODY}<ul>{items}</ul></article></body></html>")
    assert page.status == "main_text"


def test_a_text_node_of_ten_megabytes_keeps_its_end() -> None:
    page = extract_page("k", f"<html><body><p>{'word ' * 2_100_000}the very end</p></body></html>")
    assert (page.status, page.reason) == ("lenient", "beyond_libxml2")
    assert page.text.endswith("the very end")


@pytest.mark.parametrize(
    "html", ["\x00<p>a\x00b</p>", "<p>\ud800 lone</p>", "<<<>>><p", "<p>" + "&#0;&#xD800;&#x110000;"]
)
def test_broken_markup_gives_storable_text(html: str) -> None:
    text = extract_page("k", html).text
    text.encode()
    assert "\x00" not in text
