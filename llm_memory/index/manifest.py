"""``index/manifest.json``: which collection is complete."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import IndexUnavailable, VaultWriteFailed
from ..storage.files import replace_durably
from ..storage.formats.index_format import FORMAT
from ..storage.formats.numbers import read_stamp
from .embedding.ports import Fingerprint


class JsonManifest:
    """Implements the ``IndexManifest`` port. A manifest that makes no sense is no manifest."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def active(self) -> str | None:
        """Raises IndexUnavailable for a newer format: the index beside it is not ours to change."""
        self._refuse_newer()
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            return None
        name = content.get("collection")
        return name if isinstance(name, str) else None

    def deactivate(self) -> None:
        """No collection is complete any more. Raises IndexUnavailable."""
        self._refuse_newer()
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise IndexUnavailable(f"manifest: {error}", code="unreadable") from error

    def activate(self, collection: str, fingerprint: Fingerprint) -> None:
        """Name it as the complete one. Raises IndexUnavailable."""
        self._refuse_newer()
        content = {
            "format": FORMAT,
            "collection": collection,
            "model": fingerprint.model,
            "revision": fingerprint.revision,
            "dim": fingerprint.dim,
        }
        text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
        try:
            replace_durably(self._path, text.encode())
        except VaultWriteFailed as error:
            raise IndexUnavailable(f"manifest: {error}", code="unreadable") from error

    def _refuse_newer(self) -> None:
        stamp = read_stamp(self._path)
        if stamp is not None and stamp.format > FORMAT:
            message = f"index format {stamp.format} is newer than {FORMAT}"
            raise IndexUnavailable(message, code="newer")
