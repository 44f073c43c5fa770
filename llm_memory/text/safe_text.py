"""What people wrote, as a part of our own texts: it forges nothing there."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from .normalising import one_line, preview, without_controls
from .scripts import is_invisible, simplified

_LONGEST_TITLE = 80
_LONGEST_NAME = 20
_MARKS = str.maketrans("〔〕", "()")
"""What stands round the mark of a speaker is ours alone."""
_BRACKETS = _MARKS | str.maketrans("<>", "‹›")
"""So is what closes the fence."""
_LETTERS = ("L", "Mn", "Mc", "N", "Pc")
"""Beginnings of the Unicode categories that names are written with."""
BLANKS = "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and signs that look like a blank."""
_FACE = re.compile("[\u2600-\u2757\u2776-\u27bf\u2b50\U0001f000-\U0001f0ff\U0001f1e6-\U0001faff]")
_JOINING = re.compile(r"(?<=[^\W\d_])[-.'’·](?=[^\W\d_])")
"""Between letters only: a hyphen before a digit makes a date, or names a record."""
_ALIKE = str.maketrans(
    "аеіјорсутѕԁһոαεικνουтϲıАЕІЈМОРСТЅΑΕΙΚΜΝΟΤΥ", "aeijopcytsdhnaeiknoutciAEIJMOPCTSAEIKMNOTY"
)
"""Cyrillic, Armenian and Greek letters that look like Latin ones."""


def _spelled(*words: str) -> str:
    return "|".join(r"[\W_]*".join(re.findall(r"\[.*?\]|.", word)) for word in words)


_OURS = re.compile(
    _spelled(
        "管理员", "日记", "佚名", "账号", "日期不详", "较早", "也许", "未核实", "已了结", "未决",
        "笔记", "原话", "没有人担保", "别人改写过",
    )
    + r"|(?<![a-z])(?:"
    + _spelled(
        "administrator", "admin", "journal", "unknown", "account", "earlier", "maybe", "settled",
        "undecided", "notdecided", "unverified", "notvouchedfor", "rewordedbyanother", "note",
    )
    + r"|d[\W_ー一]*\d{3,})(?![a-z])",
    re.I,
)  # fmt: skip
"""What our lines say beside a name, however it is spaced."""
_FIELD = {ord(one): " " for one in "[]【】［］〖〗﹝﹞⟦⟧·・‧•"}
_ROUND = dict.fromkeys(map(ord, "()（）"), " ")
_PAIRED = re.compile("[(（][^()（）]*[)）]")
_POINTER = re.compile("[#^][mn]-")
_WIDE = {"#": "＃", "^": "＾"}


def shown_name(name: str) -> str:
    """A name that somebody chose, as it stands in a line of ours: on one line, of letters, digits
    and faces alone, so that it closes no field, and without the words that our lines say beside
    a name. Empty where nothing is left."""
    plain = "".join(one for one in unicodedata.normalize("NFKC", name) if not is_invisible(one))
    joining = {match.start() for match in _JOINING.finditer(plain)}
    kept = (one if at in joining or _is_of_a_name(one) else " " for at, one in enumerate(plain))
    shown = one_line("".join(kept))
    for most in (len(shown), _LONGEST_NAME):  # what is cut may end with a word of ours, too
        shown = preview(shown, most)
        while ours := _OURS.search(_plain_letters(shown)):
            shown = one_line(f"{shown[: ours.start()]} {shown[ours.end() :]}")
    return shown


def _plain_letters(name: str) -> str:
    """The name in one script, with a Latin letter for each that looks like one; as long as it
    is."""
    plain = "".join(unicodedata.normalize("NFD", one)[0] for one in simplified(name))
    return plain.translate(_ALIKE)


def _is_of_a_name(one: str) -> bool:
    letter = unicodedata.category(one).startswith(_LETTERS) and one not in BLANKS
    return letter or _FACE.fullmatch(one) is not None


def _in_a_field(text: str) -> str:
    """``safe`` for what stands between brackets of ours: a file's path, a heading."""
    line = safe(text).translate(_FIELD)
    unpaired = set("()（）").intersection(_PAIRED.sub("", line))
    return one_line(line.translate(_ROUND) if unpaired else line)


def safe_pointer(pointer: str) -> str:
    """A pointer whose file name, which a person may have chosen, forges nothing."""
    path, mark, memory_id = pointer.rpartition("#")
    return f"{_in_a_field(path)}{mark}{memory_id}"


def note_title(headings: Sequence[str]) -> str:
    """Headings, the widest first; of many words those at the end, which say most."""
    title = _in_a_field(" › ".join(headings))
    return title if len(title) <= _LONGEST_TITLE else f"…{title[1 - _LONGEST_TITLE :]}"


def safe_line(line: str) -> str:
    """``safe`` for a line whose blanks at the beginning mean something: code, a list."""
    bare = line.lstrip(" \t")
    return line[: len(line) - len(bare)].expandtabs(4) + safe(bare)


def unmarked(line: str) -> str:
    """A line of a file as it stands, unable to look like the mark of a speaker."""
    return line.translate(_MARKS)


def cut(text: str, most: int = 80) -> str:
    """The beginning of what a reply repeats, as ``safe`` shows it, with an ellipsis where it ends
    before its time."""
    return preview(safe(text), most)


def safe(text: str) -> str:
    """``text`` on one line without control characters, unable to close the fence or to look like a
    pointer.

    Character for character, so that it is as long, and costs as much, as it was counted.
    """
    line = one_line(without_controls(text)).translate(_BRACKETS)
    return _POINTER.sub(lambda match: f"{_WIDE[match[0][0]]}{match[0][1:]}", line)
