"""``index/words.sqlite``: texts as they were cut into words, by place and hash. A cache: delete it,
and they are cut again. It knows neither ids nor paths."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from ..errors import EngineClosed, IndexUnavailable, StateUnavailable
from ..models.passages import Passage
from ..runtime.cooperative import cooperative
from ..storage.formats.schema import Schema
from ..storage.sqlite_file import SqliteFile, discard
from ..text.tokenizer import VERSION, Tokenizer
from .records import WordRecord, word_record

_SCHEMA: Final = Schema(
    1,
    """
    CREATE TABLE IF NOT EXISTS cut (
        place TEXT NOT NULL, hash TEXT NOT NULL, kind TEXT NOT NULL DEFAULT '',
        tokens TEXT NOT NULL DEFAULT '',
        PRIMARY KEY (place, hash)) WITHOUT ROWID
    """,
)
_FIND: Final = """
SELECT place, hash, tokens FROM json_each(?)
JOIN cut ON place = json_extract(value, '$[0]') AND hash = json_extract(value, '$[1]')
WHERE kind = ?
"""
_FORGET: Final = "DELETE FROM cut WHERE place = ? AND hash = ?"

_MISSES: Final = (StateUnavailable, EngineClosed)

type TextKey = tuple[str, str]
"""The place of a record, and its content hash."""

type Tokens = tuple[Mapping[str, int], Mapping[str, int]]
"""How often each token stands in the text of a record, and in what stands around it."""


def tokens_of(record: WordRecord, tokenizer: Tokenizer) -> Tokens:
    """Cut into words now."""
    return Counter(tokenizer.tokens(record.text)), Counter(tokenizer.tokens(record.context))


def cut(
    passages: Iterable[Passage], tokenizer: Tokenizer, cache: CutTexts | None
) -> list[tuple[WordRecord, Tokens]]:
    """The records of some passages with their words, as they were cut before or now. Blocks; never
    fails. Without a cache no disk is waited for."""
    words = tokenizer.dictionary()
    kind = f"{VERSION}-{'characters' if words is None else words.source.hex()}"
    records = [word_record(passage) for passage in cooperative(passages)]
    known = {} if cache is None else cache.get(kind, map(text_key, records))
    new = {
        text_key(record): tokens_of(record, tokenizer)
        for record in cooperative(records)
        if text_key(record) not in known
    }
    if cache is not None and new:
        cache.put(kind, new)
    known |= new
    return [(record, known[text_key(record)]) for record in records]


def text_key(record: WordRecord) -> TextKey:
    """By which its words are kept."""
    return record.key.scope, record.content_hash


class CutTexts:
    """Every method blocks, for a disk that hangs too; any thread may call it. What cannot be read
    or written for now is a miss; a file that is broken, or that a purge cannot tidy, is begun anew.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = SqliteFile(path, _SCHEMA, can_be_made_again=True)

    def open(self) -> None:
        """Until then, and where it fails, nothing is known."""
        with suppress(*_MISSES):
            self._file.open()

    def get(self, kind: str, keys: Iterable[TextKey]) -> dict[TextKey, Tokens]:
        """Those of ``kind``, which names what cut them."""
        found: dict[TextKey, Tokens] = {}
        with suppress(*_MISSES, ValueError):  # or damaged
            rows = self._file.rows(_FIND, (json.dumps([*keys]), kind))
            for place, content_hash, tokens in cooperative(rows):
                text, context = json.loads(tokens)
                found[place, content_hash] = text, context
        return found

    def put(self, kind: str, texts: Mapping[TextKey, Tokens]) -> None:
        """Add, or replace what another kind has cut."""
        rows = [(*key, kind, json.dumps(one, ensure_ascii=False)) for key, one in texts.items()]
        with suppress(*_MISSES):
            self._file.write("INSERT OR REPLACE INTO cut VALUES (?, ?, ?, ?)", rows)

    def forget(self, keys: Iterable[TextKey]) -> None:
        """They are no memory's words any more."""
        with suppress(*_MISSES):
            self._file.write(_FORGET, [*keys])

    def keep_only(self, living: Collection[TextKey], *, at_any_cost: bool = False) -> None:
        """Leave no byte of any other on the disk. Where another program holds the file some may be
        left, or ``at_any_cost`` nothing is. Raises IndexUnavailable: it is as it was, or nearly.
        """
        try:
            known = cooperative(self._file.rows("SELECT place, hash FROM cut"))
            self._file.write(_FORGET, [row for row in known if row not in living])
            self._file.checkpoint_wal()
        except EngineClosed as error:  # another may have the file by now
            raise IndexUnavailable(str(error), code="busy") from error
        except StateUnavailable:
            if not at_any_cost:
                return
            self._file.close()
            try:
                discard(self._path, kept=False)
            except OSError as error:
                raise IndexUnavailable(str(error), code="busy") from error
            finally:
                self.open()

    def close(self) -> None:
        """Idempotent. A cache that is closed knows nothing."""
        self._file.close()
