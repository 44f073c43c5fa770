"""Every piece of every note by place and id, in memory: recall searches it beside memories."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from itertools import batched, chain
from typing import Protocol

from ...catalogue.catalogue import key_of
from ...catalogue.recallable_memories import Follower
from ...errors import VaultFileBroken
from ...log import logger
from ...models.passages import Key, NoteChunk, NoteSection
from ...models.scope import SHARED, Place, ScopeFilter
from ...runtime.cooperative import unhurried
from ...runtime.notice_board import NoticeBoard
from ...storage.state_store import SqliteStateStore
from ..rules.record_marks import changed_marks, record_of
from .markdown_notes import MarkdownNotes
from .models import NoteFolder
from .note_files import (
    TOO_MANY,
    UNREADABLE,
    KnownFile,
    KnownFiles,
    NoteReading,
    NoteReports,
    read_files,
)
from .root_notes import RootNotices

MAX_PIECES = 20_000
"""Pieces that are kept in memory, about 20 MB of them."""
_FILES = 50
"""Files read in one thread call."""


class NoteFollower(Follower[NoteChunk], Protocol):
    """An index that follows the notes, too."""

    def recheck(self) -> None:
        """All notes were read for the first time: compare them with the index."""
        ...


class NoteBook:
    """The pieces of all places; every query names what the asker may see.

    Used from the event loop only. ``refresh`` updates it from the disk.
    """

    def __init__(
        self,
        source: MarkdownNotes,
        notices: NoticeBoard,
        state: SqliteStateStore,
        *,
        most: int = MAX_PIECES,
    ) -> None:
        self._source = source
        self._root_notices = RootNotices(notices, state, reads_root=source.reads_root)
        self._followers: list[NoteFollower] = []
        self._most = most
        self._pieces: dict[str, dict[str, NoteChunk]] = {}
        self._files = KnownFiles()
        self._reports = NoteReports(notices)
        self._refreshing = asyncio.Lock()
        self._folded: dict[Key, str] = {}
        self._size = 0
        self.scanned = False

    def follow_with(self, follower: NoteFollower) -> None:
        """Tell an index of every change from now on."""
        self._followers.append(follower)

    def __len__(self) -> int:
        """Returns the number of pieces in all places."""
        return self._size

    def get(self, key: Key) -> NoteChunk | None:
        """Returns the piece with this place and id, if any."""
        return self._pieces.get(key.scope, {}).get(key.memory_id)

    def find(self, note_id: str, scope_filter: ScopeFilter) -> NoteChunk | None:
        """Returns the piece with this id if the filter admits it."""
        found = (self._pieces[name].get(note_id) for name in self._visible_names(scope_filter))
        return next((chunk for chunk in found if chunk is not None), None)

    def visible(self, scope_filter: ScopeFilter) -> Iterator[NoteChunk]:
        """Yields all pieces that the filter admits, the reader's own scope first."""
        names = self._visible_names(scope_filter)
        return chain.from_iterable(self._pieces[name].values() for name in names)

    def _visible_names(self, scope_filter: ScopeFilter) -> list[str]:
        names = self._pieces if scope_filter.everything else scope_filter.names
        return [name for name in names if name in self._pieces and scope_filter.admits(name)]

    def all(self) -> Iterator[NoteChunk]:
        """Yields every piece of every place: for the indexes, never for a reader."""
        return chain.from_iterable(map(dict.values, self._pieces.values()))

    def folded(self, chunk: NoteChunk) -> str:
        """Returns a piece's text, folded for word searches."""
        return self._folded.get(key_of(chunk), "")

    def counts(self) -> dict[str, int]:
        """Returns the number of pieces by place name."""
        return {name: len(pieces) for name, pieces in self._pieces.items() if pieces}

    def record(self, proposal: str, scope_filter: ScopeFilter) -> NoteChunk | None:
        """Returns where the record of a proposal begins, by the proposal's key, if the filter
        admits ``shared/``."""
        shared = self._pieces.get(SHARED.name, {}) if scope_filter.admits(SHARED.name) else {}
        return record_of(shared.values(), proposal)

    async def text(self, place: Place, path: str) -> str | None:
        """Returns a note as its file is now; None if there is none, or it cannot be read."""
        try:
            return await asyncio.to_thread(self._source.text, place, path)
        except VaultFileBroken:
            return None

    async def section(self, chunk: NoteChunk) -> NoteSection:
        """Returns the section around a piece as its file is now; if that fails, the piece as
        known."""
        try:
            section = await asyncio.to_thread(self._source.section, chunk)
        except VaultFileBroken:
            section = None
        return section or NoteSection(chunk, chunk.text, chunk.first, chunk.last)

    async def refresh(self) -> None:
        """Read what changed on the disk, and update the indexes. Files with an unchanged stamp
        are not read again."""
        async with self._refreshing:
            found = await asyncio.to_thread(self._source.places)
            if found is None:
                return  # the tree is unavailable; what is known is kept
            self._reports.post(None, found.broken)
            await self._root_notices.post(found.in_root)
            for place in self._files.places():
                if place not in found.places:
                    await self._settle(place, NoteFolder())
            for place in found.places:
                await self._settle(place, await asyncio.to_thread(self._source.list_files, place))
            if not self.scanned:
                self.scanned = True
                logger.info("notes_read", count=self._size)
                for follower in self._followers:
                    follower.recheck()

    async def _settle(self, place: Place, folder: NoteFolder) -> None:
        """Make what is known of a place equal to its files."""
        files = self._files
        gone = files.gone(place, folder)
        for path in gone:
            await self._tell(*self._replace(place, NoteReading(path)))
            files.drop(place, path)
        changed = files.changed(place, folder, self._most - self._size)
        for paths in batched(changed, _FILES):
            for reading in await self._read(place, paths):
                known = files.get(place, reading.path)
                stamp = folder.files[reading.path]
                if reading.problem == UNREADABLE and known.ids:
                    continue  # the failure may be temporary; it is tried again
                wanted = int(reading.problem == TOO_MANY)
                if self._size - len(known.ids) + len(reading.chunks) > self._most:
                    wanted = len(reading.chunks)
                    reading = NoteReading(reading.path, problem=TOO_MANY)
                await self._tell(*self._replace(place, reading))
                ids = tuple(chunk.note_id for chunk in reading.chunks)
                fresh = KnownFile(stamp, ids, reading.problem, wanted)
                files.put(place, reading.path, fresh)
        self._reports.post(place, [*folder.broken, *files.problems(place)])
        if place == SHARED and (changed or gone):
            await self._mark_records()
        if changed:
            logger.debug(
                "{}: {} note files read, {} pieces in all", place.name, len(changed), self._size
            )

    async def _mark_records(self) -> None:
        """Tell the pieces of records what their records say, also those in other files."""
        pieces = list(self._pieces.get(SHARED.name, {}).values())
        for chunk in await asyncio.to_thread(changed_marks, pieces):
            if self.get(key_of(chunk)) is not None:
                self._pieces[SHARED.name][chunk.note_id] = chunk

    async def _read(self, place: Place, paths: Sequence[str]) -> list[NoteReading]:
        """Read files; one for which there is no room is reported unread."""
        if self._size >= self._most:
            known = [path for path in paths if self._files.get(place, path).ids]
            full = [NoteReading(path, problem=TOO_MANY) for path in paths if path not in known]
            return full + await asyncio.to_thread(read_files, self._source, place, known)
        return await asyncio.to_thread(read_files, self._source, place, paths)

    def _replace(
        self, place: Place, reading: NoteReading
    ) -> tuple[list[NoteChunk], list[NoteChunk]]:
        """Store a file's present pieces. Returns the pieces removed and the pieces added."""
        pieces = self._pieces.setdefault(place.name, {})
        fresh = {chunk.note_id: chunk for chunk in reading.chunks}
        before = self._files.get(place, reading.path).ids
        gone = [pieces.pop(note_id) for note_id in before if note_id not in fresh]
        new = [chunk for note_id, chunk in fresh.items() if note_id not in pieces]
        pieces.update(fresh)
        for chunk in gone:
            del self._folded[key_of(chunk)]
        for chunk, folded in zip(reading.chunks, reading.folded, strict=True):
            self._folded[key_of(chunk)] = folded
        self._size += len(new) - len(gone)
        if not pieces:
            del self._pieces[place.name]
        return gone, new

    async def _tell(self, gone: Sequence[NoteChunk], new: Sequence[NoteChunk]) -> None:
        """Update the indexes, but only once all notes were read: before that, an index that holds
        them from the last run would write them again. It compares then."""
        if not self.scanned:
            return
        async for chunk in unhurried(gone):
            for follower in self._followers:
                follower.enqueue_removal(chunk)
        async for chunk in unhurried(new):
            for follower in self._followers:
                follower.enqueue(chunk)
