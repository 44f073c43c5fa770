"""``index/trust.json``: what an examination found out about the embedder."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from ..errors import VaultWriteFailed
from ..policies.language import Language
from ..policies.trust import EXAMINATION, MOST, Trust
from ..ports import Fingerprint
from .files import make_folder, replace_durably
from .patience import when_free


class JsonTrustBook:
    """Implements the ``TrustBook`` port."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, fingerprint: Fingerprint) -> Trust | None:
        try:
            found = json.loads(when_free(self._path.read_bytes))
            if found["of"] != _identity(fingerprint):
                return None
            weights = {Language(name): float(value) for name, value in found["weights"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        sound = len(weights) == len(Language) and all(0 <= w <= MOST for w in weights.values())
        return Trust(weights) if sound else None

    def write(self, fingerprint: Fingerprint, trust: Trust) -> None:
        weights = {language.value: weight for language, weight in trust.weights.items()}
        text = json.dumps({"of": _identity(fingerprint), "weights": weights}, indent=1)
        with contextlib.suppress(OSError, VaultWriteFailed):
            make_folder(self._path.parent)
            replace_durably(self._path, text.encode())


def _identity(fingerprint: Fingerprint) -> list[object]:
    return [EXAMINATION, fingerprint.model, fingerprint.dim, fingerprint.revision]
