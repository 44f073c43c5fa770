"""``index/trust.json``: what an examination found out about the embedder."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from ..errors import VaultWriteFailed
from ..policies.evidence import Scale
from ..policies.language import Language
from ..policies.trust import EXAMINATION, Trust
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
            told = {Language(name): _numbers(value) for name, value in found["found"].items()}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        if len(told) != len(Language):
            return None
        return Trust(
            {language: weight for language, (weight, _, _) in told.items()},
            {language: Scale(mean, deviation) for language, (_, mean, deviation) in told.items()},
        )

    def write(self, fingerprint: Fingerprint, trust: Trust) -> None:
        found = {language.value: _row(trust, language) for language in Language}
        text = json.dumps({"of": _identity(fingerprint), "found": found}, indent=1)
        with contextlib.suppress(OSError, VaultWriteFailed):
            make_folder(self._path.parent)
            replace_durably(self._path, text.encode())


def _row(trust: Trust, language: Language) -> list[float]:
    scale = trust.scale(language)
    return [trust.weight(language), scale.mean, scale.deviation]


def _numbers(found: object) -> tuple[float, float, float]:
    """Weight, mean and deviation. Raises ValueError, TypeError."""
    if not isinstance(found, list):
        raise TypeError(found)
    weight, mean, deviation = map(float, found)
    if not (0 <= weight <= 1 and -1 <= mean <= 1 and 0 <= deviation <= 1):
        raise ValueError(found)
    return weight, mean, deviation


def _identity(fingerprint: Fingerprint) -> list[object]:
    return [EXAMINATION, fingerprint.model, fingerprint.dim, fingerprint.revision]
