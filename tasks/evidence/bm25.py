"""BM25 with Okapi's formula, in numpy; scores equal rank-bm25's BM25Okapi to the last bit.

    idf(t)     = ln(N - df + 0.5) - ln(df + 0.5), and epsilon * mean idf over the vocabulary where that is negative
    score(d,q) = sum over t in q of idf(t) * tf (k1 + 1) / (tf + k1 (1 - b + b |d| / avgdl))

The floor matters: terms in more than half of the chunks decide a good part of the order, and the variants without
a floor (Lucene's) rank otherwise. Ties go to the earlier document (rank-bm25 leaves their order open).
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
import numpy.typing as npt

K1 = 1.5
B = 0.75
EPSILON = 0.25
WORD = re.compile(r"\w+")

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


def words(text: str) -> list[str]:
    """Terms of a text: runs of letters, digits and underscores, case folded."""
    return WORD.findall(text.casefold())


@dataclass
class Collection:
    """What BM25 must know of a whole collection; sums over parts, so that a collection may be read in blocks."""

    documents: int = 0
    terms: int = 0
    """Length of all documents together."""
    frequency: dict[str, int] = field(default_factory=dict)
    """Documents that hold a term, terms in order of first occurrence."""

    def add(self, documents: Iterable[Sequence[str]]) -> None:
        """Count further documents."""
        for document in documents:
            self.documents += 1
            self.terms += len(document)
            for term in dict.fromkeys(document):
                self.frequency[term] = self.frequency.get(term, 0) + 1

    def idf(self) -> dict[str, float]:
        """Inverse document frequency of every term, with the floor."""
        frequencies = np.fromiter(self.frequency.values(), np.int64, len(self.frequency))
        values = _idf(frequencies, self.documents)
        return dict(zip(self.frequency, values.tolist(), strict=True))


class Bm25:
    """An index over documents that are lists of terms.

    Args:
        documents: documents_D, each its terms in order.
        idf: of a larger collection that these documents are a part of, 0 for a term that it lacks; None takes
            these documents alone.
        mean_length: mean document length of that collection; None takes these documents alone.
    """

    def __init__(
        self,
        documents: Sequence[Sequence[str]],
        idf: Mapping[str, float] | None = None,
        mean_length: float | None = None,
    ) -> None:
        self.size = len(documents)
        numbers: defaultdict[str, int] = defaultdict()
        numbers.default_factory = numbers.__len__  # a new term gets the next number
        terms = np.array(list(map(numbers.__getitem__, chain.from_iterable(documents))), np.int64)
        self._vocabulary: dict[str, int] = dict(numbers)
        lengths = np.fromiter((len(document) for document in documents), np.int64, self.size)
        holders = np.repeat(np.arange(self.size), lengths)
        pairs, counts = np.unique(terms * max(self.size, 1) + holders, return_counts=True)
        term_P, self._document_P = np.divmod(pairs, max(self.size, 1))
        frequencies = np.bincount(term_P, minlength=len(self._vocabulary))
        self._start = np.concatenate([[0], np.cumsum(frequencies)])
        if idf is None:
            idf_V = _idf(frequencies, self.size)
        else:
            idf_V = np.fromiter((idf.get(term, 0.0) for term in self._vocabulary), np.float64, len(self._vocabulary))
        if mean_length is None:
            mean_length = int(lengths.sum()) / self.size if self.size else 0.0
        self._weight_P = _weights(idf_V[term_P], counts, lengths[self._document_P], mean_length)

    def scores(self, query: Iterable[str]) -> Floats:
        """Score of every document, scores_D; a term counts as often as the query repeats it."""
        scores_D = np.zeros(self.size)
        for term in query:
            index = self._vocabulary.get(term)
            if index is not None:
                postings = slice(self._start[index], self._start[index + 1])
                scores_D[self._document_P[postings]] += self._weight_P[postings]
        return scores_D

    def top(self, query: Iterable[str], count: int) -> list[tuple[int, float]]:
        """The best documents with their scores, best first."""
        scores_D = self.scores(query)
        candidates = np.arange(self.size)
        if count < self.size:
            threshold = np.partition(scores_D, self.size - count)[self.size - count]
            candidates = np.flatnonzero(scores_D >= threshold)
        order = candidates[np.argsort(-scores_D[candidates], kind="stable")][:count]
        return [(int(index), float(scores_D[index])) for index in order]


def _idf(frequency_V: Integers, documents: int) -> Floats:
    """Idf of terms in order of first occurrence. math.log and a running sum, as the reference has them."""
    if not len(frequency_V):
        return np.zeros(0)
    unique, inverse = np.unique(frequency_V, return_inverse=True)
    logs = [math.log(documents - count + 0.5) - math.log(count + 0.5) for count in unique.tolist()]
    idf_V = np.array(logs)[inverse]
    mean = float(np.add.accumulate(idf_V)[-1]) / len(idf_V)
    return np.where(idf_V < 0, EPSILON * mean, idf_V)


def _weights(idf_P: Floats, counts_P: Integers, lengths_P: Integers, mean_length: float) -> Floats:
    if not len(counts_P):
        return np.zeros(0)
    return idf_P * (counts_P * (K1 + 1) / (counts_P + K1 * (1 - B + B * lengths_P / mean_length)))
