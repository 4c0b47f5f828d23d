"""The question sets that can be read. A new set: its module, a line here, its table in data/sources.toml."""

from __future__ import annotations

from tasks.curation import crag, hotpotqa, musique, nq_open
from tasks.curation.candidates import ReadRow

READERS: dict[str, ReadRow] = {
    crag.NAME: crag.read_row,
    nq_open.NAME: nq_open.read_row,
    hotpotqa.NAME: hotpotqa.read_row,
    musique.NAME: musique.read_row,
}


def reader_of(dataset: str) -> ReadRow:
    """The reader of a set.

    Raises:
        KeyError: no such set; the message lists those that exist.
    """
    if dataset not in READERS:
        raise KeyError(f"no question set {dataset!r}; known ones: {', '.join(READERS)}")
    return READERS[dataset]
