"""A recall of a store that another program has open, for one that is gone in a moment: sent now,
read later, without pydantic and whatever else takes long to import."""

from __future__ import annotations

import socket
import time
from datetime import date
from pathlib import Path
from typing import Any, Final

from ..models.conversation import ConversationId
from ..models.recall import Byline, Hit
from .endpoint import PROTOCOL, parse_answer, read_endpoint

SECONDS: Final = 0.25
"""The owner is given so long."""
_OK: Final = 200


class QuickRecall:
    """Asks the owner of a store, if it has one. ``wanted`` are arguments of ``recall``."""

    def __init__(self, state: Path, where: ConversationId, wanted: dict[str, Any]) -> None:
        self._until = time.monotonic() + SECONDS
        self._asked: socket.socket | None = None
        owner = read_endpoint(state)
        if owner is None or owner.protocol != PROTOCOL:
            return
        call = {"conversation_id": where.umo, "actor": {"person": "", "name": ""}, **wanted}
        try:
            self._asked = socket.create_connection((owner.host, owner.port), SECONDS)
            self._asked.sendall(owner.request("recall", call))
        except OSError:  # it has died
            self._asked = None

    def hits(self) -> list[Hit] | None:
        """Returns what was found, nothing from an owner that is late; None where none answers."""
        if self._asked is None:
            return None
        with self._asked as connection:
            connection.settimeout(max(self._until - time.monotonic(), 0.001))
            try:
                told = b"".join(iter(lambda: connection.recv(65_536), b""))
            except TimeoutError:
                return []
            except OSError:
                return None
        status, answer = parse_answer(told)
        return [_hit(raw) for raw in answer["value"]["hits"]] if status == _OK else None


def _hit(raw: dict[str, Any]) -> Hit:
    return Hit(
        **raw
        | {
            "day": raw["day"] and date.fromisoformat(raw["day"]),
            "headings": tuple(raw["headings"]),
            "byline": Byline(**raw["byline"]),
            "also": tuple(map(_hit, raw["also"])),
        }
    )
