"""The vector index and the embedders, of real parts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..index.child.process import Child
from ..index.chroma.store import ChromaConnection
from ..index.embedding.guarded import GuardedEmbedder
from ..index.embedding.local.folder import is_folder
from ..index.embedding.local.on_disk import ModelOnDisk
from ..index.embedding.model import PROGRAM, BundledSource, ModelEmbedder
from ..index.embedding.native_probe import NativeProbe
from ..index.embedding.ports import Embedder
from ..index.embedding.provider import ProviderEmbedder, RawEmbedder
from ..index.vector.embedded import CHROMA_TRIED, EmbeddedChroma
from ..index.vector.ports import VectorStore
from ..index.vector.server import ChromaServer
from ..index.vector.vector_store import ChromaVectorStore
from ..index.vector.worker_store import WorkerStore, worker_command
from ..index.vector.write_pace import WritePace
from ..migration.legacy_collection import LegacyCollection
from ..migration.ports import ForeignCollection
from ..models.settings import EngineSettings
from ..storage.child_process import python_program
from ..storage.state_store import SqliteStateStore
from .paths import EnginePaths

_CHROMA_RECORD = "native-chromadb.json"
_LOADING_SECONDS = 300.0


def make_vector_store(
    paths: EnginePaths,
    settings: EngineSettings,
    state: SqliteStateStore,
    worker: WorkerStore | None,
) -> VectorStore:
    """At the server that the owner named, or in a folder of ours. A name that is no address means
    neither: an index built elsewhere because of a typo is not wanted.

    Chroma over a folder lives in a process of its own, but where this Python can start none.
    """
    if settings.chroma_url == "":
        if worker is not None:
            return worker
        native = NativeProbe("chromadb", CHROMA_TRIED, paths.index / _CHROMA_RECORD)
        return ChromaVectorStore(EmbeddedChroma(paths.index / "chroma", native=native))
    server = ChromaServer(settings.chroma_url or "", settings.chroma_headers, state.installation)
    # A call to a server blocks no other call, so it may take its time.
    return ChromaVectorStore(server, pace=WritePace(long=1.0))


def chroma_worker(paths: EnginePaths, *, english: bool) -> WorkerStore | None:
    """Chroma over a folder, in a process of its own; None where this Python can start none."""
    folder = paths.index / "chroma"
    command = worker_command(folder, paths.index / _CHROMA_RECORD, "en" if english else "zh")
    return WorkerStore(command, folder=folder) if command else None


def bundled_embedder(settings: EngineSettings) -> Embedder | None:
    """None where this Python can start no other: the package may end the process it lives in."""
    if not python_program(Path(PROGRAM)):
        return None
    return _guarded(ModelEmbedder(BundledSource(), Child(PROGRAM)), settings)


def legacy_collection(settings: EngineSettings) -> ForeignCollection | None:
    """Of a pre-scope plugin, on the server that the owner named. Over a connection of its own: a
    walk holds up no query."""
    if not settings.chroma_url or not settings.chroma_collection:
        return None
    url, headers = settings.chroma_url, settings.chroma_headers
    connect = partial(ChromaConnection.at_server, url, headers)
    return LegacyCollection(connect, settings.chroma_collection)


def local_embedder(paths: EnginePaths, name: str, *, settings: EngineSettings) -> Embedder:
    """A model on disk: a folder, a folder's name below ``models/``, or a hub name.

    An ONNX export runs without torch, other folders by sentence-transformers; either in a process
    of its own. ``owner/model`` that is not on disk is fetched into ``models/`` behind the bot.
    """
    own = paths.models / name
    source = ModelOnDisk(
        str(own) if is_folder(own) else name,
        paths.models / ".hub",
        mirror=settings.model_mirror,
        program=partial(Child, PROGRAM),
    )
    return _guarded(ModelEmbedder(source, Child(PROGRAM)), settings)


def provider_embedder(raw: RawEmbedder, settings: EngineSettings) -> Embedder:
    """An embedding service, of the host or at an address."""
    return _guarded(ProviderEmbedder(raw), settings, settings.embed_write_seconds)


def _guarded(inner: Embedder, settings: EngineSettings, load: float = _LOADING_SECONDS) -> Embedder:
    query, write = settings.embed_query_seconds, settings.embed_write_seconds
    return GuardedEmbedder(
        inner,
        query_seconds=query,
        write_seconds=write,
        prepare_seconds=load,
        pace=settings.pace,
    )
