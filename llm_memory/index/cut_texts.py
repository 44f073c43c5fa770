"""``index/words.sqlite``: texts as they were cut into words, by place and hash. A cache: delete it,
and they are cut again. It knows neither ids nor paths."""

from __future__ import annotations

import contextlib
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ..errors import EngineClosed, IndexUnavailable, StateUnavailable
from ..log import logger
from ..models.passages import Passage
from ..runtime.cooperative import cooperative
from ..storage.formats.schema import Schema
from ..storage.sqlite import remove
from ..storage.sqlite_file import SqliteFile
from ..text.tokenizer import Tokenizer
from .records import WordRecord, word_record

_VERSION: Final = "3"
"""Of the tokens, with the digest of the dictionary behind it. Anything that changes a token changes
one of the two, and texts are cut again."""
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS cut (
    place TEXT NOT NULL, hash TEXT NOT NULL, kind TEXT NOT NULL DEFAULT '',
    text TEXT NOT NULL DEFAULT '', context TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (place, hash)) WITHOUT ROWID
"""
_FIND: Final = """
SELECT hash, text, context FROM cut
WHERE place = ? AND kind = ? AND hash IN (SELECT value FROM json_each(?))
"""
_FORGET: Final = "DELETE FROM cut WHERE place = ? AND hash = ?"


class Tokens(NamedTuple):
    """The tokens of a record in their order, with blanks between them: of its text, and of what
    stands around it."""

    text: str
    context: str

    def counted(self) -> tuple[Counter[str], Counter[str]]:
        """How often each token stands in both."""
        return Counter(self.text.split()), Counter(self.context.split())


type TextKey = tuple[str, str]
"""The place of a record, and its content hash."""


def tokens_of(record: WordRecord, tokenizer: Tokenizer) -> Tokens:
    """Cut into words now."""
    tokens = tokenizer.tokens
    return Tokens(" ".join(tokens(record.text)), " ".join(tokens(record.context)))


def cut(
    passages: Iterable[Passage], tokenizer: Tokenizer, cache: CutTexts | None
) -> list[tuple[WordRecord, Tokens]]:
    """The records of some passages with their words, as they were cut before or now. Blocks; never
    fails. Without a cache no disk is waited for."""
    records = [word_record(passage) for passage in cooperative(passages)]
    words = tokenizer.dictionary()
    kind = f"{_VERSION}-{'characters' if words is None else words.source.hex()}"
    keys = [(record.key.scope, record.content_hash) for record in records]
    known = {} if cache is None else cache.get(kind, keys)
    new: dict[TextKey, Tokens] = {}
    for key, record in cooperative(zip(keys, records, strict=True)):
        if key not in known:
            new[key] = tokens_of(record, tokenizer)
    if cache is not None and new:
        cache.put(kind, new)
    known |= new
    return [(record, known[key]) for key, record in zip(keys, records, strict=True)]


class CutTexts:
    """Opened when it is first asked. Every method blocks, for a disk that hangs too; any thread may
    call it. What cannot be read or written for now is a miss: only a broken file is begun anew."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._is_begun = False
        self._file = SqliteFile(path, Schema(1, _TABLES), can_be_made_again=True)
        self._is_doubtful = False
        """Something failed: what was to be forgotten may still stand there."""

    def get(self, kind: str, keys: Iterable[TextKey]) -> dict[TextKey, Tokens]:
        """Those of ``kind``, which names what cut them."""
        hashes: dict[str, list[str]] = defaultdict(list)
        for place, content_hash in keys:
            hashes[place].append(content_hash)
        found: dict[TextKey, Tokens] = {}
        with self._as_a_cache() as file:
            for place, some in hashes.items():
                for content_hash, *texts in file.rows(_FIND, (place, kind, json.dumps(some))):
                    found[place, content_hash] = Tokens(*texts)
        return found

    def put(self, kind: str, texts: Mapping[TextKey, Tokens]) -> None:
        """Add, or replace what another kind has cut."""
        rows = ((*key, kind, *tokens) for key, tokens in texts.items())
        with self._as_a_cache() as file:
            file.write("INSERT OR REPLACE INTO cut VALUES (?, ?, ?, ?, ?)", rows)

    def forget(self, place: str, hashes: Collection[str]) -> None:
        """They are no memory's words any more."""
        with self._as_a_cache() as file:
            file.write(_FORGET, [(place, content_hash) for content_hash in hashes])

    def keep_only(self, living: Collection[TextKey]) -> None:
        """Forget all others. ``living`` is looked into for each."""
        with self._as_a_cache() as file:
            kept = cooperative(file.rows("SELECT place, hash FROM cut"))
            file.write(_FORGET, [row for row in kept if row not in living])

    def clear_traces(self) -> None:
        """Leave no byte of what was forgotten; where that cannot be, nothing at all. Raises
        IndexUnavailable."""
        with self._as_a_cache() as file:
            if not self._is_doubtful:
                file.checkpoint_wal()
                return
        with self._lock:
            self._file.close()
            try:
                remove(self._path)
            except OSError as error:
                raise IndexUnavailable(str(error), code="busy") from error
            self._is_begun = self._is_doubtful = False

    @contextlib.contextmanager
    def _as_a_cache(self) -> Iterator[SqliteFile]:
        """What fails inside is left."""
        with self._lock, contextlib.suppress(StateUnavailable):  # told at the first call
            is_begun, self._is_begun = self._is_begun, True
            if not is_begun:
                self._file.open()
        try:
            yield self._file
        except (StateUnavailable, EngineClosed) as error:
            self._is_doubtful = True
            logger.debug("texts that were cut are not kept for now: {}", error)

    def close(self) -> None:
        """Idempotent. A cache that is closed knows nothing."""
        with self._lock:
            self._is_begun = True
            self._file.close()
