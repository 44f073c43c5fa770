"""Backslash escapes that keep any text inside its place in a Markdown entry.

``\\`` before ASCII punctuation, ``·`` or ``，`` means the character itself, as in Markdown;
``\\u{2028}`` means the code point, ``\\u{}`` nothing (it guards blanks at an edge). Anything else
after a backslash stays as it is, so that a person may write ``C:\\dir`` and mean it.
"""

from __future__ import annotations

import re

_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{0,6})\}|([!-/:-@\[-`{-~·，]))")
_TAG = re.compile(r"(?:\\.|[^\\,，]|\\$)+", re.DOTALL)
_ASK = re.compile(r"(?:\\.|[^\\/]|\\$)+", re.DOTALL)
# Controls, the separators that editors may break lines at, and lone surrogates (no UTF-8 for them).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_UNSAFE_IN_BODY = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_STRUCTURE = re.compile(r"(\s*)(#|>|```|~~~|[-=*_]{3,}\s*$)")
_ITEM = re.compile(r"\A(\s*\d{0,9})([-*+.)])(?=\s|$)")
_OPENING = re.compile(r"\A(\d{0,9}(?=[.)])|)([#>|<`~.)]|[-*+=_])")
_MAX_CODE_POINT = 0x10FFFF
_SURROGATES = (0xD800, 0xDFFF)

EMPTY = r"\u{}"


def _code(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def escape_inline(text: str, *, also: str = "") -> str:
    """Returns ``text`` on one line, safe in a heading or a field. ``also``: more characters to
    escape."""
    escaped = text.replace("\\", "\\\\").replace("^m-", "\\^m-")
    for character in also:
        escaped = escaped.replace(character, "\\" + character)
    escaped = _UNSAFE.sub(lambda match: _code(match[0]), escaped)
    if escaped[:1].isspace():
        escaped = _code(escaped[0]) + escaped[1:]
    if escaped[-1:].isspace():
        escaped = escaped[:-1] + _code(escaped[-1])
    return escaped


def escape_tags(tags: tuple[str, ...]) -> str:
    """Returns tags joined by commas; ``unescape_tags`` is the inverse."""
    return ", ".join(escape_inline(tag, also="·,，") or EMPTY for tag in tags)


def escape_asks(asks: tuple[str, ...]) -> str:
    """Returns questions joined by slashes; ``unescape_asks`` is the inverse."""
    return " / ".join(escape_inline(ask, also="·/") or EMPTY for ask in asks)


def escape_body(text: str) -> str:
    """Returns ``text`` as the lines below an entry's metadata; no line can open a heading or a
    fence. The first line is no list item: in a list right below a heading each item is an entry."""
    lines = [_escape_body_line(line) for line in text.split("\n")]
    lines[0] = _ITEM.sub(r"\1\\\2", lines[0], count=1)
    for edge in (0, -1):
        if not lines[edge].strip():
            lines[edge] = EMPTY + lines[edge]
    return "\n".join(lines)


def escape_opening(line: str) -> str:
    """Returns the line escaped: it opens no heading, list, quotation, table, tag or fence."""
    return _OPENING.sub(r"\1\\\2", line, count=1)


def _escape_body_line(line: str) -> str:
    escaped = line.replace("\\", "\\\\").replace("^m-", "\\^m-")
    escaped = _UNSAFE_IN_BODY.sub(lambda match: _code(match[0]), escaped)
    return _STRUCTURE.sub(r"\1\\\2", escaped, count=1) if _STRUCTURE.match(escaped) else escaped


def unescape(text: str) -> str:
    """Returns the text without its escapes."""
    return _ESCAPE.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    code, punctuation = match.groups()
    if punctuation is not None:
        return str(punctuation)
    if code == "":
        return ""
    number = int(code, 16)
    lone = _SURROGATES[0] <= number <= _SURROGATES[1]  # no text that could be sent anywhere
    return str(match[0]) if lone or number > _MAX_CODE_POINT else chr(number)


def unescape_tags(text: str) -> tuple[str, ...]:
    """Returns the tags of a comma list; a person may write 全角 commas."""
    parts = (part.strip() for part in _TAG.findall(text))
    return tuple(unescape(part) for part in parts if part)


def unescape_asks(text: str) -> tuple[str, ...]:
    """Returns the questions of a list with slashes between them."""
    parts = (part.strip() for part in _ASK.findall(text))
    return tuple(unescape(part) for part in parts if part)
