"""The index of words: a cache beside the vector store, of memories and pieces of notes alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from ..models.passages import Key
from ..models.scope import ScopeFilter


@dataclass(frozen=True, slots=True)
class LexicalRecord:
    """What is searched for words.

    Attributes:
        key: Where it is kept; ids are opaque.
        content_hash: Changes with whatever stands here.
        text: What is said, its speaker in front.
        context: What stands around it: the message before, the reason. May be empty.
        session: Names what belongs together, inside its scope: a conversation's day, a file.
        at: Its place in the session, POSIX seconds; of equals the one written first comes first.
    """

    key: Key
    content_hash: str
    text: str
    context: str = ""
    session: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class LexicalQuery:
    """``text`` is looked for. ``subject`` is what an answer has to speak of: the text without
    words that name a time, for an entry's date answers those. ``around`` was said before it: it
    counts for the order alone, and less. ``carried``: the subject is a message of that talk, of
    which an answer need not speak as of a question. ``persons``: the names of each person whom the
    subject is about besides: what holds one of them speaks of the person, and of no ``asker`` by
    that alone."""

    text: str
    subject: str
    around: str = ""
    carried: bool = False
    persons: Sequence[Sequence[str]] = ()
    asker: Sequence[str] = ()


class LexicalMatch(NamedTuple):
    """A record that shares words with a query.

    Attributes:
        score: 0 to 1, for the order: 1 is the best of this answer.
        coverage: 0 to 1, absolute: how much of the subject the record and its context speak of.
    """

    key: Key
    score: float
    coverage: float


@dataclass(frozen=True, slots=True)
class LexicalMatches:
    """Best first. ``dropped`` counts what the scope check refused, ``holding`` the visible records
    whose text holds every word of the subject, however many are among the best."""

    found: tuple[LexicalMatch, ...] = ()
    dropped: int = 0
    holding: int = 0


class LexicalIndex(Protocol):
    """A cache of the vault. Every method blocks, and may raise IndexUnavailable.

    Codes: ``busy`` and ``full`` pass by themselves, ``missing`` and ``fault`` do not; after those
    two ``discard`` and ``open`` begin anew.
    """

    def open(self) -> str:
        """Load the dictionary and make ready. Idempotent.

        Returns why an earlier index was thrown away: a stable code, empty where none was.
        """
        ...

    def write(self, records: Sequence[LexicalRecord], gone: Collection[Key]) -> None:
        """Add or replace, and remove. All of it or nothing. Unknown keys are ignored."""
        ...

    def checkpoint_wal(self) -> None:
        """Leave nothing on disk of what records were before."""
        ...

    def hashes(self) -> dict[Key, str]:
        """Content hashes of all records."""
        ...

    def count(self) -> int:
        """How many records there are."""
        ...

    def search(
        self,
        query: LexicalQuery,
        scope_filter: ScopeFilter,
        k: int,
        fresh: Iterable[LexicalRecord] = (),
    ) -> LexicalMatches:
        """At most ``k`` visible records that share a word with the query. Those that hold every
        word of its subject are among them, as far as ``k`` goes.

        ``fresh`` are not written yet, or not as they are now: they take part as if they were.
        """
        ...

    def discard(self) -> None:
        """Throw everything away: the next ``open`` begins with nothing."""
        ...

    def close(self) -> None:
        """Give back the file and the dictionary. Idempotent; later calls raise."""
        ...
