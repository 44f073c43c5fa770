"""Small durable facts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from ..models.conversation import SeenSender
from ..models.corrections import Correction
from ..models.former_scopes import DerivedScope
from ..models.key import Key
from ..models.turns import HistoryScope


class StateStore(Protocol):
    """Small durable facts. Every method blocks; each row that holds words carries its scope."""

    def open(self) -> bool:
        """Make ready. False if the old file was unusable and was set aside for a new one.

        Raises StateUnavailable.
        """
        ...

    def open_in_memory(self) -> None:
        """Where ``open`` failed: go on with what can be read of the file, if anything.

        Nothing is kept beyond ``close``.
        """
        ...

    def seen_conversations(self) -> frozenset[str]:
        """Conversation ids that a message came from, and keys of the map that decided for one."""
        ...

    def mark_seen(self, umo: str) -> None:
        """Add one. Idempotent."""
        ...

    def remembered_map_keys(self) -> frozenset[str]:
        """The private keys of the last map that had any."""
        ...

    def lost_map_keys(self) -> frozenset[str]:
        """Private keys that went all at once and were not given back yet."""
        ...

    def remember_map_keys(self, keys: Iterable[str], *, lost: Iterable[str]) -> None:
        """Replace both."""
        ...

    def known_scopes(self) -> frozenset[str]:
        """Private scopes that a map of this installation has named, that it has brought from
        elsewhere, or of which an admin has said that no key is to name them."""
        ...

    def know_scopes(self, names: Iterable[str], *, brought: bool = False) -> None:
        """Add some. Idempotent. ``brought``: by the owner, from elsewhere; then they are kept even
        where nothing else is."""
        ...

    def accounts_released(self) -> frozenset[str]:
        """Bot accounts of which an admin has said that they are gone for good."""
        ...

    def release_accounts(self, names: Iterable[str]) -> None:
        """Replace them."""
        ...

    def public_peers(self) -> frozenset[str]:
        """Persons who wrote privately while their chat fell to public."""
        ...

    def add_public_peer(self, person: str) -> None:
        """Add one. Idempotent."""
        ...

    def note_sender(self, sender: SeenSender) -> None:
        """Who has spoken under an origin, and where that was. The latest stands."""
        ...

    def senders(self, umo: str) -> list[SeenSender]:
        """All who have spoken under this origin."""
        ...

    def model_history(self, umo: str, history: str) -> HistoryScope | None:
        """What was noted last of a chat history that the model is given; None for nothing."""
        ...

    def note_model_history(self, umo: str, history: str, noted: HistoryScope) -> None:
        """Replace it."""
        ...

    def drop_public_peer(self, person: str) -> None:
        """Take one out. Idempotent."""
        ...

    def has_mark(self, name: str) -> bool:
        """True once ``set_mark`` was called with this name."""
        ...

    def set_mark(self, name: str, *, there: bool = True) -> None:
        """Remember that something was done once, or that it was not after all. Idempotent."""
        ...

    def derived_scopes(self) -> list[DerivedScope]:
        """Which scopes policies derived for which conversations, now or before."""
        ...

    def note_derived_scopes(self, records: Collection[DerivedScope]) -> None:
        """Add some. Idempotent."""
        ...

    def count_use(self, keys: Sequence[Key]) -> None:
        """One more use of each memory."""
        ...

    def uses(self, key: Key) -> int:
        """How often a memory was found useful."""
        ...

    def all_uses(self) -> dict[Key, int]:
        """The same of every memory that ever was."""
        ...

    def corrections(self) -> list[Correction]:
        """All of them, in the order in which they were added."""
        ...

    def add_corrections(self, corrections: Sequence[Correction]) -> list[int]:
        """Add all or none; the number of each. On disk when it returns."""
        ...

    def drop_corrections(self, numbers: Collection[int]) -> None:
        """They were undone. Unknown ones are ignored."""
        ...

    def seal_corrections(self, marks: Mapping[int, Sequence[str]]) -> None:
        """By number, the marks that stand for the words from now on."""
        ...

    def checkpoint_wal(self) -> None:
        """Leave no former row in any file."""
        ...

    def correction_key(self) -> str:
        """The key of the marks of corrections, made once: 64 hexadecimal digits."""
        ...

    def installation(self) -> str:
        """A random id of this installation, made once: 32 hexadecimal digits.

        Raises StateUnavailable where it could not be kept: it would be another one next time.
        """
        ...

    def close(self) -> None:
        """Give back the file. Idempotent."""
        ...
