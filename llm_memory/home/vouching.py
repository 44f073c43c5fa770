"""Vouches for a memory that an agent logged, in its Markdown file, as a person's editor would.

It works whether or not a program has the store open: that one takes the edit for a person's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ..errors import HomeError, VaultError, VaultFileBroken
from ..models.data_models import Memory, Topic
from ..models.vault_layout import topic_of, topic_path
from ..remember.home_vouchers import HomeVouchers
from ..remember.rules.instructions import is_quotation
from ..remember.rules.routing import route
from ..storage.files import ChangedMeanwhile, replace_durably
from ..storage.formats.vault_format import VaultFormat
from ..vault.entry_locator import says_the_same
from ..vault.ledger import SqliteLedger
from ..vault.markdown.topic_file import Entry, TopicFile
from ..vault.vault_tree import FileSnapshot, VaultTree
from ..vault.vault_writer import VaultWriter
from .agent_stores import LevelName, LevelScope

_TRIES: Final = 10
"""Attempts while another program keeps writing to the file."""


@dataclass(frozen=True, slots=True)
class Vouched:
    """What became of an entry.

    Attributes:
        level: Where it stands, as agents call it.
        path: Its file inside the scope, before.
        moved_to: Its file now.
        before: Its lines, before.
        after: Its lines now.
        noted: The home's list of what was vouched for has changed.
        quoted: It stays a quotation: with anyone's voucher it would override other rules.
    """

    level: LevelName
    path: str
    moved_to: str
    before: str
    after: str
    quoted: bool
    noted: bool = False

    @property
    def changed(self) -> bool:
        """True if something was written."""
        return self.noted or self.before != self.after or self.path != self.moved_to


def vouch(
    memory_id: str, scopes: Iterable[LevelScope], *, trusted: bool, version: str
) -> Vouched | None:
    """Vouch for an entry, or take the voucher back. Blocks.

    Args:
        scopes: Where it is looked for; the first that has it counts.

    Returns:
        None where none of the scopes has it.

    Raises:
        HomeError: A file cannot be read or written, or is being written to all the time.
        FormatNewer: A later version wrote the store. Nothing was changed.
    """
    for place in scopes:
        VaultFormat(place.paths.memory, place.paths.backups, version=version).check()
        found = _Scope(place).vouch(memory_id, trusted=trusted)
        if found is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Found:
    """An entry as it stands in a file."""

    snapshot: FileSnapshot
    file: TopicFile
    entry: Entry
    path: str

    @property
    def text(self) -> str:
        """Its lines, without blank ones at the end."""
        return "\n".join(self.file.lines[self.entry.start : self.entry.end]).rstrip()

    @property
    def is_instruction(self) -> bool:
        return topic_of(self.path) is Topic.INSTRUCTIONS


class _Scope:
    def __init__(self, place: LevelScope) -> None:
        self._level = place.level
        self._scope = place.scope
        self._tree = VaultTree(place.paths.memory, contextlib.nullcontext())
        self._writer = VaultWriter(self._tree, SqliteLedger())
        # A project's files may be pulled: there the home says what is trusted.
        self._vouchers = None if place.paths.owns_memory else HomeVouchers(place.paths.state)

    def vouch(self, memory_id: str, *, trusted: bool) -> Vouched | None:
        """Returns None where the scope does not have it. Raises HomeError."""
        first: _Found | None = None
        noted = False
        with _in_words():
            for _ in range(_TRIES):
                found = self._find(memory_id)
                if not found:
                    return None
                first = first or found[0]
                if self._vouchers is not None:
                    memory = found[0].entry.memory
                    noted |= self._vouchers.vouch(self._scope, memory, trusted=trusted)
                with contextlib.suppress(ChangedMeanwhile):
                    self._step(found, trusted=trusted)
                    return replace(self._done(first, memory_id), noted=noted)
        raise HomeError(
            f"{first.path if first else memory_id}：一直有程序在写它，再来一次 / another program "
            "keeps writing to it, try again"
        )

    def _find(self, memory_id: str) -> list[_Found]:
        """Returns where it stands: first in a file that is no instructions, for a move that was
        interrupted leaves it in both. Raises VaultFileBroken if it is nowhere, but a file cannot be
        read."""
        listing = self._tree.list_files(self._scope)
        found: list[_Found] = []
        broken: VaultFileBroken | None = None
        for path in listing.files:
            try:
                there = self._tree.find(path, memory_id)
            except VaultFileBroken as error:
                broken = broken or error
                continue
            if there is not None:
                found.append(_Found(*there, self._tree.relative(self._scope, path)))
        if not found and broken is not None:
            raise broken
        # A file that a person named may be a copy of one of ours.
        return sorted(found, key=lambda one: (one.is_instruction, topic_of(one.path) is None))

    def _step(self, found: list[_Found], *, trusted: bool) -> None:
        """Raises ChangedMeanwhile: it is to be looked at anew."""
        here = found[0]
        wanted = _as_vouched(here.entry.memory, trusted=trusted)
        topic = route(wanted.kind, wanted.judgment, trusted=trusted and not wanted.quoted)
        if (topic is Topic.INSTRUCTIONS) == here.is_instruction:
            if wanted != here.entry.memory:
                self._write(here, here.file.with_replaced(here.entry, wanted))
            return
        there = next((one for one in found[1:] if one.is_instruction), None)
        if there is not None and not says_the_same(there.entry.memory, wanted):
            # What we appended, and somebody changed the other since.
            self._write(there, there.file.without(there.entry))
            there = None
        if there is None:
            # First there, then not here: a crash in between leaves it in both.
            self._writer.append_unnoted(self._scope, topic_path(topic, wanted.created_at), wanted)
        self._write(here, here.file.without(here.entry))

    def _write(self, found: _Found, text: str) -> None:
        self._tree.refuse_links(found.snapshot.path)
        replace_durably(found.snapshot.path, text.encode(), found.snapshot.stamp)

    def _done(self, first: _Found, memory_id: str) -> Vouched:
        now = self._find(memory_id)
        last = now[0] if now else first
        return Vouched(
            self._level,
            first.path,
            last.path,
            first.text,
            last.text,
            quoted=last.entry.memory.quoted,
        )


def _as_vouched(memory: Memory, *, trusted: bool) -> Memory:
    """Returns the memory with its voucher, or without."""
    said = (memory.judgment, memory.reasoning, *memory.tags)
    return replace(
        memory,
        provenance=replace(memory.provenance, trusted=trusted),
        quoted=is_quotation(said, trusted=trusted),
    )


@contextlib.contextmanager
def _in_words() -> Iterator[None]:
    try:
        yield
    except VaultFileBroken as error:
        raise HomeError(f"{error.path}：读不了 / cannot be read ({error.reason})") from error
    except VaultError as error:
        raise HomeError(f"写不了 / cannot be written: {error}") from error
    except OSError as error:
        raise HomeError(f"{error.filename}：{os.strerror(error.errno or 0)}") from error
