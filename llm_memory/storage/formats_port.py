"""The versions of what lies on the disk."""

from __future__ import annotations

from typing import Protocol


class StoredFormat(Protocol):
    """One thing that carries a format number. Both methods block."""

    def check(self) -> None:
        """Read the number, touch nothing. Raises FormatNewer."""
        ...

    def upgrade(self) -> None:
        """Bring an older format up to ours, a backup first; number what is new.

        Raises UpgradeFailed, and then a whole older format lies there.
        """
        ...
