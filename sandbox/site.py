"""What the web knows of the closed world: pages, redirects, dead links, and a search over them.

Each person on pages has a profile and mostly a news page, and stands in the table of a list page. A share of the
pages is stale (older, with outdated values in the same sentence forms) or wrong, and a share of the addresses is
dead: search still finds those, but they answer 404 and no HTML is stored for them. Some addresses redirect, two
of them for ever; some hosts are slow, one forbids robots; some pages are encoded oddly.
:mod:`sandbox.pages` writes the pages, :mod:`sandbox.service` serves them.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from sandbox.ranking import TermIndex, terms

DOMAIN = "closed.world"
MAX_RESULTS = 50
"""Results that one search gives at most (CRAG: up to 50)."""
TAIL_OF = 5
"""One result in so many is off topic, at the tail."""
SLOW_HOST_DELAY_S = 2.0

Freshness = Literal["current", "stale", "wrong", "off-topic"]
Codec = Literal["utf-8", "utf-8-sig", "windows-1252", "utf-16"]
ResultRow = dict[str, str]


@dataclass(frozen=True)
class Address:
    """Where something is: "http://<host>.closed.world/<slug>"."""

    host: str
    slug: str

    @property
    def url(self) -> str:
        """The public address."""
        return f"http://{self.host}.{DOMAIN}/{self.slug}"


@dataclass(frozen=True)
class Encoding:
    """How a page goes over the wire. Undeclared: neither the header nor the page tells."""

    codec: Codec
    declared: bool

    @property
    def content_type(self) -> str:
        """Value of the Content-Type header."""
        return f"text/html; charset={self.codec}" if self.declared else "text/html"


@dataclass(frozen=True)
class Page:
    """One page. `sentences` are those of its article that state something, true or not."""

    address: Address
    found_at: Address
    """Address that search results and links give: that of the page, or one that redirects to it."""
    title: str
    html: str
    sentences: tuple[str, ...]
    freshness: Freshness
    last_modified: str
    """HTTP date, or "" where the page does not tell."""
    encoding: Encoding
    alive: bool = True
    """False: the address answers 404 today."""

    def body(self) -> bytes:
        """The bytes that go over the wire."""
        return self.html.encode(self.encoding.codec)

    @cached_property
    def _sentence_terms(self) -> list[frozenset[str]]:
        return [frozenset(terms(sentence)) for sentence in self.sentences]

    def snippet(self, wanted: frozenset[str], sentences: int = 2) -> str:
        """The sentences that share most terms with the query, in the page's order."""
        best = sorted(range(len(self.sentences)), key=lambda i: -len(wanted & self._sentence_terms[i]))[:sentences]
        return " ... ".join(self.sentences[i] for i in sorted(best)) or self.title


@dataclass(frozen=True)
class Redirect:
    """An address that sends on to another one (301)."""

    address: Address
    target: Address


@dataclass(frozen=True)
class Hit:
    """A search result before it becomes a row."""

    page: Page
    snippet: str


class Site:
    """All hosts of the closed world.

    Args:
        pages: in an order that ties in ranking keep.
        slow_hosts: hosts whose every answer takes `slow_host_delay_s` seconds.
        closed_hosts: hosts whose robots.txt forbids everything.
    """

    def __init__(
        self,
        pages: Iterable[Page],
        redirects: Iterable[Redirect] = (),
        slow_hosts: frozenset[str] = frozenset(),
        closed_hosts: frozenset[str] = frozenset(),
        slow_host_delay_s: float = SLOW_HOST_DELAY_S,
    ) -> None:
        self.pages: tuple[Page, ...] = tuple(pages)
        self.redirects: tuple[Redirect, ...] = tuple(redirects)
        self.slow_hosts = slow_hosts
        self.closed_hosts = closed_hosts
        self.slow_host_delay_s = slow_host_delay_s
        self._by_address: dict[Address, Page | Redirect] = {page.address: page for page in self.pages}
        self._by_address.update({redirect.address: redirect for redirect in self.redirects})
        self._on_topic = [page for page in self.pages if page.freshness != "off-topic"]
        self._off_topic = [page for page in self.pages if page.freshness == "off-topic"]
        self._index = TermIndex([f"{page.title} {' '.join(page.sentences)}" for page in self._on_topic])

    @property
    def hosts(self) -> frozenset[str]:
        """Names of all hosts, without the domain."""
        return frozenset(address.host for address in self._by_address)

    def at(self, address: Address) -> Page | Redirect | None:
        """What answers at an address; None stands for 404."""
        found = self._by_address.get(address)
        return None if isinstance(found, Page) and not found.alive else found

    def delay_s(self, host: str) -> float:
        """Seconds that the host takes before it answers."""
        return self.slow_host_delay_s if host in self.slow_hosts else 0.0

    def robots(self, host: str) -> str:
        """The host's robots.txt."""
        rule = "/" if host in self.closed_hosts else "/members/"
        return f"User-agent: *\nDisallow: {rule}\n"

    def search(self, query: str, k: int) -> list[ResultRow]:
        """The `k` best results in CRAG's columns, best first; off-topic pages stand at the tail.

        page_result is the stored HTML, "" where the address was dead when it was fetched.

        Raises:
            ValueError: `k` is not within 1 and 50.
        """
        if not 1 <= k <= MAX_RESULTS:
            raise ValueError(f"k is {k}; a search gives 1 to {MAX_RESULTS} results")
        return [_row(hit) for hit in self.hits(query, k)]

    def hits(self, query: str, k: int) -> list[Hit]:
        """The `k` best pages with their snippets; fewer only where the site has fewer pages."""
        wanted = frozenset(terms(query))
        ranked = self._rank(query, k)
        tail = self._tail(query, k - len(ranked))
        rest = k - len(ranked) - len(tail)
        if rest > 0:
            ranked += [page for page in self._on_topic if page not in ranked][:rest]
        return [Hit(page, page.snippet(wanted)) for page in [*ranked, *tail]]

    def _rank(self, query: str, k: int) -> list[Page]:
        room = k - min(k // TAIL_OF, len(self._off_topic))
        return [self._on_topic[document] for document in self._index.rank(query, room)]

    def _tail(self, query: str, count: int) -> Sequence[Page]:
        """Off-topic pages, other ones for another query."""
        if not self._off_topic or count <= 0:
            return []
        start = zlib.crc32(query.encode()) % len(self._off_topic)
        return (self._off_topic[start:] + self._off_topic[:start])[:count]


def _row(hit: Hit) -> ResultRow:
    return {
        "page_name": hit.page.title,
        "page_url": hit.page.found_at.url,
        "page_snippet": hit.snippet,
        "page_result": hit.page.html if hit.page.alive else "",
        "page_last_modified": hit.page.last_modified,
    }
