"""The vector index and the embedders, of real parts."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from ..index.child.process import Child
from ..index.chroma.vector_store import ChromaConnection, ChromaStore
from ..index.embedding.guarded import GuardedEmbedder
from ..index.embedding.local.folder import is_folder
from ..index.embedding.local.on_disk import PROGRAM, ModelOnDisk
from ..index.embedding.model import ModelEmbedder
from ..index.embedding.ports import Embedder
from ..index.embedding.provider import ProviderEmbedder, RawEmbedder
from ..index.ports import VectorStore
from ..migration.legacy_collection import LegacyCollection
from ..migration.ports import ForeignCollection
from ..models.settings import EngineSettings
from ..storage.child_process import python_program
from ..storage.state_store import SqliteStateStore
from .paths import EnginePaths


def make_vector_store(
    paths: EnginePaths, settings: EngineSettings, state: SqliteStateStore
) -> VectorStore:
    """At the server that the owner named, or in a folder of ours. A name that is no address means
    neither: an index built elsewhere because of a typo is not wanted."""
    if settings.chroma_url == "":
        return ChromaStore(ChromaConnection.in_folder(paths.index / "chroma"))
    url, headers = settings.chroma_url or "", settings.chroma_headers
    return ChromaStore(ChromaConnection.at_server(url, headers), state.installation)


def bundled_embedder(settings: EngineSettings) -> Embedder | None:
    """None where this Python can start no other: the package may end the process it lives in."""
    if not python_program(Path(PROGRAM)):
        return None
    return GuardedEmbedder(ModelEmbedder(Child(PROGRAM)), settings)


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
    disk = ModelOnDisk(
        str(own) if is_folder(own) else name,
        paths.models / ".hub",
        mirror=settings.model_mirror,
    )
    return GuardedEmbedder(ModelEmbedder(Child(PROGRAM), disk), settings)


def provider_embedder(raw: RawEmbedder, settings: EngineSettings) -> Embedder:
    """An embedding service, of the host or at an address."""
    return GuardedEmbedder(ProviderEmbedder(raw), settings, settings.embed_write_seconds)
