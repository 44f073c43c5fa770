"""The notes in the Markdown tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...models.scope import Place
from ...storage.files import Stamp
from ..models import FileReport


@dataclass(frozen=True, slots=True)
class NotePlaces:
    """The places that have a folder, and folders that no conversation can read.

    ``in_root``: Markdown that lies in the memory root itself, whether or not it is read.
    """

    places: tuple[Place, ...]
    broken: tuple[FileReport, ...] = ()
    in_root: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """The files of a place that may be notes, by path.

    ``whole`` is False if a folder could not be read: missing files may exist.
    """

    files: Mapping[str, Stamp] = field(default_factory=dict)
    broken: tuple[FileReport, ...] = ()
    whole: bool = True
