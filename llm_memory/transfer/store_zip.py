"""A whole store as a zip of its tree: how backups are kept. Every function blocks, and raises
TransferFailed.

The first member is the beginning of the same store as lines: its header and the owner's settings. A
member's comment is when the file was written, in nanoseconds since 1970, for entries without a time
have their file's.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from ..errors import TransferFailed
from ..models.transfer import End, Record
from ..models.vault_layout import CARRIED
from ..runtime.cooperative import cooperative
from ..storage.files import is_link, scratch_folder
from ..text.normalising import is_sendable
from ..vault.folder_walk import everything
from ..vault.notes.root_notes import notes_in_root
from .line_files import LineFile, made_anew, translated, write_lines
from .rules.format import counted, line_of
from .store_reader import MAX_FILE, StoreReader

HEAD: Final = "header.jsonl"

type Member = tuple[str, int, bytes]
"""Path in the tree, when it was written, content."""


def carried_files(root: Path) -> list[str]:
    """Returns the paths in a tree of what backups carry."""
    paths = list(notes_in_root(root))
    for top, endings in CARRIED.items():
        if not is_link(root / top):
            inside = everything(root / top, [])
            paths += [f"{top}/{path}" for path in inside if path.lower().endswith(endings)]
    return [path for path in paths if is_sendable(path)]


def head_member(head: Iterable[Record]) -> Member:
    """Returns the first member."""
    return HEAD, 0, "\n".join(map(line_of, head)).encode()


def is_zip(path: Path) -> bool:
    """True for a file that is named as a zip is."""
    return path.suffix.lower() == ".zip"


def write_zip(target: Path, members: Iterable[Member]) -> int:
    """Write a new file, or none: it takes its place when it was read through. Returns how many
    members it has."""
    with made_anew(target) as temporary:
        with ZipFile(temporary, "w") as archive:
            for path, written_at, content in cooperative(members):
                info = ZipInfo(path)
                info.comment = str(written_at).encode()
                archive.writestr(info, content, ZIP_DEFLATED)
        return sum(1 for _ in read_zip(temporary))  # each has its checksum


def read_zip(path: Path) -> Iterator[Member]:
    """Returns what was written."""
    try:
        with translated("unreadable", path.name), ZipFile(path) as archive:
            for info in cooperative(archive.infolist()):
                if info.file_size > MAX_FILE:
                    raise TransferFailed("unreadable", f"{info.filename[:80]} > 12 MB")
                if not info.is_dir():  # a person has packed it again
                    yield info.filename, int(info.comment or b"0"), archive.read(info)
    except (BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, zlib.error) as e:
        raise TransferFailed("unreadable", f"{path.name}: {e}") from e


def rewrite_zip(path: Path, changed: Callable[[str, bytes], bytes]) -> None:
    """Write a file anew with its members changed, unless all stay."""

    def members() -> Iterator[Member]:
        for name, written_at, content in read_zip(path):
            yield name, written_at, content if name == HEAD else changed(name, content)

    if any(before != now for before, now in zip(read_zip(path), members(), strict=True)):
        write_zip(path, members())


def open_lines(source: Path, scratch: Path, *, most: int | None = None) -> LineFile:
    """Returns a file of lines, or one that is made of a zip in ``scratch``. ``most``: bytes of a
    file."""
    if not is_zip(source):
        return LineFile(source, most=most)
    with translated("not_written", scratch.name), scratch_folder(scratch) as folder:
        return LineFile(_as_lines(source, Path(folder)))  # it can be read though its name is gone


def _as_lines(source: Path, folder: Path) -> Path:
    heads, tree = list[str](), folder / "tree"
    with translated("not_written", folder.name):
        for name, written_at, content in read_zip(source):
            target = tree / name
            if name == HEAD:
                heads = content.decode(errors="replace").splitlines()
            elif not target.resolve().is_relative_to(tree.resolve()):
                raise TransferFailed("unreadable", name[:80])
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                os.utime(target, ns=(written_at, written_at))
    records = counted(chain(StoreReader(tree).records(), [End(0, 0)]))
    write_lines(folder / "store.jsonl", chain(heads, map(line_of, cooperative(records))))
    return folder / "store.jsonl"
