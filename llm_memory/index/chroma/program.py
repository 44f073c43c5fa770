"""The program in which chromadb lives: it does what ``store.py`` asks and decides nothing.

It may take a gigabyte, hold the interpreter for seconds, and die of a broken folder. Each question
says where Chroma is: ``folder``, or ``url`` and ``headers``; it is opened for the first one.
"""

from __future__ import annotations

import contextlib
import errno
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..child.program import Answer, Fault, Handlers, loading

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection
    from filelock import BaseFileLock

type Fields = Mapping[str, Any]

_PATIENCE_SECONDS: Final = 12.0
"""The program of a bot that was killed is still closing the folder when the next one comes."""
_RESERVE: Final = 64 << 20
"""Bytes that stay free on the disk: one that fills up in the middle of a write breaks a folder."""
_WRITTEN_FOR_EACH_BYTE: Final = 8
"""Vectors go into a queue, a journal and a graph."""


def handlers() -> Handlers:
    """See ``Chroma``."""
    chroma = Chroma()
    calls = (chroma.listed, chroma.make, chroma.mark, chroma.call, chroma.delete, chroma.remove)
    return {
        **{call.__name__: _translated(call) for call in calls},
        "close": lambda _fields, _body: chroma.close(),
    }


def _translated(call: Callable[[Fields, bytes], Answer]) -> Callable[[Fields, bytes], Answer]:
    """Raises Fault with the codes that tell of no broken folder."""

    def handler(fields: Fields, body: bytes) -> Answer:
        try:
            return call(fields, body)
        except ImportError as error:
            raise Fault("missing", f"no chromadb: {error}") from error
        except PermissionError as error:
            raise Fault("unreadable", str(error)) from error
        except Exception as error:
            full = isinstance(error, OSError) and error.errno == errno.ENOSPC
            if full or "disk is full" in str(error):
                raise Fault("full", str(error)[:500]) from error
            raise

    return handler


class Chroma:
    """One folder or server."""

    def __init__(self) -> None:
        self._client: ClientAPI | None = None
        self._lock: BaseFileLock | None = None
        self._collections: dict[str, Collection] = {}

    def listed(self, fields: Fields, _body: bytes) -> Answer:
        """All collections that are there, ours or not."""
        return {
            "collections": [
                {
                    "name": found.name,
                    "id": str(found.id),
                    "metadata": dict(found.metadata or {}),
                    "space": (found.configuration_json.get("hnsw") or {}).get("space"),
                }
                for found in self._opened(fields).list_collections()
            ]
        }, b""

    def make(self, fields: Fields, _body: bytes) -> Answer:
        """A new one with some metadata, under a name that must be free."""
        self._has_room(fields, 0)
        self._opened(fields).create_collection(
            fields["name"],
            configuration={"hnsw": fields["hnsw"]},
            metadata=fields["metadata"],
            embedding_function=None,
        )
        return {}, b""

    def mark(self, fields: Fields, _body: bytes) -> Answer:
        """Other metadata."""
        self._collection(fields).modify(metadata=fields["metadata"])
        return {}, b""

    def delete(self, fields: Fields, _body: bytes) -> Answer:
        """A collection with all that is in it."""
        self._opened(fields).delete_collection(fields["name"])
        self._collections.pop(fields["name"], None)
        return {}, b""

    def call(self, fields: Fields, body: bytes) -> Answer:
        """One of a collection's own methods with its ``arguments``. ``body`` is ``embeddings`` or
        ``query_embeddings`` as float32; embeddings that were asked for come back in the same way.
        """
        import numpy as np

        arguments, name = dict(fields["arguments"]), fields["call"]
        if body:
            self._has_room(fields, len(body) if name == "upsert" else 0)
            wanted = "query_embeddings" if name == "query" else "embeddings"
            rows = np.frombuffer(body, dtype="<f4").reshape(-1, fields["dim"])
            arguments[wanted] = rows.copy()
        found = getattr(self._collection(fields), name)(**arguments)
        if not isinstance(found, dict):
            return {"found": found}, b""
        embeddings = found.get("embeddings")
        raw = b"" if embeddings is None else np.asarray(embeddings, dtype="<f4").tobytes()
        kept = ("ids", "documents", "metadatas", "distances")
        return {part: found[part] for part in kept if found.get(part) is not None}, raw

    def remove(self, fields: Fields, _body: bytes) -> Answer:
        """The folder with all that is in it, unopened."""
        self.close()
        folder = Path(fields["folder"])
        if folder.is_symlink() or folder.exists():
            self._take(folder)
            if folder.is_dir() and not folder.is_symlink():
                shutil.rmtree(folder)
            else:
                folder.unlink()
        return {}, b""

    def _collection(self, fields: Fields) -> Collection:
        name = fields["name"]
        if name not in self._collections:
            # Without an embedding function: the default one fetches a model.
            found = self._opened(fields).get_collection(name, embedding_function=None)
            self._collections[name] = found
        return self._collections[name]

    def _opened(self, fields: Fields) -> ClientAPI:
        if self._client is None:
            settings = _of_server(fields) if "url" in fields else _of_folder(fields["folder"])
            loading("chromadb")
            import chromadb

            if "folder" in fields:
                self._take(Path(fields["folder"]))
                self._has_room(fields, 0)
            try:
                self._client = chromadb.Client(chromadb.Settings(**settings))
            except BaseException:  # what failed to start would be handed out again
                chromadb.api.client.SharedSystemClient.clear_system_cache()
                raise
        return self._client

    def _take(self, folder: Path) -> None:
        """Two processes in one folder lose vectors without a word."""
        from filelock import FileLock, Timeout

        if self._lock is None:
            folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            lock = FileLock(folder.with_name(f"{folder.name}.lock"), timeout=_PATIENCE_SECONDS)
            try:
                lock.acquire()
            except Timeout as error:
                raise Fault("in_use", f"another process has {folder}") from error
            self._lock = lock

    def _has_room(self, fields: Fields, size: int) -> None:
        if "folder" in fields:
            place = Path(fields["folder"]).parent
            free = shutil.disk_usage(place).free if place.exists() else _RESERVE
            if free < _RESERVE + size * _WRITTEN_FOR_EACH_BYTE:
                raise Fault("full", f"{free >> 20} MB free, {_RESERVE >> 20} MB stay free")

    def close(self) -> Answer:
        """Let go of everything; the next question opens it again."""
        client, self._client = self._client, None
        lock, self._lock = self._lock, None
        self._collections = {}
        with contextlib.suppress(Exception):
            if client is not None:
                client.close()
        if lock is not None:
            lock.release()
        return {}, b""


# What is not said here, the bot's environment and a file .env would decide.
_SETTINGS: Final[Fields] = {"anonymized_telemetry": False, "allow_reset": False}


def _of_folder(folder: str) -> Fields:
    return {
        **_SETTINGS,
        "chroma_api_impl": "chromadb.api.rust.RustBindingsAPI",
        "is_persistent": True,
        "persist_directory": folder,
        "migrations": "apply",
    }


def _of_server(fields: Fields) -> Fields:
    url = urlsplit(fields["url"])
    return {
        **_SETTINGS,
        "chroma_api_impl": "chromadb.api.fastapi.FastAPI",
        "chroma_server_host": fields["url"],
        "chroma_server_http_port": url.port or (443 if url.scheme == "https" else 80),
        "chroma_server_ssl_enabled": url.scheme == "https",
        "chroma_server_api_default_path": "/api/v2",
        "chroma_server_headers": dict(fields["headers"]),
        "chroma_client_auth_provider": None,
    }
