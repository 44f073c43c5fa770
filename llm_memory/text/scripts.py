"""Writing systems: text to normal form, and to runs that each lie in one script. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import StrEnum
from functools import cache
from itertools import groupby
from typing import Final, NamedTuple

from .data import words_of


class Script(StrEnum):
    """How a run is cut into tokens depends on this alone."""

    HAN = "han"
    LATIN = "latin"
    DIGIT = "digit"
    HIRAGANA = "hiragana"
    KATAKANA = "katakana"
    HANGUL = "hangul"
    SPACED = "spaced"
    """Other letters, written with spaces between words: Cyrillic, Arabic, Devanagari."""
    UNSPACED = "unspaced"
    """Other letters, written without: Thai, Lao, Khmer, Burmese, Tibetan."""


class Language(StrEnum):
    """What an embedder's trust and a floor need to know of a text's language."""

    CHINESE = "zh"
    ENGLISH = "en"


class Run(NamedTuple):
    """Neighbouring characters of one script."""

    script: Script
    text: str


# U+2E80..2FDF are radicals, U+3400..9FFF the unified ideographs of the first plane, U+20000 and
# up the rare ones.
_HAN = "\u2e80-\u2fdf\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
_LATIN = "a-z\u00df-\u00f6\u00f8-\u024f\u1e00-\u1eff"
_MARKS = "\u0300-\u036f"  # those that NFKC could not compose with their letter
_HIRAGANA = "\u3041-\u3096\u309d-\u309f"
_KATAKANA = "\u30a1-\u30fa\u30fd-\u30ff"
_LONG_VOWEL = "\u30fc"  # belongs to both kana
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7a3"
_RUN = re.compile(
    f"(?P<han>[{_HAN}]+)"
    f"|(?P<latin>[{_LATIN}][{_LATIN}{_MARKS}]*)"
    rf"|(?P<digit>\d+)"
    f"|(?P<hiragana>[{_HIRAGANA}][{_HIRAGANA}{_LONG_VOWEL}]*)"
    f"|(?P<katakana>[{_KATAKANA}{_LONG_VOWEL}]+)"
    f"|(?P<hangul>[{_HANGUL}]+)"
    rf"|(?P<other>[^\x00-\x7f\s\d{_HAN}{_LATIN}{_HIRAGANA}{_KATAKANA}{_LONG_VOWEL}{_HANGUL}]+)"
)
HAN: Final = re.compile(f"[{_HAN}]")
WIDE: Final = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]")
"""A Han character, kana or Hangul syllable: what is written without spaces, and says much alone."""
NARROW: Final = re.compile(r"[^\W_]+")
"""A word of anything else, where no ``WIDE`` is left in the text."""
SPACED: Final = (
    rf"[^\W_{_HAN}{_HIRAGANA}{_KATAKANA}{_LONG_VOWEL}{_HANGUL}"
    "\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]"
)
"""Matches a letter of a script that puts spaces between its words, or a digit."""
_LATIN_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]+")
_UNSPACED = frozenset({"THAI", "LAO", "KHMER", "MYANMAR", "TIBETAN", "JAVANESE", "BALINESE"})


def simplified(text: str) -> str:
    """A text as patterns read it: simplified Chinese, each character at its place."""
    spellings, other = _spellings()
    return "".join(map(spellings.get, text, text)) if other.search(text) else text


@cache
def _spellings() -> tuple[dict[str, str], re.Pattern[str]]:
    """The simplified character for each of its other spellings, and what finds one of these: most
    texts have none, and a search takes a tenth of a translation."""
    groups = words_of("one_script")
    spellings = {other: group[0] for group in groups for other in group[1:]}
    return spellings, re.compile(f"[{''.join(spellings)}]")


def fold(text: str) -> str:
    """What widths, cases and both Chinese scripts have in common, for whatever is compared: NFKC,
    case folded, simplified. What people wrote is stored and shown as they wrote it."""
    return simplified(unicodedata.normalize("NFKC", text).casefold())


def normalise(text: str) -> str:
    """``fold`` without invisible characters, in NFKC.

    Zero-width characters and variation selectors go, so that a name typed with one inside is the
    same name. ``normalise(normalise(t)) == normalise(t)``.
    """
    folded = unicodedata.normalize("NFKC", fold(text))
    if folded.isascii():
        return folded
    seen = "".join(char for char in folded if not is_invisible(char))
    return unicodedata.normalize("NFKC", seen)


def runs(normalised: str) -> Iterator[Run]:
    """Cut where scripts meet; what is no letter, digit or ideograph only separates."""
    for match in _RUN.finditer(normalised):
        kind = match.lastgroup
        if kind == "other":
            yield from _other_runs(match.group())
        elif kind is not None:
            yield Run(Script(kind), match.group())


def language_of(text: str) -> Language | None:
    """By Han characters against Latin words; None for a text with neither."""
    han, latin = len(HAN.findall(text)), len(_LATIN_WORD.findall(text))
    known = Language.CHINESE if han >= latin else Language.ENGLISH
    return known if han or latin else None


def letters(text: str) -> list[str]:
    """Characters of a run, each with the marks that sit on it (Thai vowels and tones)."""
    found: list[str] = []
    for char in text:
        if found and unicodedata.category(char)[0] == "M":
            found[-1] += char
        else:
            found.append(char)
    return found


def script_of(token: str) -> Script:
    """The script of a token, which lies in one."""
    return next(runs(token)).script


def is_invisible(char: str) -> bool:
    """True for variation selectors and formats: zero width, direction, soft hyphens."""
    if "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef":
        return True
    return char > "\x7f" and unicodedata.category(char) == "Cf"


def _other_runs(text: str) -> Iterator[Run]:
    """Letters outside the named ranges, by the first word of their Unicode name; a mark belongs to
    the letter before."""
    for name, chars in groupby(letters(text), lambda letter: _name_of(letter[0])):
        if name:
            script = Script.UNSPACED if name in _UNSPACED else Script.SPACED
            yield Run(script, "".join(chars))


def _name_of(char: str) -> str:
    is_letter = unicodedata.category(char)[0] in "LN"
    return unicodedata.name(char, "?").split()[0] if is_letter else ""
