"""The bytes of a noted record, for a file as it is when they are appended."""

from __future__ import annotations

from ..models.decisions import record_name
from ..models.status import Notice
from ..storage.appending import AppendFault, NotAppended, find_lines, newline_of, torn_length
from ..storage.record_intents import RecordIntent
from ..vault.markdown.appended_block import open_fence
from ..vault.markdown.decision_record import numbers_in
from ..vault.markdown.torn_record import torn_piece


class NotOurs(NotAppended):
    """The file has no place for this record: another program has written one with its number, or
    it would be hidden there."""


class Payload:
    """Called with the file's content: the record's lines, in the file's line ends."""

    def __init__(self, row: RecordIntent) -> None:
        self._payload = row.payload
        self._number = row.number
        self._file = row.file
        self._asked = False

    def begun(self, content: bytes) -> bool:
        """True if all of it stands in the file, or its beginning at the file's end."""
        lines = self._lines(content)
        if not lines:  # a purge has cleared them
            return False
        return find_lines(content, lines) is not None or torn_length(content, lines) > 0

    def torn(self, content: bytes, at: int | None = None) -> Notice | None:
        """Returns what to say of a piece of the record that no append will complete; None without
        one. ``at``: where it stands whole."""
        piece = torn_piece(content, self._lines(content), at)
        if piece is None:
            return None
        name, line = record_name(self._number), content.count(b"\n", 0, piece) + 1
        params = {"number": name, "path": self._file, "line": str(line)}
        return Notice("record_torn", f"{self._file}/{name}", params)

    def __call__(self, content: bytes) -> bytes:
        """Raises NotOurs."""
        # Later tries find in the file what the first has left of ours.
        first, self._asked = not self._asked, True
        if first and not self.begun(content):
            text = content.decode("utf-8", "replace")
            if (line := open_fence(text)) is not None:
                raise NotOurs(AppendFault.HIDDEN, str(line))
            if self._number in numbers_in(text) and self.torn(content) is None:
                raise NotOurs(AppendFault.BUSY)
        return self._lines(content)

    def _lines(self, content: bytes) -> bytes:
        return self._payload.replace(b"\n", newline_of(content))
