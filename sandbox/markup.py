"""HTML of the closed world's pages: an article among navigation, scripts, adverts, banners and comments.

Three layouts, as sites differ: semantic elements, nested div boxes with class names, and old-fashioned markup
with upper-case tags and unclosed paragraphs. Only the article states facts of the world in its sentences.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

Layout = Literal["semantic", "boxes", "old"]
LAYOUTS: tuple[Layout, ...] = ("semantic", "boxes", "old")

STYLE = "body{margin:0;font:16px/1.5 sans-serif}.ad{background:#ffd}.cookie{position:fixed;bottom:0}"
SCRIPT = (
    "window.dataLayer=window.dataLayer||[];function track(e){dataLayer.push({event:e,t:Date.now()})}"
    "if(document.cookie.indexOf('seen=1')<0){track('first visit')}"
)
ADVERT = "Cheap rooms by the sea \u2013 book now and save 20%"
COOKIES = "We use cookies to make this caf\u00e9 of knowledge better. Accept all / Only what is needed"
NEWSLETTER = "Sign up for our newsletter"


@dataclass(frozen=True)
class Article:
    """What a page is about; everything else on it is boilerplate."""

    title: str
    site_name: str
    paragraphs: tuple[str, ...]
    """Text of the body, a paragraph each."""
    table: tuple[tuple[str, ...], ...] = ()
    """Rows of cells, the first row being the head."""
    links: tuple[tuple[str, str], ...] = ()
    """(text, path) of the page's links to other pages."""
    dateline: str = ""
    comments: tuple[str, ...] = ()
    """What visitors wrote below; states nothing."""


def render(article: Article, layout: Layout, charset: str | None) -> str:
    """The page as text; `charset` is what its meta element declares, None for no declaration."""
    body = {"semantic": _semantic, "boxes": _boxes, "old": _old}[layout](article)
    meta = f'<meta charset="{charset}">' if charset else ""
    title = f"{escape(article.title)} \u2013 {escape(article.site_name)}"
    head = (
        f'{meta}<title>{title}</title><meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style><script>{SCRIPT}</script>"
        f'<script type="application/ld+json">{{"@type":"WebPage","name":"{escape(article.title)}"}}</script>'
    )
    doctype = "" if layout == "old" else "<!DOCTYPE html>\n"
    return f'{doctype}<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _semantic(article: Article) -> str:
    paragraphs = "\n".join(f"<p>{escape(text)}</p>" for text in article.paragraphs)
    return (
        f"<header><a href='/'>{escape(article.site_name)}</a>{_navigation(article)}</header>\n"
        f'<aside class="ad"><!-- slot 1 --><p>{ADVERT}</p></aside>\n'
        f"<main><article><h1>{escape(article.title)}</h1>\n"
        f"<time>{escape(article.dateline)}</time>\n{paragraphs}\n{_table(article)}</article></main>\n"
        f"{_comments(article)}<footer><p>\u00a9 {escape(article.site_name)}</p><p>{NEWSLETTER}</p></footer>\n"
        f'<div class="cookie" role="dialog"><p>{COOKIES}</p></div>'
    )


def _boxes(article: Article) -> str:
    paragraphs = "\n".join(f'<div class="row"><p>{escape(text)}</p></div>' for text in article.paragraphs)
    return (
        f'<div id="wrap"><div class="topbar"><span>{escape(article.site_name)}</span></div>\n{_navigation(article)}\n'
        f'<div class="ad"><p>{ADVERT}</p></div>\n'
        f'<div id="content" class="post-content entry-content"><h2>{escape(article.title)}</h2>\n'
        f'<p class="dateline">{escape(article.dateline)}</p>\n{paragraphs}\n{_table(article)}</div>\n'
        f'{_comments(article)}<div class="sidebar"><h3>Most read</h3><ul><li>Ten ways to fold a map</li></ul></div>\n'
        f'<div class="footer"><p>\u00a9 {escape(article.site_name)}. {NEWSLETTER}.</p></div></div>\n'
        f'<div class="cookie-banner"><p>{COOKIES}</p></div><script>track("end")</script>'
    )


def _old(article: Article) -> str:
    paragraphs = "\n".join(f"<P>{escape(text)}" for text in article.paragraphs)
    return (
        f"{_navigation(article)}\n<CENTER><IMG SRC='/banner.gif' ALT='{ADVERT}'></CENTER>\n<HR>\n"
        f"<H1>{escape(article.title)}</H1>\n<!-- {escape(article.dateline)} -->\n{paragraphs}\n{_table(article)}\n"
        f"{_comments(article)}<HR><DIV CLASS='footer'>\u00a9 {escape(article.site_name)} \u2013 {NEWSLETTER}</DIV>"
    )


def _navigation(article: Article) -> str:
    items = "".join(f'<li><a href="{escape(path)}">{escape(text)}</a></li>' for text, path in article.links)
    return f'<nav class="menu"><ul>{items}</ul></nav>'


def _table(article: Article) -> str:
    if not article.table:
        return ""
    head, *rows = article.table
    cells = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    lines = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>\n{lines}\n</tbody></table>"


def _comments(article: Article) -> str:
    if not article.comments:
        return ""
    items = "".join(f'<li class="comment">{escape(text)}</li>' for text in article.comments)
    return f'<section id="comments" class="comments"><h3>Comments</h3><ol>{items}</ol></section>\n'
