"""Text to chunks: windows of at most N policy tokens, cut at the tokenizer's own character offsets.

Nothing is lost and nothing repeats: the chunks of a text joined together are the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tokenizers import Encoding, Tokenizer

from configs.settings import ChunkBreak
from tasks.core.models import ModelSource, model_source

TOKENIZER_FILE = "tokenizer.json"
SENTENCE_END = re.compile(r"[.!?][\"')\]\u2019\u201d]*\s+|\n+")


class Chunk(NamedTuple):
    """One window of a text."""

    start: int
    """First character."""
    end: int
    """Character after the last."""
    tokens: int
    text: str


class Chunker:
    """Cuts texts into windows and counts tokens, with one tokenizer.

    Args:
        tokenizer: a fast tokenizer; its truncation and padding are switched off.
        max_tokens: length of a window.
        break_at: "token" fills every window but the last; "sentence" ends a window at the last sentence end in
            its second half, if there is one, so that a fact is less often cut in two.
    """

    def __init__(self, tokenizer: Tokenizer, max_tokens: int, break_at: ChunkBreak = "token") -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self.tokenizer = tokenizer
        self.max_tokens = max_tokens
        self.break_at = break_at

    def chunks(self, texts: Sequence[str]) -> list[list[Chunk]]:
        """Chunks of each text, in order; none of an empty text."""
        encodings = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [self._windows(text, encoding) for text, encoding in zip(texts, encodings, strict=True)]

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""
        return [len(encoding.ids) for encoding in self.tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    def head(self, text: str, tokens: int) -> str:
        """The longest start of a text that has at most that many tokens."""
        offsets = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return text if len(offsets) <= tokens else text[: offsets[tokens][0]]

    def _windows(self, text: str, encoding: Encoding) -> list[Chunk]:
        starts = [start for start, _ in encoding.offsets]
        ends = {match.end() for match in SENTENCE_END.finditer(text)} if self.break_at == "sentence" else set()
        windows: list[Chunk] = []
        first, start = 0, 0
        while first < len(starts):
            last = self._end_of_window(first, starts, ends)
            end = starts[last] if last < len(starts) else len(text)
            if end > start:  # two tokens can share one character, which then belongs to the next window
                windows.append(Chunk(start, end, last - first, text[start:end]))
            first, start = last, end
        return windows

    def _end_of_window(self, first: int, starts: list[int], sentence_ends: set[int]) -> int:
        last = min(first + self.max_tokens, len(starts))
        if last == len(starts) or not sentence_ends:
            return last
        for index in range(last, first + (last - first) // 2, -1):
            if _ends_sentence(starts[index], sentence_ends):
                return index
        return last


def _ends_sentence(start: int, sentence_ends: set[int]) -> bool:
    """Whether a token starts a sentence; its offset may or may not hold the space before it."""
    return start in sentence_ends or start + 1 in sentence_ends


def load_tokenizer(folder: Path) -> Tokenizer:
    """The fast tokenizer of a tokenizer or model artefact, or of the hub model it points to.

    Raises:
        FileNotFoundError: the folder holds neither.
    """
    if (folder / TOKENIZER_FILE).is_file():
        return Tokenizer.from_file(str(folder / TOKENIZER_FILE))
    source: ModelSource = model_source(folder)
    local = Path(source.name) / TOKENIZER_FILE
    if local.is_file():
        return Tokenizer.from_file(str(local))
    return Tokenizer.from_pretrained(source.name, revision=source.revision or "main")
