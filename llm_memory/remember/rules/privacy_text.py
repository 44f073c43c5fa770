"""Normalises a text for the privacy rules; every character keeps its position."""

from __future__ import annotations

import re

# Full-width forms to ASCII, and the many dashes and blanks that people put between digits.
_PLAIN = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    ord(character): ord(plain)
    for characters, plain in (
        ("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u30fc", "-"),
        ("\u00a0\u2002\u2003\u2009\u202f\u3000", " "),
        ("“”„", '"'),
        ("‘’", "'"),
    )
    for character in characters
}
_SPOKEN = {
    ord(han): ord(digit)
    for hans, digit in (
        ("零〇", "0"), ("一幺壹", "1"), ("二贰两", "2"), ("三叁", "3"), ("四肆", "4"),
        ("五伍", "5"), ("六陆", "6"), ("七柒", "7"), ("八捌", "8"), ("九玖", "9"),
    )
    for han in hans
}  # fmt: skip
_RUN = re.compile("[零〇一幺壹二贰两三叁四肆五伍六陆七柒八捌九玖]{6,}")


def searchable(text: str) -> str:
    """Returns ``text`` in ASCII as far as it has an ASCII form; Chinese numerals in a row become
    digits."""
    plain = text.translate(_PLAIN)
    return _RUN.sub(lambda match: match[0].translate(_SPOKEN), plain)


def before(text: str, at: int, most: int = 16) -> str:
    """Returns the text before ``at`` in the same sentence: at most ``most`` characters."""
    return re.split(r"[。！!？?；;\n]", text[max(at - most, 0) : at])[-1]
