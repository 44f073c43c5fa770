"""A local model: opened in a thread by the library that can, fetched behind if not on disk."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ....errors import EmbeddingFailed
from ..download.model_download import DownloadProgress, ModelDownload, fetch_command
from ..encoder import LIBRARIES, Encoder, Open, encoded, opened
from ..ports import Fingerprint
from ..provider import CONTROL
from ..unit import unit
from .model_folder import content_revision, fetched_folder, find_model, hub_name, is_own_folder
from .prompts import Prompts

if TYPE_CHECKING:
    from ..ports import Vector, Vectors

_CHUNK = 4
"""Documents an executor job: a query waits for one job at most, not for a whole batch."""

_LONGEST_TEXT = 32_000
"""Characters. No model reads further, but its tokenizer would."""

_CLOSE_SECONDS = 5.0
_RETRY_DOWNLOAD_SECONDS = 600.0


_FAULT_OF_THE_FILES = frozenset(
    {
        *("encoding_failed", "not_finite", "not_numeric", "zero_vector"),
        *("wrong_count", "wrong_dimension"),
    }
)
"""Of a model that has just been read, they mean that it is no model."""
_TO_BE_OPENED_AGAIN = frozenset({"died", "model_changed"})


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A model in memory, with all that belongs to it."""

    model: Encoder
    prompts: Prompts
    fingerprint: Fingerprint


class LocalModelEmbedder:
    """Encodes one batch after the other, with one compute thread: contended ones cost sevenfold.

    A folder is loaded as it is. A name is looked for on disk; if it is not there, ``prepare``
    starts a download in a child process and raises until that is done. No hub is asked anywhere
    else. Reasons begin with a stable code: ``downloading``, ``download_failed``, ``not_on_disk``,
    ``no_such_folder``, ``no_onnxruntime``, ``no_sentence_transformers``, ``broken_model``,
    ``encoding_failed``, ``native`` (the library would end the process), ``language`` (the model
    cannot read the query's), ``died`` and ``model_changed`` (of a model in another process: it is
    opened again by ``prepare``), ``not_prepared``, ``closed``.

    Args:
        name_or_folder: A folder, or a model's name on the hub.
        download_seconds: Deadline of a download; 0 never downloads.
        cache_folder: Where downloads are kept; None never downloads.
        fetch: The download's command line, from a hub name and the folder to fill.
        libraries: The first that opens the folder is taken.
        end: Ends the process that the model lives in, if nothing else will; called once, blocks.
    """

    def __init__(
        self,
        name_or_folder: str,
        *,
        download_seconds: float,
        cache_folder: Path | None = None,
        fetch: Callable[[str, Path], Sequence[str]] = fetch_command,
        libraries: Sequence[Open] = LIBRARIES,
        end: Callable[[], None] | None = None,
    ) -> None:
        self._name = name_or_folder
        self._download_seconds = download_seconds
        self._cache_folder = cache_folder
        self._fetch = fetch
        self._libraries = libraries
        self._end = end
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="embedding")
        self._loading = asyncio.Lock()
        self._loaded: _Loaded | None = None
        self._download: ModelDownload | None = None
        self._latest: Future[Any] | None = None
        self._closed = False

    @property
    def label(self) -> str:
        return f"local:{Path(self._name).name}"

    @property
    def progress(self) -> DownloadProgress | None:
        """Of the download that is under way, None if there is none."""
        return None if self._download is None or self._download.done else self._download.progress

    async def prepare(self) -> Fingerprint:
        """Loads the model, which takes seconds, or says why there is none to load."""
        async with self._loading:
            if self._loaded is None:
                self._check_download()
                folder = await self.in_thread(find_model, self._name, self._cache_folder)
                self._loaded = await self._load_or_download(folder)
            return self._loaded.fingerprint

    async def embed_query(self, text: str) -> Vector:
        loaded = self._ready()
        vectors = await self.in_thread(_encode, loaded.model, [text], loaded.prompts.query)
        vector: Vector = vectors[0]
        return vector

    async def embed_documents(self, texts: Sequence[str]) -> Sequence[Vector | None]:
        loaded = self._ready()
        rows: list[Vector | None] = []
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            vectors = self.in_thread(_encode, loaded.model, chunk, loaded.prompts.document)
            rows += list(await vectors)
        return rows

    async def close(self) -> None:
        """Ends a download, the model's own process if it has one and, within five seconds, the
        thread. Idempotent.

        A load or an encoding that takes longer is left to end by itself.
        """
        self._closed = True
        if self._download is not None:
            await self._download.close()
        self._loaded = None
        self._executor.shutdown(wait=False, cancel_futures=True)
        end, self._end = self._end, None
        if end is not None:
            await asyncio.to_thread(end)
        if self._latest is not None and not self._latest.done():
            await asyncio.wait({asyncio.wrap_future(self._latest)}, timeout=_CLOSE_SECONDS)

    def _ready(self) -> _Loaded:
        if self._loaded is None:
            raise EmbeddingFailed("closed" if self._closed else "not_prepared")
        return self._loaded

    def _check_download(self) -> None:
        """Raises while a download runs, and for a while after one that failed."""
        if self._download is None:
            return
        if not self._download.done:
            done = self._download.progress
            of = f" of {done.total:.0f}" if done.total else ""
            raise EmbeddingFailed(
                f"downloading: {done.megabytes:.0f}{of} MB after {done.seconds:.0f} s"
            )
        since = time.monotonic() - self._download.ended
        if self._download.failure and since < _RETRY_DOWNLOAD_SECONDS:
            raise EmbeddingFailed(f"download_failed: {self._download.failure}")

    async def _load_or_download(self, folder: Path | None) -> _Loaded:
        tried = self._download is not None and self._download.done and not self._download.failure
        if folder is not None:
            try:
                return await self.in_thread(_load, folder, self._name, self.label, self._libraries)
            except EmbeddingFailed as error:
                # Files in the cache may be those of a download that was cut off: fetch the rest.
                if (
                    tried
                    or is_own_folder(self._name, folder)
                    or not str(error).startswith("broken_model")
                ):
                    raise
        if tried:
            raise EmbeddingFailed("download_failed: the files are not where they should be")
        raise self._start_download()

    def _start_download(self) -> EmbeddingFailed:
        if self._closed:
            return EmbeddingFailed("closed")
        if self._cache_folder is None or self._download_seconds <= 0:
            return EmbeddingFailed("not_on_disk: and downloads are off")
        folder = fetched_folder(self._name, self._cache_folder)
        command = self._fetch(hub_name(self._name), folder)
        self._download = ModelDownload(command, self._download_seconds, folder)
        return EmbeddingFailed("downloading: 0 MB after 0 s")

    async def in_thread[*Ts, R](self, call: Callable[[*Ts], R], *args: *Ts) -> R:
        try:
            future = self._executor.submit(call, *args)
        except RuntimeError as error:  # shut down
            raise EmbeddingFailed("closed") from error
        self._latest = future
        try:
            return await asyncio.wrap_future(future)
        except EmbeddingFailed as error:
            if error.code in _TO_BE_OPENED_AGAIN:
                self._loaded = None
            raise


def _load(folder: Path, name: str, label: str, libraries: Sequence[Open]) -> _Loaded:
    """Runs in the embedder's thread, which is the one that will encode."""
    try:
        model = opened(folder, name, libraries)
        prompts = model.prompts
        dim = len(unit(_encode(model, [CONTROL], prompts.query)[0], 0))
        revision = content_revision(folder, prompts, model.variant)
        fingerprint = Fingerprint(label, dim, revision)
    except EmbeddingFailed as error:
        if error.code not in _FAULT_OF_THE_FILES:
            raise
        raise EmbeddingFailed(f"broken_model: {error.code}") from error
    except Exception as error:  # files that cannot be read, vectors that do not fit each other
        raise EmbeddingFailed(f"broken_model: {type(error).__name__}") from error
    return _Loaded(model, prompts, fingerprint)


def _encode(model: Encoder, texts: Sequence[str], prompt: str) -> Vectors:
    """Unit rows, shape ``(len(texts), dim)``."""
    return encoded(model, [_readable(text) for text in texts], prompt)


def _readable(text: str) -> str:
    """Cut, and without halves of surrogate pairs, which tokenizers refuse."""
    return text[:_LONGEST_TEXT].encode(errors="replace").decode()
