"""Walks a folder of the vault without following links: it terminates, and stays in its scope."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..models.vault_layout import is_other_version, is_passed_by, is_recalled
from ..storage.files import Stamp, stamp_of
from ..text.normalising import is_sendable


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a scope's folder.

    ``files`` are those that were wanted, else those whose entries may be recalled, by name.
    ``misnamed`` have undecodable names (unpacked in another encoding), as far as they can be shown;
    ``shut`` are unreadable folders, the scope's own being "". Both are paths inside the scope.
    """

    files: tuple[Path, ...] = ()
    misnamed: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Stamps:
    """The same, with the files' paths inside the scope and their stamps. A file whose status cannot
    be read is ``shut``, too."""

    files: tuple[tuple[str, Stamp], ...] = ()
    misnamed: tuple[str, ...] = ()
    shut: tuple[str, ...] = ()


def is_looked_into(relative: str) -> bool:
    """True for a folder that is looked into: not the archive, not what is hidden."""
    return is_sendable(relative) and not is_passed_by(relative)


def list_files(
    top: Path,
    wanted: Callable[[str], bool] = is_recalled,
    into: Callable[[str], bool] = is_looked_into,
) -> Listing:
    """Returns the wanted files of a scope's folder, by path, and of the folders below it that
    ``into`` admits."""
    files: list[Path] = []
    misnamed: list[str] = []
    shut: list[str] = []
    for relative, entry in _walk(top, into, shut):
        if not is_sendable(relative):
            misnamed.append(_shown(relative))
        elif wanted(relative) and not entry.is_dir(follow_symlinks=False):
            files.append(Path(entry.path))
    return Listing(tuple(sorted(files)), tuple(sorted(misnamed)), tuple(sorted(shut)))


def stamps(top: Path) -> Stamps:
    """The same with stamps, fast for thousands of files: few paths are parsed."""
    files: list[tuple[str, Stamp]] = []
    misnamed: list[str] = []
    shut: list[str] = []
    for relative, entry in _walk(top, is_looked_into, shut):
        if not is_sendable(relative):
            misnamed.append(_shown(relative))
        elif is_recalled(relative) and not entry.is_dir(follow_symlinks=False):
            try:
                # On Windows a folder listing has no inode numbers.
                status = (
                    os.lstat(entry.path) if os.name == "nt" else entry.stat(follow_symlinks=False)
                )
                files.append((relative, stamp_of(status)))
            except FileNotFoundError:
                continue
            except OSError:
                shut.append(relative)
    return Stamps(tuple(sorted(files)), tuple(sorted(misnamed)), tuple(sorted(shut)))


def _shown(relative: str) -> str:
    return relative.encode(errors="replace").decode()


def archived(top: Path, shut: list[str] | None = None) -> tuple[Path, ...]:
    """Returns the Markdown files below an archive folder, by name, without hidden files and without
    the version copies that sync clients keep; unreadable folders are added to ``shut``."""
    found = _walk(top, lambda relative: not _is_hidden(relative), [] if shut is None else shut)
    return tuple(
        sorted(
            Path(entry.path)
            for relative, entry in found
            if relative.endswith(".md")
            and not entry.is_dir(follow_symlinks=False)
            and not _is_hidden(relative)
            and not is_other_version(entry.name)
        )
    )


def everything(top: Path, shut: list[str]) -> list[str]:
    """Returns every file below a folder, its archive included and hidden files excluded, by path
    inside it; unreadable folders are added to ``shut``."""
    found = _walk(top, lambda relative: not _is_hidden(relative), shut)
    return sorted(
        relative
        for relative, entry in found
        if not _is_hidden(relative) and entry.is_file(follow_symlinks=False)
    )


def _is_hidden(relative: str) -> bool:
    return relative.startswith(".") or "/." in relative


def _walk(
    top: Path, opens: Callable[[str], bool], shut: list[str]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yields all below ``top`` but links, with the path inside it; ``opens`` says which folders to
    enter, unreadable ones are added to ``shut``."""
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
        except (FileNotFoundError, NotADirectoryError):  # removed since it was listed
            continue
        except OSError:
            shut.append(inside)
            continue
        for entry, is_folder in listed:
            relative = f"{inside}/{entry.name}" if inside else entry.name
            yield relative, entry
            if is_folder and opens(relative):
                waiting.append((relative, entry.path))
