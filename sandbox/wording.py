"""Plain text as the rule-based judge reads it: sentences, what is affirmed and what denied, words in normal form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from sandbox.numerals import SMALL

ARTICLES = frozenset({"a", "an", "the"})
_FUNCTION_WORDS = (
    "a an the in at on of to is was are were be it its she he they we i you her his their this that these those and or "
    "but so thus hence therefore since because from by near for with as if when where who whom what which while both "
    "either maybe perhaps probably possibly likely surely certainly clearly actually definitely indeed apparently yes "
    "no not now today currently then also only just answer final correct city home capital year born name friend job "
    "pet animal food trade live lives called person mr mrs ms dr according based"
)
"""Words that are no part of a name even when a sentence starts with them."""

_QUOTES = str.maketrans({"\u2018": "'", "\u2019": "'", "\u02bc": "'", "\u201c": '"', "\u201d": '"', "\u2212": "-"})
_SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)(?<!Dr\.)(?<!Mr\.)(?<!Mrs\.)\s+|\n+")
_TO_THE_GRADER = re.compile(
    r"\b(?:ignore|disregard|forget|override)\b.*\b(?:rules?|instructions?|criteria|above|previous|prior|everything)\b"
    r"|\b(?:give|assign|output|return|award|set|respond|reply|print|write)\b.*\bscore\b"
    r"""|["']?\bscore\b["']?\s*(?:[:=]|is|of)?\s*["']?[01]\b"""
    r"|\b(?:grader|grading|evaluator|system prompt|ground truth|accepted answers?)\b"
    r"|\b(?:mark|count|treat|accept)\b.*\b(?:correct|right)\b"
    r"""|["']explanation["']""",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r",(?!\d)|[;:()\n]|[.!?](?=\s|$)|\s(?:but|whereas|while|although|though)\s|\s(?:and\s+)?now\s|\s-+\s"
)
_DENIAL = re.compile(
    r"\b(?:not|never|neither|nor|no longer|rather than|instead of|unlike|except|false that|untrue that|wrong that"
    r"|used to|formerly|previously|once|before that|in the past)\b",
    re.IGNORECASE,
)
_NO_DENIAL = re.compile(
    r"\b(?:not only|not just|not doubt|never doubt|not forget|not wrong|not false)\b", re.IGNORECASE
)
_DENIED_AFTER = re.compile(
    r"\b(?:is|was|are|would be)\s+"
    r"(?:wrong|false|incorrect|untrue|mistaken|not\s+(?:right|correct|true|the\s+answer))\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"(?:(?<!\S)-(?=\d))?[^\W_]+(?:'[^\W\d_]+)?")


@dataclass(frozen=True)
class Token:
    """A word: normal form, capital initial (never where all the text is in capitals), joined to the word before."""

    norm: str
    capital: bool
    joined: bool
    first: bool
    """First word of its sentence, where a capital says nothing."""


@dataclass(frozen=True)
class Span:
    """A stretch of text that is affirmed or denied as a whole."""

    text: str
    affirmed: bool


def clean(text: str) -> str:
    """Text without typographic variants, mark-up and boxes; white space single, line breaks kept."""
    text = unicodedata.normalize("NFKC", text).translate(_QUOTES)
    text = re.sub(r"\\boxed\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"\\text\s*\{([^{}]*)\}", r"\1", text)
    text = re.sub(r"[*_`#$\\{}<>|]+", " ", text)
    text = re.sub(r"(?i)\bcan(?:'t|not)\b", "can not", text)
    text = re.sub(r"(?i)n't\b", " not", text)
    return "\n".join(line for raw in text.splitlines() if (line := " ".join(raw.split())))


def sentences(text: str) -> list[str]:
    """Sentences of cleaned text."""
    return [sentence for sentence in _SENTENCE_END.split(text) if sentence.strip()]


def without_orders(text: str) -> str:
    """The text less the clauses that speak to whoever grades it: they are no answer and are never obeyed."""
    kept = []
    for sentence in sentences(text):
        clauses = re.split(r"(?<=[,;])\s+", sentence)
        kept.append(" ".join(clause for clause in clauses if not _TO_THE_GRADER.search(clause)))
    return "\n".join(sentence for sentence in kept if sentence)


def asserted(text: str) -> str:
    """The text less its questions, unless it is nothing else."""
    kept = [sentence for sentence in sentences(text) if not sentence.endswith("?")]
    return "\n".join(kept) if kept else text


def spans(text: str) -> list[Span]:
    """The text cut at clause boundaries and at words of denial, which reach to the end of their clause."""
    found = []
    for clause in _BOUNDARY.split(text):
        if _DENIED_AFTER.search(clause):
            found.append(Span(clause, affirmed=False))
            continue
        cue = _DENIAL.search(_NO_DENIAL.sub(lambda match: "_" * len(match[0]), clause))
        if cue is None:
            found.append(Span(clause, affirmed=True))
        else:
            found += [Span(clause[: cue.start()], affirmed=True), Span(clause[cue.end() :], affirmed=False)]
    return [span for span in found if span.text.strip()]


def tokens(text: str) -> list[Token]:
    """Words in normal form: no case, accents, articles, possessives or plural s; number words as digits."""
    shouted = text.isupper()
    found: list[Token] = []
    end, first = 0, True
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        first = first or bool(re.search(r"[.!?\n]", between))
        norm = _normal_word(match[0])
        if norm not in ARTICLES:
            capital = match[0][0].isupper() and not shouted
            found.append(Token(norm, capital, joined=bool(found) and not between.strip(" -"), first=first))
            first = False
        end = match.end()
    return found


def _normal_word(word: str) -> str:
    bare = "".join(c for c in unicodedata.normalize("NFKD", word) if not unicodedata.combining(c)).casefold()
    bare = bare.removesuffix("'s").replace("'", "")
    if bare in SMALL:
        return str(SMALL[bare])
    return bare[:-1] if len(bare) > 3 and bare.endswith("s") else bare


FUNCTION_WORDS = frozenset(map(_normal_word, _FUNCTION_WORDS.split()))


@lru_cache(maxsize=8192)
def _phrase_tokens(phrase: str) -> tuple[Token, ...]:
    """Tokens of an answer or value; these repeat over and over, predictions do not."""
    return tuple(tokens(phrase))


def phrase_norms(phrase: str) -> tuple[str, ...]:
    """Normal forms of the words of an answer or value."""
    return tuple(token.norm for token in _phrase_tokens(phrase))


def norms(text: str) -> tuple[str, ...]:
    """Normal forms of the words of `text`."""
    return tuple(token.norm for token in tokens(text))


def same(text: str, answer: str) -> bool:
    """A text equal to an answer but for case, accents, articles, punctuation and plural."""
    return norms(text) == phrase_norms(answer) != ()


def holds(words: Sequence[Token], phrase: str) -> bool:
    """Whether the phrase stands in the words, not as a part of a longer name ("York" in "New York")."""
    wanted = _phrase_tokens(phrase)
    size = len(wanted)
    if not size:
        return False
    is_name = any(token.capital for token in wanted)
    return any(
        word.norm == wanted[0].norm
        and [token.norm for token in words[start : start + size]] == [token.norm for token in wanted]
        and not (is_name and _in_longer_name(words, start, start + size))
        for start, word in enumerate(words)
    )


def _in_longer_name(words: Sequence[Token], start: int, end: int) -> bool:
    if end < len(words) and words[end].joined and _of_a_name(words[end]):
        return True
    if start == 0 or not words[start].joined:
        return False
    before = words[start - 1]
    # An unknown first word of a sentence before a full name is more likely a word than a third name.
    return _of_a_name(before) and not (before.first and end - start > 1)


def _of_a_name(token: Token) -> bool:
    return token.capital and token.norm not in FUNCTION_WORDS


def names(words: Sequence[Token]) -> list[tuple[str, ...]]:
    """Normal forms of runs of two or more capitalised words: full names."""
    runs: list[list[str]] = [[]]
    for token in words:
        if not _of_a_name(token):
            runs.append([])
            continue
        if not token.joined:
            runs.append([])
        runs[-1].append(token.norm)
    return [tuple(run) for run in runs if len(run) > 1]
