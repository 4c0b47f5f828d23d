"""BM25 over a fixed set of documents, with postings computed once.

score(d, q) = sum over terms t of q: idf(t) tf (k1 + 1) / (tf + k1 (1 - b + b |d| / mean |d|)),
idf(t) = ln(1 + (N - n_t + 0.5) / (n_t + 0.5)) (the variant of Lucene, which is never negative).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

K1 = 1.5
B = 0.75


def terms(text: str) -> list[str]:
    """Words in lower case."""
    return re.findall(r"[^\W_]+", text.lower())


class TermIndex:
    """Scores documents against queries; equal scores keep the documents' order."""

    def __init__(self, documents: Sequence[str]) -> None:
        counts = [Counter(terms(document)) for document in documents]
        lengths = np.array([sum(count.values()) for count in counts], dtype=np.float64)
        norm = K1 * (1 - B + B * lengths / max(lengths.mean(), 1.0)) if len(counts) else lengths
        postings: dict[str, list[tuple[int, int]]] = {}
        for document, count in enumerate(counts):
            for term, frequency in count.items():
                postings.setdefault(term, []).append((document, frequency))
        self._size = len(counts)
        self._postings: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        for term, entries in postings.items():
            at = np.array([document for document, _ in entries], dtype=np.int64)
            tf = np.array([frequency for _, frequency in entries], dtype=np.float64)
            idf = np.log(1 + (self._size - len(entries) + 0.5) / (len(entries) + 0.5))
            self._postings[term] = at, idf * tf * (K1 + 1) / (tf + norm[at])

    def rank(self, query: str, k: int) -> list[int]:
        """The at most `k` best documents that share a term with the query, best first."""
        scores = np.zeros(self._size)
        for term in dict.fromkeys(terms(query)):
            if term in self._postings:
                at, weights = self._postings[term]
                scores[at] += weights
        order = np.argsort(-scores, kind="stable")[:k]
        return [int(document) for document in order if scores[document] > 0]
