"""Notices for the owner about vault files."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..errors import VaultWriteFailed
from ..models.status import Notice
from ..models.vault_layout import folded
from ..runtime.notice_board import NoticeBoard
from ..vault.models import Copy, FileKey, FileReport

_MOST_IDS = 3
"""Ids named in one notice."""


class FileReports:
    """Posts notices, and removes outdated ones."""

    def __init__(self, notices: NoticeBoard) -> None:
        self._notices = notices
        self.is_held = False
        """Some scope is reported as held."""

    def broken(self, reports: Iterable[FileReport]) -> None:
        """Report all files that are skipped."""
        found = {
            f"{one.scope}/{one.path}:{one.reason}": _of_file(one.scope, one.path, reason=one.reason)
            for one in reports
        }
        self._show("vault_file_broken", found)

    def same_ids(self, clashes: Mapping[FileKey, Sequence[str]]) -> None:
        """Report all files whose entries share ids with different entries."""
        found: dict[str, dict[str, str]] = {}
        for (scope, path), ids in clashes.items():
            shown = ", ".join(ids[:_MOST_IDS]) + (" …" if len(ids) > _MOST_IDS else "")
            found[f"{scope}/{path}"] = _of_file(scope, path, count=str(len(ids)), ids=shown)
        self._show("vault_same_id", found)

    def copies(self, copies: Mapping[FileKey, Copy]) -> None:
        """Report all files that are copies of others."""
        found: dict[str, dict[str, str]] = {}
        for (scope, path), copy in copies.items():
            counts = {"count": str(copy.entries), "different": str(copy.different)}
            found[f"{scope}/{path}"] = _of_file(scope, path, original=copy.original, **counts)
        self._show("vault_copy", found)

    def twins(self, folders: Collection[str], mapped: Collection[str]) -> None:
        """Report all folders whose names differ in case only from a scope of the map or, if the map
        names none of them, from another folder."""
        meant: dict[str, str] = {}
        for name in (*sorted(mapped), *sorted(folders)):
            meant.setdefault(folded(name), name)
        found = {
            folder: {"folder": folder, "scope": scope}
            for folder in folders
            if (scope := meant[folded(folder)]) != folder and folder not in mapped
        }
        self._show("vault_twin", found)

    def held(self, counts: Mapping[str, int]) -> None:
        """Report how many entries of each scope are held, missing with most of it."""
        held = {scope: {"scope": scope, "count": str(count)} for scope, count in counts.items()}
        self._show("vault_held", held, error=True)
        self.is_held = bool(held)

    def not_written(self, error: VaultWriteFailed) -> None:
        """Report that the disk refused a write."""
        params = {"detail": str(error)}
        self._notices.post(Notice("vault_unwritable", params=params, error=True))

    def _show(
        self, code: str, found: Mapping[str, Mapping[str, str]], *, error: bool = False
    ) -> None:
        """Post these notices of a kind, by subject, and remove the others."""
        for notice in self._notices.standing():
            if notice.code == code and notice.subject not in found:
                self._notices.clear(code, notice.subject)
        for subject, params in found.items():
            self._notices.post(Notice(code, subject, params, error=error))


def _of_file(scope: str, path: str, **params: str) -> dict[str, str]:
    return {"scope": scope, "path": path, **params}
