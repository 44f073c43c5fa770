"""One walk through a folder of the vault. It follows no link: it ends, and stays in its scope."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..policies.text import is_sendable
from ..policies.vault_layout import is_passed_by, is_recalled


@dataclass(frozen=True, slots=True)
class Survey:
    """What stands in a scope's folder.

    ``files`` are those whose entries may be recalled, by name. ``misnamed`` have names that are no
    text (unpacked in another encoding), as far as they show; ``shut`` are folders that nobody can
    look into, the scope's own being "". Both are paths inside the scope.
    """

    files: tuple[Path, ...] = ()
    misnamed: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()


def survey(top: Path) -> Survey:
    """Look through a scope's folder. Its archive and what is hidden are passed by."""
    files: list[Path] = []
    misnamed: list[str] = []
    shut: list[str] = []

    def opens(relative: str) -> bool:
        return is_sendable(relative) and not is_passed_by(relative)

    for relative, path in _walk(top, opens, shut):
        if not is_sendable(relative):
            misnamed.append(relative.encode(errors="replace").decode())
        elif is_recalled(relative):
            files.append(path)
    return Survey(tuple(sorted(files)), tuple(sorted(misnamed)), tuple(sorted(shut)))


def archived(top: Path) -> tuple[Path, ...]:
    """The Markdown files below an archive folder, by name."""
    found = _walk(top, lambda _: True, [])
    return tuple(sorted(path for _, path in found if path.suffix == ".md"))


def is_link(path: Path) -> bool:
    """Junctions are Windows' links between folders; Python does not call them links."""
    try:
        return path.is_symlink() or path.is_junction()
    except OSError:  # what cannot be looked at is not written through, either
        return False


def _walk(top: Path, opens: Callable[[str], bool], shut: list[str]) -> Iterator[tuple[str, Path]]:
    """All below ``top`` but links, with the path inside it; ``opens`` says which folders to enter,
    ``shut`` takes those that cannot be."""
    waiting = [("", top)]
    while waiting:
        inside, folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                listed = [
                    (entry.name, entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if not (entry.is_symlink() or os.path.isjunction(entry.path))
                ]
        except (FileNotFoundError, NotADirectoryError):  # gone since we heard of it
            continue
        except OSError:
            shut.append(inside)
            continue
        for name, is_folder in listed:
            relative, path = f"{inside}/{name}" if inside else name, folder / name
            yield relative, path
            if is_folder and opens(relative):
                waiting.append((relative, path))
