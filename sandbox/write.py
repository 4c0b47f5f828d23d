"""The closed world on disk: question sets, corpus and the policy's text. Same settings, same bytes."""

from __future__ import annotations

import bz2
import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from configs.settings import WorldSettings
from sandbox.lessons import fact_rows, first_reading_rows, instruct_rows, reading_rows
from sandbox.pages import build_site
from sandbox.questions import corpus_rows, crag_rows, hotpotqa_rows, musique_rows, nq_open_rows
from sandbox.world import World, build_world

Row = dict[str, Any]


def write_world(settings: WorldSettings, folder: Path) -> dict[str, int]:
    """Write crag.jsonl.bz2, nq_open.jsonl, hotpotqa.jsonl, musique.jsonl, corpus.jsonl and facts.jsonl.

    Args:
        folder: made if it does not exist.

    Returns:
        rows a file, by file name.
    """
    world = build_world(settings)
    site = build_site(world)
    folder.mkdir(parents=True, exist_ok=True)
    sets: dict[str, Iterable[Row]] = {
        "crag.jsonl.bz2": crag_rows(world, partial(site.search, k=settings.search_results)),
        "nq_open.jsonl": nq_open_rows(world),
        "hotpotqa.jsonl": hotpotqa_rows(world),
        "musique.jsonl": musique_rows(world),
        "corpus.jsonl": corpus_rows(world),
        "facts.jsonl": lesson_rows(world),
    }
    return {name: _write_lines(folder / name, rows) for name, rows in sets.items()}


def lesson_rows(world: World) -> Iterator[Row]:
    """All that the policy learns from, in the order of its phases."""
    settings = world.settings
    yield from fact_rows(world)
    yield from first_reading_rows(world, settings.first_readings)
    yield from reading_rows(world, settings.readings)
    yield from instruct_rows(world, settings.instruct_refusal_share)


def _write_lines(path: Path, rows: Iterable[Row]) -> int:
    count = 0
    with _open(path) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            count += 1
    return count


def _open(path: Path) -> TextIO:
    if path.suffix == ".bz2":
        return bz2.open(path, "wt", encoding="utf-8")
    return path.open("w", encoding="utf-8")
