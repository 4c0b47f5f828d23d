"""data/sources.toml: where each question set comes from, and whether this machine can get at it."""

from __future__ import annotations

import logging
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pydantic import Field, model_validator

from configs.settings import DataSettings, Section
from tasks.core.hashing import file_digest
from tasks.curation.candidates import Side

log = logging.getLogger("plumbline")

SOURCES_FILE = Path(__file__).resolve().parents[2] / "data" / "sources.toml"
COMMIT = re.compile(r"[0-9a-f]{40}")
SUFFIXES = (".jsonl", ".jsonl.bz2", ".parquet")


class Source(Section):
    """One table of data/sources.toml."""

    hub: str | None = None
    """Id on the Hugging Face hub; None where the set is not read from there."""
    revision: str = "main"
    """Commit of the hub repository, or a branch with `pinned` false."""
    pinned: bool = False
    """The revision is a commit, so that what is read cannot change."""
    config: str | None = None
    """Configuration on the hub."""
    splits: dict[Side, str] = Field(default_factory=dict)
    """Hub split of each side."""
    columns: tuple[str, ...]
    """Columns that must be there."""
    licence: str
    homepage: str
    url: str | None = None
    """Where a person gets the file of a set that is not on the hub."""
    note: str = ""

    @model_validator(mode="after")
    def _is_reachable(self) -> Source:
        if self.hub is None and self.url is None:
            raise ValueError("a set needs `hub` or `url`")
        if self.hub is not None and "test" not in self.splits:
            raise ValueError("`splits` must name the hub split of the test side")
        if self.pinned and not COMMIT.fullmatch(self.revision):
            raise ValueError(f"`pinned = true` needs a 40-digit commit as revision, not {self.revision!r}")
        return self


class SourceError(RuntimeError):
    """A set's rows cannot be read; the message says which file and what to do."""


@cache
def load_sources(path: Path = SOURCES_FILE) -> dict[str, Source]:
    """Every set by name.

    Raises:
        pydantic.ValidationError: a table is incomplete, or pinned to no commit.
    """
    with path.open("rb") as file:
        return {name: Source.model_validate(table) for name, table in tomllib.load(file).items()}


def source_of(dataset: str) -> Source:
    """The table of a set.

    Raises:
        KeyError: no such set; the message lists those that exist.
    """
    sources = load_sources()
    if dataset not in sources:
        raise KeyError(f"no question set {dataset!r} in {SOURCES_FILE}; known ones: {', '.join(sources)}")
    return sources[dataset]


def sets_of(data: DataSettings) -> tuple[str, ...]:
    """The sets that a run reads, the training set first, none twice."""
    return tuple(dict.fromkeys((data.train_set, *data.eval_sets)))


def local_files(folder: Path, dataset: str) -> list[Path]:
    """Files of a set below a folder: one ``<set>.<suffix>``, or all of a folder ``<set>/`` in order of name.

    Raises:
        SourceError: more than one such place, so that it is not clear which is meant.
    """
    single = [path for suffix in SUFFIXES if (path := folder / f"{dataset}{suffix}").is_file()]
    inside = sorted(path for path in (folder / dataset).glob("*") if path.name.endswith(SUFFIXES))
    if len(single) + bool(inside) > 1:
        found = ", ".join(str(path) for path in [*single, *inside[:1]])
        raise SourceError(f"{dataset}: more than one source in {folder} ({found}): remove all but one")
    return single or inside


def local_digests(data: DataSettings) -> dict[str, str]:
    """SHA-256 of every local file that a run reads, so that an edited file changes the stage's key."""
    if data.local_dir is None:
        return {}
    folder = Path(data.local_dir)
    return {
        path.relative_to(folder).as_posix(): file_digest(path)
        for dataset in sets_of(data)
        for path in local_files(folder, dataset)
    }


def check_sources(data: DataSettings) -> Iterator[tuple[str, str]]:
    """What stops the sets from being read, each with its fix; warns of sets that are not pinned."""
    folder = None if data.local_dir is None else Path(data.local_dir)
    if folder is not None and not folder.is_dir():
        yield f"data.local_dir {folder} is no folder", "create it, or correct data.local_dir"
        return
    for dataset in sets_of(data):
        try:
            source = source_of(dataset)
            files = local_files(folder, dataset) if folder is not None else []
        except (KeyError, SourceError) as error:
            yield str(error.args[0]), "correct data.train_set and data.eval_sets, or the folder's files"
            continue
        if not files and source.hub is None:
            yield (f"{dataset} is not on the hub and data.local_dir holds no file of it", how_to_get(dataset, source))
        elif not files:
            warn_if_unpinned(dataset, source)


def how_to_get(dataset: str, source: Source) -> str:
    """What a person does to get the file of a set that is not on the hub."""
    return (
        f"download {source.url} ({source.licence}), save it as {dataset}.jsonl.bz2 in a folder of its own "
        "and set data.local_dir to that folder"
    )


def warn_if_unpinned(dataset: str, source: Source) -> None:
    """Say loudly that a set may change under the run."""
    if not source.pinned:
        log.warning(
            "NOT PINNED: %s is read from %s at %r, which may change any day; set a commit as `revision` and "
            "`pinned = true` in data/sources.toml to make this run repeatable",
            dataset,
            source.hub,
            source.revision,
        )
