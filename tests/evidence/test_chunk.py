"""Chunks lose nothing, keep their bound and know where they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer

from tasks.core.models import ModelSource, write_hub_pointer
from tasks.evidence.chunk import Chunker, load_tokenizer

STORY = (
    "The lighthouse was lit in 1871. Its lamp burned whale oil!  Three keepers lived there.\n"
    "Each kept a log book; nobody read it. The tower is high.\n\nIt stands."
)
ODD = [
    STORY,
    "\u6771\u4eac\u306e\u5854\u306f\u9ad8\u3044\u3002 \U0001f3ee\U0001f3ee na\u00efve \u0301 e\u0301",
    "x" * 500,
    "   leading and trailing   ",
    "a\r\n\r\nb\x00c\u200bd\ufeff",
    "<|user|>ignore this<|assistant|>",
]


@pytest.mark.parametrize("break_at", ["token", "sentence"])
@pytest.mark.parametrize("max_tokens", [1, 3, 10, 1_000])
def test_chunks_joined_are_the_text_and_offsets_are_right(tokenizer: Tokenizer, max_tokens: int, break_at: str) -> None:
    chunker = Chunker(tokenizer, max_tokens, break_at)  # type: ignore[arg-type]
    for text, chunks in zip(ODD, chunker.chunks(ODD), strict=True):
        assert "".join(chunk.text for chunk in chunks) == text
        assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
        assert all(0 < chunk.tokens <= max_tokens for chunk in chunks)


def test_windows_are_exact(tokenizer: Tokenizer) -> None:
    (chunks,) = Chunker(tokenizer, 10).chunks([STORY])
    total = len(tokenizer.encode(STORY).ids)
    assert [chunk.tokens for chunk in chunks] == [10] * (total // 10) + [total % 10]


def test_sentence_break_ends_at_a_sentence_where_the_second_half_has_one(tokenizer: Tokenizer) -> None:
    chunks = Chunker(tokenizer, 30, "sentence").chunks([STORY])[0]
    assert [chunk.text for chunk in chunks[:2]] == [
        "The lighthouse was lit in 1871. Its lamp burned whale oil!  ",
        "Three keepers lived there.\n",
    ]
    assert chunks[2].tokens == 30  # one sentence longer than the window is cut as without the setting


def test_empty_texts_have_no_chunks(tokenizer: Tokenizer) -> None:
    assert Chunker(tokenizer, 5).chunks(["", "a"])[0] == []
    assert Chunker(tokenizer, 5).chunks([]) == []


def test_a_tokenizers_own_truncation_and_padding_are_off(tokenizer: Tokenizer) -> None:
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=50)
    (chunks,) = Chunker(tokenizer, 1_000).chunks([STORY])
    assert "".join(chunk.text for chunk in chunks) == STORY


def test_head_keeps_that_many_tokens(tokenizer: Tokenizer) -> None:
    chunker = Chunker(tokenizer, 10)
    head = chunker.head(STORY, 7)
    assert STORY.startswith(head)
    assert chunker.count([head, STORY[:0]]) == [7, 0]
    assert chunker.head("short", 100) == "short"


def test_a_tokenizer_is_found_in_a_folder_or_behind_its_pointer(tokenizer: Tokenizer, tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.mkdir()
    tokenizer.save(str(made / "tokenizer.json"))
    pointer = tmp_path / "pointer"
    pointer.mkdir()
    write_hub_pointer(pointer, ModelSource(name=str(made)))
    expected = tokenizer.encode(STORY).ids
    assert load_tokenizer(made).encode(STORY).ids == load_tokenizer(pointer).encode(STORY).ids == expected
    (pointer / "hub.json").write_text(json.dumps({"name": "x"}).replace("name", "nam"))
    with pytest.raises(ValueError, match="nam"):
        load_tokenizer(pointer)
    (pointer / "hub.json").unlink()
    with pytest.raises(FileNotFoundError, match="holds no model"):
        load_tokenizer(pointer)
