"""``index/trust.json``: what an examination found out about the embedder."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import VaultWriteFailed
from ..index.embedding.ports import Fingerprint
from ..storage.files import make_folder, replace_durably
from ..storage.retry import when_free
from ..text.scripts import Language
from .rules.trust import EXAMINATION, Cohort, Trust


class JsonTrustBook:
    """A cache: what cannot be read is not known. Both methods block and raise nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, fingerprint: Fingerprint) -> Trust | None:
        """Returns what is known of an embedder, by the present examination."""
        try:
            found = json.loads(when_free(self._path.read_bytes))
            if found["of"] != _identity(fingerprint):
                return None
            return Trust({one: _cohort(found["found"][one], fingerprint.dim) for one in Language})
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def write(self, fingerprint: Fingerprint, trust: Trust) -> None:
        """Keep it; what was known of other embedders goes."""
        found = {language: asdict(cohort) for language, cohort in trust.cohorts.items()}
        text = json.dumps({"of": _identity(fingerprint), "found": found}, indent=1)
        with contextlib.suppress(OSError, VaultWriteFailed):
            make_folder(self._path.parent)
            replace_durably(self._path, text.encode())


def _cohort(found: dict[str, Any], dim: int) -> Cohort:
    """Raises ValueError, TypeError, KeyError."""
    weight, deviation = float(found["weight"]), float(found["deviation"])
    centre, common = (tuple(map(float, found[name])) for name in ("centre", "common"))
    if len(centre) != dim or len(common) not in {0, dim}:
        raise ValueError("of another length")
    return Cohort(weight, centre, deviation, common)


def _identity(fingerprint: Fingerprint) -> list[object]:
    return [EXAMINATION, fingerprint.model, fingerprint.dim, fingerprint.revision]
