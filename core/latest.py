"""What was noted last, by key: in memory, bounded, gone with a restart."""

from __future__ import annotations


class Latest[Key, Value](dict[Key, Value]):
    """The ``most`` values that were noted last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def note(self, key: Key, value: Value) -> None:
        """Note a value as the newest. Beyond ``most``, the oldest one goes."""
        self.pop(key, None)
        self[key] = value
        if len(self) > self._most:
            del self[next(iter(self))]
