"""How one process is to live, as its parent hands it over."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Plan:
    """One life of the engine's process.

    Attributes:
        life: Its number; serials begin with it.
        seed: Every choice of this life comes from it.
        seconds: After so long it closes by itself; None: it lives until it is ended.
        pause: The longest time between two operations of a conversation, seconds.
        reload_every: Seconds from one reload to the next, each with another map; None for none.
        only_writes: Nothing but ``remember``, for bursts.
        wait_for_index: Nobody speaks before the index is ready, so that all of it hits the index.
    """

    life: int
    seed: int
    seconds: float | None = None
    pause: float = 0.5
    reload_every: float | None = None
    only_writes: bool = False
    wait_for_index: bool = False

    def save(self, path: Path) -> None:
        """For the child."""
        path.write_text(json.dumps(asdict(self)), "utf-8")

    @classmethod
    def load(cls, path: Path) -> Plan:
        """What ``save`` wrote."""
        return cls(**json.loads(path.read_text("utf-8")))
