"""One spelling for characters that look alike: the first step of every comparison of answers.

NFKC alone is not enough: it leaves typographic apostrophes and zero-width characters as they are, and it turns
"10²" into "102" and "5½" into "51/2", which are other answers.
"""

from __future__ import annotations

import html
import unicodedata

APOSTROPHES = "\u2019\u2018\u02bc\u02bb\u02b9\u201b\u2032\u00b4\uff07\uff40\ufffd`"
_APOSTROPHES = str.maketrans(dict.fromkeys(APOSTROPHES, "'"))
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))
_RAISED = str.maketrans({raised: f"^{digit}" for digit, raised in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")})
_FRACTIONS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4", "⅕": "1/5", "⅛": "1/8", "⅜": "3/8"}
_FRACTION_TABLE = str.maketrans({sign: f" {spelled}" for sign, spelled in _FRACTIONS.items()})
_MOJIBAKE = (("â€™", "'"), ("â\x80\x99", "'"))
"""A typographic apostrophe in UTF-8 that was read as Windows-1252 or Latin-1."""


def one_spelling(text: str) -> str:
    """NFKC and case-folded; straight apostrophes and dashes, HTML entities resolved, nothing invisible, single spaces.

    The caller bounds the length: normalising long runs of combining marks takes quadratic time.
    """
    text = html.unescape(text)
    for wrong, right in _MOJIBAKE:
        text = text.replace(wrong, right)
    text = text.translate(_APOSTROPHES).translate(_DASHES).translate(_RAISED).translate(_FRACTION_TABLE)
    text = unicodedata.normalize("NFKC", visible(text)).replace("\u2044", "/")
    return " ".join(unicodedata.normalize("NFKC", text.casefold()).split())


def visible(text: str) -> str:
    """The text without control, zero-width, direction and surrogate characters; white space stays."""
    return "".join(char for char in text if char.isprintable() or char.isspace())
