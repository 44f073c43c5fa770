"""The vector index and the embedders, of real parts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..index.chroma.store import ChromaConnection
from ..index.embedding.bundled.bundled import BundledEmbedder
from ..index.embedding.download.model_download import fetch_command
from ..index.embedding.encoder import Open, probed_libraries
from ..index.embedding.guarded import GuardedEmbedder
from ..index.embedding.local.local_model import LocalModelEmbedder
from ..index.embedding.local.model_folder import is_folder
from ..index.embedding.native_probe import NativeProbe
from ..index.embedding.ports import Embedder
from ..index.embedding.provider import ProviderEmbedder, RawEmbedder
from ..index.embedding.remote_model import RemoteModel
from ..index.vector.embedded import CHROMA_TRIED, EmbeddedChroma
from ..index.vector.ports import VectorStore
from ..index.vector.server import ChromaServer
from ..index.vector.vector_store import ChromaVectorStore
from ..index.vector.worker_store import WorkerStore, worker_command
from ..index.vector.write_pace import WritePace
from ..migration.legacy_collection import LegacyCollection
from ..migration.ports import ForeignCollection
from ..models.settings import EngineSettings
from ..storage.state_store import SqliteStateStore
from .paths import EnginePaths

_CHROMA_RECORD = "native-chromadb.json"
_DOWNLOAD_SECONDS = 3600.0
_LOADING_SECONDS = 300.0


def make_vector_store(
    paths: EnginePaths,
    settings: EngineSettings,
    state: SqliteStateStore,
    worker: WorkerStore | None,
) -> VectorStore:
    """At the server that the owner named, or in a folder of ours. A name that is no address means
    neither: an index built elsewhere because of a typo is not wanted.

    Chroma over a folder lives in a process of its own, but where this Python can start none. The
    models on this machine live in that process, too, or beside a server in one where nothing else
    is asked: they may end the process that they live in.
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
    """Chroma over a folder and models, in a process of their own; None where this Python can start
    none."""
    folder = paths.index / "chroma"
    command = worker_command(folder, paths.index / _CHROMA_RECORD, "en" if english else "zh")
    return WorkerStore(command, folder=folder) if command else None


def bundled_embedder(worker: WorkerStore, settings: EngineSettings) -> Embedder:
    index = worker if settings.chroma_url == "" else None
    return _guarded(BundledEmbedder(worker, index=index), settings)


def legacy_collection(settings: EngineSettings) -> ForeignCollection | None:
    """Of a pre-scope plugin, on the server that the owner named. Over a connection of its own: a
    walk holds up no query."""
    if not settings.chroma_url or not settings.chroma_collection:
        return None
    url, headers = settings.chroma_url, settings.chroma_headers
    connect = partial(ChromaConnection.at_server, url, headers)
    return LegacyCollection(connect, settings.chroma_collection)


def local_embedder(
    paths: EnginePaths, name: str, *, settings: EngineSettings, worker: WorkerStore | None
) -> Embedder:
    """A model on disk: a folder, a folder's name below ``models/``, or a hub name.

    An ONNX export runs without torch, other folders by sentence-transformers; either in the
    ``worker``, and in the bot's own process where there can be none. ``owner/model`` that is not on
    disk is fetched into ``models/`` behind the bot. A bare name is not: it may be the id of a
    service that is gone.
    """
    own, mirror = paths.models / name, settings.model_mirror
    libraries: Sequence[Open] = probed_libraries(paths.index)
    end: Callable[[], None] | None = None
    if worker is not None:
        libraries = [partial(RemoteModel, worker)]
        end = None if settings.chroma_url == "" else worker.close  # else it ends with the index
    inner = LocalModelEmbedder(
        str(own) if is_folder(own) else name,
        download_seconds=_DOWNLOAD_SECONDS if "/" in name and mirror is not None else 0.0,
        cache_folder=paths.models / ".hub",
        fetch=partial(fetch_command, mirror=mirror or ""),
        libraries=libraries,
        end=end,
    )
    return _guarded(inner, settings)


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
