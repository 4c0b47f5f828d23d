"""BM25: by hand, and against rank-bm25 to the last bit."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from rank_bm25 import BM25Okapi

from tasks.evidence.bm25 import Bm25, Collection, words


def test_words_are_case_folded_runs_of_letters() -> None:
    assert words("Stra\u00dfe-No. 5: don't\tCAF\u00c9") == ["strasse", "no", "5", "don", "t", "caf\u00e9"]


def test_one_score_by_hand() -> None:
    documents = [["cat", "cat", "dog"], ["dog"], ["fish", "bird"], ["bird"]]
    idf_cat = math.log(3.5) - math.log(1.5)
    length_norm = 1.5 * (1 - 0.75 + 0.75 * 3 / 1.75)
    expected = idf_cat * 2 * 2.5 / (2 + length_norm)
    scores = Bm25(documents).scores(["cat"])
    assert scores[0] == pytest.approx(expected, rel=1e-12)
    assert scores[1:].tolist() == [0, 0, 0]


def test_common_terms_get_the_floor_by_hand() -> None:
    documents = [["the", "cat"], ["the", "dog"], ["the", "fish"]]
    rare, the = math.log(2.5) - math.log(1.5), math.log(0.5) - math.log(3.5)
    floor = 0.25 * (the + 3 * rare) / 4
    assert Bm25(documents).scores(["the"])[0] == pytest.approx(floor, rel=1e-12)


def random_corpus(rng: random.Random, vocabulary: int, documents: int) -> list[list[str]]:
    names = [f"w{number}" for number in range(vocabulary)]
    weights = [1 / (rank + 1) for rank in range(vocabulary)]
    return [rng.choices(names, weights, k=rng.randrange(0, 40)) for _ in range(documents - 1)] + [["w0"]]


ADVERSARIAL = {
    "one document": [["a", "b", "a"]],
    "all alike": [["a", "b"]] * 7,
    "every term common": [["a", "b", "c"], ["c", "b", "a"], ["a", "c", "b", "a"]],
    "half and half": [["a"], ["a"], ["b"], ["b"]],
    "empty ones among them": [[], ["a"], [], ["b", "a"]],
    "one long": [["a"] * 5_000 + ["b"], ["b"], ["a"]],
}


@pytest.mark.parametrize("seed", range(12))
def test_random_corpora_score_and_rank_as_rank_bm25_does(seed: int) -> None:
    rng = random.Random(seed)
    documents = random_corpus(rng, rng.choice((3, 20, 500)), rng.choice((2, 15, 120)))
    ours, theirs = Bm25(documents), BM25Okapi(documents)
    for _ in range(10):
        query = [f"w{rng.randrange(0, 30)}" for _ in range(rng.randrange(1, 8))] + ["unknown"]
        expected = theirs.get_scores(query)
        assert np.array_equal(ours.scores(query), expected)
        order = np.argsort(-expected, kind="stable")
        for count in (1, 3, len(documents), len(documents) + 5):
            assert [index for index, _ in ours.top(query, count)] == order[:count].tolist()


@pytest.mark.parametrize("name", list(ADVERSARIAL))
def test_adversarial_corpora_score_as_rank_bm25_does(name: str) -> None:
    documents = ADVERSARIAL[name]
    ours, theirs = Bm25(documents), BM25Okapi(documents)
    for query in (["a"], ["b", "a"], ["a", "a", "c"], [], ["zzz"]):
        assert np.array_equal(ours.scores(query), theirs.get_scores(query))


def test_nothing_to_search_is_no_error() -> None:
    assert Bm25([]).top(["a"], 3) == []
    assert Bm25([[], []]).top(["a"], 3) == [(0, 0.0), (1, 0.0)]


def test_blocks_with_the_collections_statistics_score_as_the_whole() -> None:
    documents = random_corpus(random.Random(1), 50, 90)
    collection = Collection()
    for start in range(0, 90, 30):
        collection.add(documents[start : start + 30])
    idf, mean_length = collection.idf(), collection.terms / collection.documents
    query = ["w0", "w7", "w30", "w0"]
    blocks = [Bm25(documents[start : start + 30], idf, mean_length).scores(query) for start in range(0, 90, 30)]
    assert np.array_equal(np.concatenate(blocks), Bm25(documents).scores(query))
