"""Introduces services to components. The only module that knows both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from .components.chroma.embedded import CHROMA_TRIED, EmbeddedChroma
from .components.chroma.pace import WritePace
from .components.chroma.server import ChromaServer
from .components.chroma.worker_store import WorkerStore, worker_command
from .components.directory_lock import DirectoryLock
from .components.embedding.checked import CheckedEmbedder
from .components.embedding.lexical import LexicalEmbedder
from .components.embedding.provider import ProviderEmbedder, RawEmbedder
from .components.embedding.sentence_transformer import (
    TORCH_TRIED,
    SentenceTransformerEmbedder,
)
from .components.embedding_cache import SqliteVectorCache
from .components.formats.index_format import MANIFEST, IndexFormat
from .components.formats.state_format import StateFormat
from .components.formats.vault_format import VaultFormat
from .components.ledger import SqliteLedger
from .components.lexical_index import SqliteLexicalIndex
from .components.manifest import JsonManifest
from .components.native_probe import NativeProbe
from .components.notes import MarkdownNotes
from .components.private_data import PrivateData
from .components.state_store import SqliteStateStore
from .components.tokenizer import Tokenizer
from .components.trust_file import JsonTrustBook
from .components.vault import MarkdownVault
from .components.vector_store import ChromaVectorStore
from .components.watcher import FolderWatcher
from .models.notices import Notice
from .models.settings import EngineSettings
from .ports import Embedder, Reranker, StateStore, VectorStore
from .service.engine import Engine, EngineParts
from .service.identifiers import make_id

_DOWNLOAD_SECONDS = 3600.0
_LOADING_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class EnginePaths:
    """Where the engine keeps things. ``memory`` may lie elsewhere; the index stays."""

    data: Path
    memory: Path

    @classmethod
    def under(cls, data: Path, memory_root: Path | None = None) -> EnginePaths:
        """The layout below a data folder."""
        return cls(data, memory_root or data / "memory")

    @property
    def owned(self) -> tuple[Path, ...]:
        """The folders that one process alone may use, without those that lie in another."""
        data, memory = self.data.resolve(), self.memory.resolve()
        return (data,) if memory.is_relative_to(data) else (data, memory)

    @property
    def index(self) -> Path:
        """Delete it at will."""
        return self.data / "index"

    @property
    def models(self) -> Path:
        """Local models, one folder each."""
        return self.data / "models"

    @property
    def state(self) -> Path:
        """Durable, small."""
        return self.data / "state"

    @property
    def backups(self) -> Path:
        """What upgrades changed, as it was before. Nothing here is ever thrown away."""
        return self.data / "backups"


def local_now() -> datetime:
    """Now, in the machine's own time zone."""
    return datetime.now().astimezone()


def build_engine(
    paths: EnginePaths,
    settings: EngineSettings,
    *,
    on_notice: Callable[[Notice], None] | None = None,
    clock: Callable[[], datetime] = local_now,
    version: str = "",
    reranker: Reranker | None = None,
) -> Engine:
    """An engine over real parts, not opened yet. Touches neither disk nor heavy packages.

    ``version`` is the plugin's: what it writes first, it signs.
    """
    state = paths.state / "state.sqlite"
    kept = SqliteStateStore(state, version=version)
    return Engine(
        EngineParts(
            vault=MarkdownVault(
                paths.memory,
                SqliteLedger(paths.state / "vault.sqlite"),
                make_id=partial(make_id, "m"),
            ),
            watcher=FolderWatcher(paths.memory),
            notes=MarkdownNotes(paths.memory),
            private_data=PrivateData(),
            state=kept,
            store=_vector_store(paths, settings, kept),
            manifest=JsonManifest(paths.index / MANIFEST),
            cache=SqliteVectorCache(paths.index / "embeddings.sqlite"),
            words=SqliteLexicalIndex(
                paths.index / "lexical.sqlite", Tokenizer(cache=paths.index / "dictionary.bin")
            ),
            trust=JsonTrustBook(paths.index / "trust.json"),
            # Scans start before any dictionary is loaded, so theirs goes without one.
            scanner=LexicalEmbedder(Tokenizer(use_jieba=False)),
            locks=[DirectoryLock(folder) for folder in paths.owned],
            formats=[
                VaultFormat(paths.memory, paths.backups, version=version),
                StateFormat(state, paths.backups, version=version),
                IndexFormat(paths.index),
            ],
            reranker=reranker,
        ),
        settings,
        on_notice=on_notice,
        clock=clock,
    )


def _vector_store(paths: EnginePaths, settings: EngineSettings, state: StateStore) -> VectorStore:
    """At the server that the owner named, or in a folder of ours. A name that is no address means
    neither: an index that is built elsewhere because of a typo would be nobody's wish.

    Chroma over a folder lives in a process of its own, but where this Python can start none.
    """
    if settings.chroma_url == "":
        folder, record = paths.index / "chroma", paths.index / "native-chromadb.json"
        if command := worker_command(folder, record):
            return WorkerStore(command)
        native = NativeProbe("chromadb", CHROMA_TRIED, record)
        return ChromaVectorStore(EmbeddedChroma(folder, native=native))
    server = ChromaServer(settings.chroma_url or "", settings.chroma_headers, state.installation)
    # A call to a server holds up nobody, so it may take its time.
    return ChromaVectorStore(server, pace=WritePace(long=1.0))


def lexical_embedder(paths: EnginePaths | None = None) -> Embedder:
    """The built-in embedder: no model, no download. With ``paths`` it digests its dictionary once,
    not at every start."""
    cache = None if paths is None else paths.index / "dictionary.bin"
    return LexicalEmbedder(Tokenizer(cache=cache))


def local_embedder(paths: EnginePaths, name: str, settings: EngineSettings) -> Embedder:
    """A sentence-transformers model: a folder, a folder's name below ``models/``, or a hub name.

    ``owner/model`` that is not on disk is fetched into ``models/`` behind the bot. A bare name is
    not: it may be the id of a service that is gone.
    """
    own = paths.models / name
    inner = SentenceTransformerEmbedder(
        str(own) if own.is_dir() else name,
        download_seconds=_DOWNLOAD_SECONDS if "/" in name else 0.0,
        cache_folder=paths.models / ".hub",
        native=NativeProbe("torch", TORCH_TRIED, paths.index / "native-torch.json"),
    )
    return _checked(inner, settings)


def provider_embedder(raw: RawEmbedder, settings: EngineSettings) -> Embedder:
    """An embedding service of the host."""
    return _checked(ProviderEmbedder(raw), settings, prepare_seconds=settings.embed_write_seconds)


def _checked(
    inner: Embedder, settings: EngineSettings, *, prepare_seconds: float = _LOADING_SECONDS
) -> Embedder:
    return CheckedEmbedder(
        inner,
        query_seconds=settings.embed_query_seconds,
        write_seconds=settings.embed_write_seconds,
        prepare_seconds=prepare_seconds,
    )
