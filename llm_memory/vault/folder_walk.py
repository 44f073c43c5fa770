"""One walk through a folder of the vault. It follows no link: it ends, and stays in its scope."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..models.vault_layout import is_other_version, is_passed_by, is_recalled
from ..storage.files import Stamp, stamp_of
from ..text.normalising import is_sendable


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


@dataclass(frozen=True, slots=True)
class Stamps:
    """The same, with the files' paths inside the scope, and what they look like. A file that cannot
    be looked at is ``shut``, too."""

    files: tuple[tuple[str, Stamp], ...] = ()
    misnamed: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()


def survey(top: Path) -> Survey:
    """Look through a scope's folder. Its archive and what is hidden are passed by."""
    files: list[Path] = []
    misnamed: list[str] = []
    shut: list[str] = []
    for relative, entry in _walk(top, _opens, shut):
        if not is_sendable(relative):
            misnamed.append(_shown(relative))
        elif is_recalled(relative):
            files.append(Path(entry.path))
    return Survey(tuple(sorted(files)), tuple(sorted(misnamed)), tuple(sorted(shut)))


def stamps(top: Path) -> Stamps:
    """The same, thousands of files in no time: no path is taken apart that need not be."""
    files: list[tuple[str, Stamp]] = []
    misnamed: list[str] = []
    shut: list[str] = []
    for relative, entry in _walk(top, _opens, shut):
        if not is_sendable(relative):
            misnamed.append(_shown(relative))
        elif is_recalled(relative):
            try:
                # Windows keeps no number of a file where it lists a folder.
                status = (
                    os.lstat(entry.path) if os.name == "nt" else entry.stat(follow_symlinks=False)
                )
                files.append((relative, stamp_of(status)))
            except FileNotFoundError:
                continue
            except OSError:
                shut.append(relative)
    return Stamps(tuple(sorted(files)), tuple(sorted(misnamed)), tuple(sorted(shut)))


def _opens(relative: str) -> bool:
    return is_sendable(relative) and not is_passed_by(relative)


def _shown(relative: str) -> str:
    return relative.encode(errors="replace").decode()


def archived(top: Path) -> tuple[Path, ...]:
    """The Markdown files below an archive folder, by name: not what is hidden, and no other
    versions of files that a program left there which keeps folders the same."""
    found = _walk(top, lambda relative: not _is_hidden(relative), [])
    return tuple(
        sorted(
            Path(entry.path)
            for relative, entry in found
            if relative.endswith(".md")
            and not _is_hidden(relative)
            and not is_other_version(entry.name)
        )
    )


def everything(top: Path, shut: list[str]) -> list[str]:
    """Every file below a folder, its archive and all but what is hidden, by path inside it;
    ``shut`` takes the folders that nobody can look into."""
    found = _walk(top, lambda relative: not _is_hidden(relative), shut)
    return sorted(
        relative
        for relative, entry in found
        if not _is_hidden(relative) and entry.is_file(follow_symlinks=False)
    )


def _is_hidden(relative: str) -> bool:
    return relative.startswith(".") or "/." in relative


def is_link(path: Path) -> bool:
    """Junctions are Windows' links between folders; Python does not call them links."""
    try:
        return path.is_symlink() or path.is_junction()
    except OSError:  # what cannot be looked at is not written through, either
        return False


def _walk(
    top: Path, opens: Callable[[str], bool], shut: list[str]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """All below ``top`` but links, with the path inside it; ``opens`` says which folders to enter,
    ``shut`` takes those that cannot be."""
    waiting = [("", str(top))]
    while waiting:
        inside, folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                listed = [
                    (entry, entry.is_dir(follow_symlinks=False))
                    for entry in entries
                    if not (entry.is_symlink() or os.path.isjunction(entry.path))
                ]
        except (FileNotFoundError, NotADirectoryError):  # gone since we heard of it
            continue
        except OSError:
            shut.append(inside)
            continue
        for entry, is_folder in listed:
            relative = f"{inside}/{entry.name}" if inside else entry.name
            yield relative, entry
            if is_folder and opens(relative):
                waiting.append((relative, entry.path))
