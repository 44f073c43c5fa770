"""Everything the engine raises.

ScopedMemoryError
├── InvalidScope          a name that no scope may have
├── InvalidConversationId a string that is no ``unified_msg_origin``
├── EngineClosed          a call after ``close()`` (or after a reload of the plugin)
├── EngineOff             the engine could not open, and says why
├── DirectoryInUse        another process owns the data folder
├── FormatNewer           what lies on the disk was written by a later version
├── VaultError
│   ├── VaultWriteFailed  nothing was acknowledged and nothing half-written is left
│   └── VaultFileBroken   one file cannot be read; the others go on
├── TransferFailed        a file of memories cannot be written or read
├── StateUnavailable      the state file cannot be read or written now
├── IndexUnavailable      the vector index cannot answer; recall goes on without it
├── EmbeddingFailed       no vectors for this text now; recall and writes go on without them
├── SaidError             what a person reads in their own language
│   ├── HomeError         a home's settings or a project's name cannot be used
│   └── InvalidService    an embedding service's address, model or key that cannot be used
└── RerankFailed          no other order for these texts now; recall keeps its own

Expected results (a refused draft, a memory that is not visible) are values, not errors.
"""

from __future__ import annotations

import re
from typing import Final

from .texts import Said


class ScopedMemoryError(Exception):
    """Root of the engine's errors."""


class SaidError(ScopedMemoryError):
    """An error that a person reads in their own language.

    ``said`` is its text; ``str(error)`` is the same in English, which agents read.
    """

    def __init__(self, said: str | Said, /, **params: object) -> None:
        """``said`` is a text, or the code of one with its ``params``."""
        self.said = Said(said, **params) if isinstance(said, str) else said
        super().__init__(self.said)

    def __str__(self) -> str:
        return self.said.text("en")


class InvalidScope(ScopedMemoryError):
    """This name is no legal scope."""

    def __init__(self, name: object) -> None:
        super().__init__(f"illegal scope name {name!r}")


class InvalidConversationId(ScopedMemoryError):
    """``umo`` is not of the form ``<account>:<message type>:<session>``."""

    def __init__(self, umo: object) -> None:
        super().__init__(f"malformed conversation id {umo!r}")
        self.umo = umo


class EngineClosed(ScopedMemoryError):
    """The engine was closed; a newer instance may be answering."""


class EngineOff(ScopedMemoryError):
    """The engine could not open. ``code`` names the notice that says why."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail


class DirectoryInUse(ScopedMemoryError):
    """Another process (or another opener in this one) owns the directory."""

    code: Final = "directory_in_use"

    def __init__(self, path: str) -> None:
        super().__init__(f"directory is in use: {path}")
        self.path = path


class FormatNewer(ScopedMemoryError):
    """``path`` has format ``found``; this version knows up to ``known``. Nothing was touched.

    ``needs`` is the least version that can open it, such as ``≥ 0.4.0``.
    """

    code: Final = "format_newer"

    def __init__(self, path: str, found: int, known: int, needs: str) -> None:
        super().__init__(f"{path}: format {found}, known up to {known}, needs {needs}")
        self.path = path
        self.found = found
        self.known = known
        self.needs = needs


class HomeError(SaidError):
    """A home's settings, a project's name or a folder of theirs cannot be used."""


class VaultError(ScopedMemoryError):
    """Something is wrong with the Markdown tree."""


class VaultWriteFailed(VaultError):
    """A write was refused (disk full, permissions). The file is as it was before."""


class VaultFileBroken(VaultError):
    """A file of the vault cannot be read or parsed. ``reason`` is a stable code."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


class TransferFailed(ScopedMemoryError):
    """A file of memories cannot be written or read. ``code`` is stable and has a text; ``detail``
    is what the disk said, or a name or number that belongs to it."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code = code
        self.detail = detail


class StateUnavailable(ScopedMemoryError):
    """The state file is locked, or the disk is full or failing. Memories do not depend on it.

    ``path`` names the file, ``cause`` says what is wrong with it.
    """

    def __init__(self, cause: str, path: str = "") -> None:
        super().__init__(f"state: {cause}")
        self.cause = cause
        self.path = path


class IndexUnavailable(ScopedMemoryError):
    """The vector index is missing, closed or broken.

    ``code`` is stable and has a text for the owner: ``fault`` where nothing more is known.
    """

    def __init__(self, message: str, *, code: str = "fault") -> None:
        super().__init__(message)
        self.code = code


class EmbeddingFailed(ScopedMemoryError):
    """An embedder failed, timed out or answered with unusable vectors."""

    @property
    def code(self) -> str:
        """What the message begins with: ``timeout``, ``language``, …"""
        return str(self).partition(":")[0]


class InvalidService(SaidError):
    """An embedding service's address, model or key cannot be used. The message says which and why,
    and holds no key."""


class RerankFailed(ScopedMemoryError):
    """A reranker is gone, timed out or answered with unusable scores.

    The message begins with a stable code: ``gone``, ``timeout``, ``wrong_count``, ….
    """


class ChatFailed(ScopedMemoryError):
    """A chat service gave no answer that can be used.

    Attributes:
        code: ``gone`` (no service now), ``timeout``, ``busy`` (it wants no more calls now), ``key``
            (it does not know us), ``quota`` (not paid for), ``content`` (it refuses this prompt),
            ``empty``, ``failed`` (anything else of the service), ``unreadable`` (asked twice),
            ``resting`` (no call was made).
        detail: A kind, a number, or a reason; nobody's words.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{code}: {detail}" if detail else code)
        self.code, _, rest = code.partition(": ")
        self.detail = detail or rest
        if self.code == "failed" and re.search(r"\b(?:400|413|422)\b", self.detail):
            self.code = "content"


class OwnerGone(ScopedMemoryError):
    """The process that owns a store does not answer any more; what it was asked may be done."""


class NoOwner(ScopedMemoryError):
    """No process has the store open that is to be followed, or none that answers."""


class OtherProtocol(NoOwner):
    """The process that has the store open is of another version, if it is still alive."""
