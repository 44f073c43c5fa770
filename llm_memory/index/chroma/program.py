"""The program in which chromadb lives: it does what ``vector_store.py`` asks and decides nothing.

It may take a gigabyte, hold the interpreter for seconds, and die of a broken folder. Each question
says where Chroma is: ``folder``, or ``url`` and ``headers``; it is opened for the first one.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..child.program import Answer, Fault, Handlers, Json, loading

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from filelock import BaseFileLock

type Fields = Mapping[str, Any]

_PATIENCE_SECONDS: Final = 8.0
"""The program of a bot that was killed is still closing the folder when the next one comes."""
_RESERVE: Final = 64 << 20
"""Bytes that stay free on the disk: one that fills up in the middle of a write breaks a folder."""
_WRITTEN_FOR_EACH_BYTE: Final = 8
"""Vectors go into a queue, a journal and a graph."""


def handlers() -> Handlers:
    # A server is a neighbour: a proxy would see vectors and headers.
    os.environ.update(NO_PROXY="*", no_proxy="*")
    chroma = Chroma()
    return {"call": chroma.call, "remove": chroma.remove}


class Chroma:
    """One folder or server."""

    def __init__(self) -> None:
        self._client: ClientAPI | None = None
        self._lock: BaseFileLock | None = None

    def call(self, fields: Fields, body: bytes) -> Answer:
        """A method of the client, or of the collection ``name``, with its ``arguments``.

        ``body`` is one of ``query_embeddings``, or the ``embeddings`` of the ``ids``, in numbers of
        32 bits; embeddings that were asked for come back in the same way.
        """
        import numpy as np

        arguments, name = dict(fields["arguments"]), fields["call"]
        if body:
            wanted = "query_embeddings" if name == "query" else "embeddings"
            rows = np.frombuffer(body, dtype="<f4").reshape(len(arguments.get("ids", "1")), -1)
            arguments[wanted] = rows.copy()
            free = shutil.disk_usage(fields["folder"]).free if "folder" in fields else None
            needed = 0 if name == "query" else _RESERVE + len(body) * _WRITTEN_FOR_EACH_BYTE
            if free is not None and free < needed:
                raise Fault("full", f"{free >> 20} MB free, {_RESERVE >> 20} MB stay free")
        target: Any = self._opened(fields)
        if fields["name"]:
            target = _collection(target, fields["name"])
        found = getattr(target, name)(**arguments)
        if isinstance(found, list):  # of collections
            parts: list[Json] = [
                {"name": c.name, "id": str(c.id), "metadata": c.metadata} for c in found
            ]
            return {"found": parts}, b""
        if not isinstance(found, dict):
            return {"found": found if isinstance(found, int) else None}, b""
        raw = found.pop("embeddings", None)
        kept = ("ids", "documents", "metadatas", "distances")
        answer = {part: found[part] for part in kept if found.get(part) is not None}
        return answer, b"" if raw is None else np.asarray(raw, dtype="<f4").tobytes()

    def remove(self, fields: Fields, _body: bytes) -> Answer:
        """The folder with all that is in it, which was not opened here."""
        folder = Path(fields["folder"])
        if folder.is_symlink() or folder.is_file():
            folder.unlink()
        elif folder.exists():
            self._take(folder)
            shutil.rmtree(folder)
        return {}, b""

    def _opened(self, fields: Fields) -> ClientAPI:
        if self._client is None:
            chromadb = _imported()
            if "folder" in fields:
                self._take(Path(fields["folder"]))
            try:
                self._client = chromadb.Client(chromadb.Settings(**_settings(fields)))
            except BaseException:  # what failed to start would be handed out again
                chromadb.api.client.SharedSystemClient.clear_system_cache()
                raise
        return self._client

    def _take(self, folder: Path) -> None:
        """Two processes in one folder lose vectors without a word."""
        from filelock import FileLock, Timeout

        folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._lock = self._lock or FileLock(folder.with_name(f"{folder.name}.lock"))
        try:
            self._lock.acquire(timeout=_PATIENCE_SECONDS)
        except Timeout as error:
            raise Fault("in_use", f"another process has {folder}") from error


def _collection(client: ClientAPI, name: str) -> Any:
    from chromadb.errors import NotFoundError

    try:  # without an embedding function: the default one fetches a model
        return client.get_collection(name, embedding_function=None)
    except NotFoundError as error:
        raise Fault("broken", f"what was there is gone: {error}") from error


def _imported() -> Any:
    """What fails here, or ends the process, is no folder's fault."""
    loading("chromadb")
    try:
        import chromadb.api.rust
    except BaseException as error:  # among others what it says of an old sqlite3
        raise Fault("missing", f"{type(error).__name__}: {error}"[:500]) from error
    loading("")
    return chromadb


def _settings(fields: Fields) -> Fields:
    """What is not said here, the bot's environment and a file .env would decide."""
    common = {"anonymized_telemetry": False, "allow_reset": False}
    if "folder" in fields:
        return common | {
            "chroma_api_impl": "chromadb.api.rust.RustBindingsAPI",
            "is_persistent": True,
            "persist_directory": fields["folder"],
            "migrations": "apply",
        }
    url = urlsplit(fields["url"])
    return common | {
        "chroma_api_impl": "chromadb.api.fastapi.FastAPI",
        "chroma_server_host": fields["url"],
        "chroma_server_http_port": url.port or 80,  # wanted, and not used
        "chroma_server_ssl_enabled": url.scheme == "https",
        "chroma_server_api_default_path": "/api/v2",
        "chroma_server_headers": dict(fields["headers"]),
        "chroma_client_auth_provider": None,
    }
