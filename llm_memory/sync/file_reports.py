"""Notices for the owner about vault files."""

from __future__ import annotations

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
        self._reported: set[str] = set()

    def broken(self, reports: Iterable[FileReport], unread: set[FileKey]) -> None:
        """Report files that are skipped. Notices about ``unread`` files are kept."""
        current: set[str] = set()
        for report in reports:
            subject = f"{report.scope}/{report.path}:{report.reason}"
            params = {"scope": report.scope, "path": report.path, "reason": report.reason}
            self._notices.post(Notice("vault_file_broken", subject, params))
            current.add(subject)
        kept = {f"{scope}/{path}" for scope, path in unread}
        for subject in self._reported - current:
            if subject.rpartition(":")[0] in kept:
                current.add(subject)
            else:
                self._notices.clear("vault_file_broken", subject)
        self._reported = current

    @property
    def is_broken(self) -> bool:
        """True while some file is reported as skipped."""
        return bool(self._reported)

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
        self._keep_only("vault_copy", {f"{scope}/{path}" for scope, path in copies})
        for (scope, path), copy in copies.items():
            params = {
                "scope": scope,
                "path": path,
                "original": copy.original,
                "count": str(copy.entries),
                "different": str(copy.different),
            }
            self._notices.post(Notice("vault_copy", f"{scope}/{path}", params))

    def twins(self, folders: Collection[str], mapped: Collection[str]) -> None:
        """Report all folders whose names differ in case only from a scope of the map or, if the map
        names none of them, from another folder."""
        alike: dict[str, set[str]] = {}
        for name in (*folders, *mapped):
            alike.setdefault(folded(name), set()).add(name)
        found: dict[str, str] = {}
        for names in alike.values():
            first = min(names, key=lambda name: (name not in mapped, name))
            others = names - {first} - set(mapped)
            found |= dict.fromkeys(others, first)
        self._keep_only("vault_twin", found)
        for folder, scope in found.items():
            params = {"folder": folder, "scope": scope}
            self._notices.post(Notice("vault_twin", folder, params))

    @property
    def is_held(self) -> bool:
        """True while some scope is reported as held."""
        return self._notices.stands("vault_held")

    def held(self, entries: Sequence[KnownEntry]) -> None:
        """Report all held entries, which are missing with most of their scope."""
        counts: dict[str, int] = {}
        for entry in entries:
            counts[entry.scope] = counts.get(entry.scope, 0) + 1
        self.gone(counts)

    def gone(self, counts: Mapping[str, int]) -> None:
        """Report the same as counts by scope."""
        self._keep_only("vault_held", counts)
        for scope, count in counts.items():
            params = {"scope": scope, "count": str(count)}
            self._notices.post(Notice("vault_held", scope, params, error=True))

    def _keep_only(self, code: str, subjects: Collection[str]) -> None:
        """Remove the notices of a kind whose subject is not among these."""
        for notice in self._notices.standing():
            if notice.code == code and notice.subject not in subjects:
                self._notices.clear(code, notice.subject)

    def not_written(self, error: VaultWriteFailed) -> None:
        """Report that the disk refused a write."""
        params = {"detail": str(error)}
        self._notices.post(Notice("vault_unwritable", params=params, error=True))
