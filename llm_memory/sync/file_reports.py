"""Notices for the owner about vault files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from ..errors import VaultWriteFailed
from ..models.status import Notice
from ..models.vault_layout import folded
from ..runtime.notice_board import NoticeBoard
from ..vault.models import Copy, FileKey, FileReport, KnownEntry

_MOST_IDS = 3
"""Ids named in one notice."""


class FileReports:
    """Posts notices, and removes outdated ones."""

    def __init__(self, notices: NoticeBoard) -> None:
        self._notices = notices

    def broken(self, reports: Iterable[FileReport]) -> None:
        """Report all files that are skipped."""
        self._show(
            "vault_file_broken",
            {
                f"{one.scope}/{one.path}:{one.reason}": {
                    "scope": one.scope,
                    "path": one.path,
                    "reason": one.reason,
                }
                for one in reports
            },
        )

    def same_ids(self, seen: Iterable[FileKey], clashes: Mapping[FileKey, Sequence[str]]) -> None:
        """Report files whose entries share ids with different entries: all among those ``seen``."""
        for scope, path in seen:
            subject = f"{scope}/{path}"
            if ids := clashes.get((scope, path)):
                shown = ", ".join(ids[:_MOST_IDS]) + (" …" if len(ids) > _MOST_IDS else "")
                params = {"scope": scope, "path": path, "count": str(len(ids)), "ids": shown}
                self._notices.post(Notice("vault_same_id", subject, params))
            else:
                self._notices.clear("vault_same_id", subject)

    def copies(self, copies: Mapping[FileKey, Copy]) -> None:
        """Report all files that are copies of others."""
        self._show(
            "vault_copy",
            {
                f"{scope}/{path}": {
                    "scope": scope,
                    "path": path,
                    "original": copy.original,
                    "count": str(copy.entries),
                    "different": str(copy.different),
                }
                for (scope, path), copy in copies.items()
            },
        )

    def twins(self, folders: Collection[str], mapped: Collection[str]) -> None:
        """Report all folders whose names differ in case only from a scope of the map or, if the map
        names none of them, from another folder."""
        alike: dict[str, set[str]] = {}
        for name in (*folders, *mapped):
            alike.setdefault(folded(name), set()).add(name)
        found: dict[str, str] = {}
        for names in alike.values():
            first = min(names, key=lambda name: (name not in mapped, name))
            found |= dict.fromkeys(names - {first} - set(mapped), first)
        twins = {folder: {"folder": folder, "scope": scope} for folder, scope in found.items()}
        self._show("vault_twin", twins)

    @property
    def is_held(self) -> bool:
        """True while some scope is reported as held."""
        return self._notices.stands("vault_held")

    def held(self, entries: Iterable[KnownEntry]) -> None:
        """Report all held entries, which are missing with most of their scope."""
        self.gone(Counter(entry.scope for entry in entries))

    def gone(self, counts: Mapping[str, int]) -> None:
        """Report the same as counts by scope."""
        held = {scope: {"scope": scope, "count": str(count)} for scope, count in counts.items()}
        self._show("vault_held", held, error=True)

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
