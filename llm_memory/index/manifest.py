"""``index/manifest.json``: which collection is complete."""

from __future__ import annotations

import json
from pathlib import Path

from ..errors import IndexUnavailable, VaultWriteFailed
from ..storage.files import replace_durably
from ..storage.formats.store_formats import INDEX_FORMAT
from .embedding.ports import Fingerprint


class JsonManifest:
    """A manifest that makes no sense is no manifest."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def active(self) -> str | None:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(content, dict) or content.get("format") != INDEX_FORMAT:
            return None
        name = content.get("collection")
        return name if isinstance(name, str) else None

    def deactivate(self) -> None:
        """No collection is complete any more. Raises IndexUnavailable."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            raise IndexUnavailable(f"manifest: {error}", code="unreadable") from error

    def activate(self, collection: str, fingerprint: Fingerprint) -> None:
        """Name it as the complete one. Raises IndexUnavailable."""
        content = {
            "format": INDEX_FORMAT,
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
