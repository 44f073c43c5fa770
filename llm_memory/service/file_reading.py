"""Reads what a pointer or a path leads to, as far as a conversation may see it."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby, islice

from ..catalogue.rules.pointers import pointed_id
from ..catalogue.rules.talk_anchor import without_anchor
from ..errors import VaultFileBroken, VaultWriteFailed
from ..models.conversation import ConversationId
from ..models.data_models import Refused, StoredMemory, absent
from ..models.passages import NoteSection
from ..models.recall import FileText
from ..models.scope import ROLES_FOLDER, SHARED, Scope, ScopeFilter
from ..models.vault_layout import MEMORY_PAGE, PRIMER_PAGE, is_recalled
from ..scopes.access import View
from ..vault.markdown.entry import render
from ..vault.markdown.marked_block import content_of
from ..vault.markdown.topic_file import parse_file
from ..vault.pages import PagesOnDisk, text_of
from .recalls import Recalls

_LONGEST_PATH = 300
_MOST_SESSIONS = 5
_SESSION = re.compile(r"- (\d{4}-\d\d-\d\d .*) \((\d{4}-\d\d-\d\d\.md)\)")
"""A line of a role's MEMORY.md: when, how the note begins, its file."""
_FALLBACK_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_PAGES = (MEMORY_PAGE, PRIMER_PAGE)
_UNSHOWN = re.compile(r"(?:(?:号|在|历史)：|(?:问法|Asks)\s*[：:])(?:(?! · ).)*(?: · |$)")
"""Of a person, a conversation and a talk, in an entry's metadata: a reader sees names. And the
questions that are for search alone."""


@dataclass(eq=False)
class FileReading(Recalls):
    """A path opens a file of the conversation's own scope, of ``shared/`` or of its role's folder,
    or as ``./…`` a note in a project's memory root, and no other. What is absent and what is
    another's are answered alike."""

    _pages: PagesOnDisk

    async def read(self, where: str, *, conversation_id: ConversationId) -> FileText | Refused:
        """What a pointer or a path leads to, without what the conversation may not see."""
        view = await self._gate.open(conversation_id)
        found: FileText | Refused | None = None
        if pointed_id(where) is not None:
            found = await self._pointed(where, view)
        elif path := legal_path(where):
            found = await self._file(path, view)
        return found or absent(where)

    async def _pointed(self, where: str, view: View) -> FileText | Refused:
        match await self._expand(where, view):
            case StoredMemory() as stored:
                origin = replace(stored.memory.provenance, person="", conversation="")
                shown = replace(without_anchor(stored.memory), provenance=origin, asks=())
                return FileText(stored.path, render(shown).rstrip("\n"))
            case NoteSection() as section:
                return FileText(section.chunk.file, section.text, section.first)
            case Refused() as refused:
                return refused

    async def _file(self, path: str, view: View) -> FileText | None:
        seen = view.looked_up
        for shelf in seen.shelves:
            if shelf.folder and path.startswith(f"{shelf.folder}/"):
                text = await self._notes.text(shelf, path.removeprefix(f"{shelf.folder}/"))
                return None if text is None else FileText(path, text.rstrip("\n"))
        if path.startswith("./") or not seen.scopes:
            return None
        return await asyncio.to_thread(self._of_scope, seen.scopes[0], path, view)

    def _of_scope(self, own: Scope, path: str, view: View) -> FileText | None:
        """Blocks."""
        try:
            page = self._pages.read(own, path)
            if page is None:
                return None
            file = parse_file(page.raw.decode(), fallback_time=_FALLBACK_TIME)
        except (VaultWriteFailed, VaultFileBroken, OSError, UnicodeDecodeError):
            return None
        lines = list(file.lines)
        for entry in reversed(file.entries):
            if view.sees(StoredMemory(own, path, entry.memory)):
                rows = slice(entry.rows, entry.body)
                lines[rows] = [_UNSHOWN.sub("", line).removesuffix(" · ") for line in lines[rows]]
            else:
                del lines[entry.start : entry.end]
        return FileText(path, "\n".join(lines).rstrip("\n"))

    def _shared_headings(self, view: View) -> tuple[str, ...]:
        """Returns a line for each file of ``shared/``: its path, and its widest headings."""
        shared = tuple(shelf for shelf in view.seen.shelves if shelf == SHARED)
        chunks = self._notes.visible(ScopeFilter((), shelves=shared))
        lines = []
        for path, of_file in groupby(chunks, key=lambda chunk: chunk.file):
            headings = dict.fromkeys(one.headings[0] for one in of_file if one.headings)
            lines.append(f"{path}: {' · '.join(headings)}" if headings else path)
        return tuple(lines)

    def _last_sessions(self, view: View) -> tuple[str, ...]:
        """Returns the newest lines that the role's MEMORY.md keeps of its sessions. Blocks."""
        roles = (one for one in view.seen.shelves if one.folder.startswith(f"{ROLES_FOLDER}/"))
        if (role := next(roles, None)) is None:
            return ()
        try:
            text = text_of(self._pages.read(role, MEMORY_PAGE))
        except VaultWriteFailed:
            return ()
        lines = map(_SESSION.fullmatch, content_of(text or "").split("\n"))
        found = (f"{line[1]} ({role.folder}/{line[2]})" for line in lines if line)
        return tuple(islice(found, _MOST_SESSIONS))


def legal_path(text: str) -> str | None:
    """Returns a path inside a scope's folder, below a shelf's, or as ``./…`` in the memory root, in
    the form NFC. None for what is absolute, leads upwards, is hidden or archived, has a drive or a
    control character."""
    whole = unicodedata.normalize("NFC", text.strip())
    path = whole.removeprefix("./")
    if not path or len(path) > _LONGEST_PATH or not path.isprintable():
        return None
    if any(mark in path for mark in '\\:~*?"<>|') or path.startswith("/"):
        return None
    parts = path.split("/")
    if any(not part or part.startswith(".") or part != part.strip(" .") for part in parts):
        return None
    is_page = path in _PAGES
    return whole if is_page or is_recalled(path) else None
