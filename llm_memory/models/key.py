"""What names a record wherever it is stored."""

from __future__ import annotations

from typing import NamedTuple


class Key(NamedTuple):
    """A record of the index: scope and id together, so that no id reaches into another scope.

    A tuple, for a recall hashes thousands of them.
    """

    scope: str
    memory_id: str
