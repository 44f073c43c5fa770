"""A service's key: where it comes from, and that it goes nowhere else."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ....errors import InvalidService

_LONGEST: Final = 4096
"""Bytes of a key file. Real keys are a tenth of it; anything longer is another file."""


class ApiKey:
    """A key whose text is in no representation of it. An empty one is false."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        """Raises InvalidService for a text that no request can carry."""
        if not all("!" <= character <= "~" for character in text):
            raise InvalidService("service.key_characters")
        self._text = text

    def __bool__(self) -> bool:
        return bool(self._text)

    def __repr__(self) -> str:
        return "ApiKey(***)" if self._text else "ApiKey()"

    def __reduce__(self) -> str:
        raise TypeError("a key is not copied or stored")

    def bearer(self) -> str:
        """Returns the value of the header ``Authorization``."""
        return f"Bearer {self._text}"


def key_from(environ: Mapping[str, str], variable: str, file: Path | None) -> str:
    """Returns the key in the file if one is named, else the one in the environment variable.

    The file comes first: a person has named it for this service, while the variable has a default
    and may hold the key of another service.

    Args:
        environ: The environment.
        variable: The variable's name; empty for none.
        file: A file with the key alone; None for none. On POSIX its owner alone may read it.

    Returns:
        The key; empty where neither has one.

    Raises:
        InvalidService: the file is missing, holds something else than one key, or others than its
            owner may read it.
    """
    if file is not None:
        return _read(file)
    return environ.get(variable, "").strip() if variable else ""


def _read(file: Path) -> str:
    # A file that is not there is not named: a person may have put the key itself in its place.
    try:
        if not file.is_file():
            raise InvalidService("service.no_key_file")
        with file.open("rb") as opened:
            status = os.fstat(opened.fileno())
            content = opened.read(_LONGEST + 1)
    except OSError as error:
        raise InvalidService("service.key_unreadable", why=type(error).__name__) from None
    if os.name == "posix" and stat.S_IMODE(status.st_mode) & 0o077:
        raise InvalidService("service.key_open", path=file)
    # Whatever is no text becomes characters that no key has: a decoding error would quote it.
    text = content.decode("utf-8-sig", errors="replace").strip()
    if not text or len(content) > _LONGEST or len(text.split()) > 1 or not text.isascii():
        raise InvalidService("service.key_alone", path=file)
    return text
