r"""The final answer of a response: the last \boxed{...} outside the thinking (TruthRL App. E, Tables 9 and 10).

* Thinking is what stands between <think> and </think>. After an unclosed <think> everything is thinking; so is
  everything before a </think> that was never opened, because chat templates may open it in the prompt.
* The last box counts; of nested boxes the outermost. Braces are balanced, ``\{`` and ``\}`` are no braces.
  If the last box never closes, holds nothing, or holds pages of text, there is no answer: an earlier box is not
  taken for it.
* A response cut at the token limit has no final answer, whatever boxes it holds: the last box may still come.
  It is neither an answer nor an abstention.
* Without any box there is one answer left: a whole reply that is a plain refusal ("I don't know.") is that
  refusal. Any other reply without a box has no answer, however right its prose is.

Everything here takes time linear in the text.
"""

from __future__ import annotations

import re

from tasks.verify.refusals import is_refusal
from tasks.verify.spelling import visible

MAX_ANSWER_CHARS = 10_000
"""A longer box is a degenerate response and holds no final answer."""

_TAG = re.compile(r"<\s{0,4}(?P<end>/?)\s{0,4}think(?:ing)?\s{0,4}>", re.IGNORECASE)
_BOX = re.compile(r"(?P<box>\\{1,2}boxed\s{0,20}\{)|\\.|(?P<open>\{)|(?P<close>\})", re.DOTALL)
_ANY_BOX = re.compile(r"\\boxed\s{0,20}\{")
_WRAPPER = re.compile(
    r"(?P<wrap>\\(?:text(?:bf|it|rm|tt|sf|sc|normal)?|math(?:rm|bf|it|sf|tt)|mbox|emph|operatorname|underline"
    r"|boxed)\*?\s{0,20}\{)|\\.|(?P<open>\{)|(?P<close>\})",
    re.DOTALL,
)
_MATH = re.compile(r"(?:\$\$?([^$]*)\$\$?|\\\(((?:(?!\\\)).)*)\\\)|\\\[((?:(?!\\\]).)*)\\\])", re.DOTALL)
_ESCAPE = re.compile(
    r"\\u(?P<code>[0-9a-fA-F]{4})|\\(?P<sign>[$%&#_{}])|(?P<degree>\^\{?\\circ\}?)|(?P<comma>\{,\})"
    r"|(?P<space>\\(?:q?quad\b|[,;:~\\ ])|(?<=\w)~(?=\w))|(?P<thin>\\!)"
)


def final_answer(text: str, finished: bool = True) -> str | None:
    """The final answer as plain text, or None where the response has none (see the module's docstring)."""
    if not finished:
        return None
    reply = outside_thinking(text)
    if _ANY_BOX.search(reply):
        content = last_box(reply)
        if content is None or len(content) > MAX_ANSWER_CHARS:
            return None
        return visible(plain_text(content)).strip() or None
    reply = visible(reply).strip()
    return reply if is_refusal(reply) else None


def outside_thinking(text: str) -> str:
    """The text without its thinking; the pieces are joined by line ends."""
    kept: list[str] = []
    start, inside = 0, False
    for tag in _TAG.finditer(text):
        if tag["end"]:
            if not inside:
                kept.clear()
            inside, start = False, tag.end()
        elif not inside:
            kept.append(text[start : tag.start()])
            inside = True
    if not inside:
        kept.append(text[start:])
    return "\n".join(kept)


def last_box(text: str) -> str | None:
    """Content of the last box, or None if there is none or the last one never closes."""
    starts: list[int] = []  # of open braces; -1 for those that are no box's
    last: tuple[int, int] | None = None
    for token in _BOX.finditer(text):
        if token["box"]:
            starts.append(token.end())
        elif token["open"]:
            starts.append(-1)
        elif token["close"] and starts:
            start = starts.pop()
            if start >= 0:
                last = start, token.start()
    if last is None or max(starts, default=-1) > last[1]:
        return None
    return text[last[0] : last[1]]


def plain_text(latex: str) -> str:
    r"""A box's content without its LaTeX: ``\text{...}`` unwrapped, ``\$`` and ``\u2019`` resolved."""
    content = _unwrap(latex.strip())
    math = _MATH.fullmatch(content)
    if math is not None:
        content = next(group for group in math.groups() if group is not None)
    return _ESCAPE.sub(_resolve, content).strip()


def _unwrap(latex: str) -> str:
    kept: list[str] = []
    wrapped: list[bool] = []
    end = 0
    for token in _WRAPPER.finditer(latex):
        if token["wrap"] or token["open"]:
            wrapped.append(bool(token["wrap"]))
            dropped = wrapped[-1]
        else:
            dropped = bool(token["close"] and wrapped and wrapped.pop())
        kept.append(latex[end : token.start() if dropped else token.end()])
        end = token.end()
    return "".join(kept) + latex[end:]


def _resolve(match: re.Match[str]) -> str:
    if match["code"]:
        point = int(match["code"], 16)
        return match[0] if 0xD800 <= point <= 0xDFFF else chr(point)  # a lone surrogate cannot be stored
    if match["sign"]:
        return match["sign"]
    if match["degree"]:
        return "°"
    if match["comma"]:
        return ","
    return " " if match["space"] else ""
