"""Composition root: builds an ``Engine`` from real parts."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ..consolidation.backup_files import DailyBackups
from ..consolidation.sleep_store import SqliteSleepStore
from ..errors import TransferFailed
from ..index.embedding.bundled.bundled import BundledEmbedder
from ..index.embedding.checked import CheckedEmbedder
from ..index.embedding.download.model_download import fetch_command
from ..index.embedding.encoder import Open, probed_libraries
from ..index.embedding.local.local_model import LocalModelEmbedder
from ..index.embedding.local.model_folder import first_model, is_folder
from ..index.embedding.native_probe import NativeProbe
from ..index.embedding.ports import Embedder
from ..index.embedding.provider import ProviderEmbedder, RawEmbedder
from ..index.embedding.remote_model import RemoteModel
from ..index.embedding_cache import SqliteVectorCache
from ..index.lexical.lexical_index import SqliteLexicalIndex
from ..index.lexical.lexical_scan import LexicalScan
from ..index.manifest import JsonManifest
from ..index.ports import VectorStore
from ..index.vector.embedded import CHROMA_TRIED, EmbeddedChroma
from ..index.vector.server import ChromaServer
from ..index.vector.vector_store import ChromaVectorStore
from ..index.vector.worker_store import WorkerStore, worker_command
from ..index.vector.write_pace import WritePace
from ..migration.adoption_staging import AdoptionStaging
from ..migration.legacy_collection import LegacyCollection
from ..migration.legacy_stores import PluginStores
from ..migration.migration_store import SqliteMigrationStore
from ..migration.ports import ForeignCollection
from ..models.notices import Notice
from ..models.settings import EngineSettings
from ..models.transfer import Header, StoreExported, StoreRestored
from ..recall.ports import Reranker
from ..recall.trust_file import JsonTrustBook
from ..reflection.chat_port import ChatModel
from ..reflection.loop_facts import SqliteLoopFacts
from ..reflection.turn_store import SqliteTurnStore
from ..remember.corrected_statements import CorrectedStatements
from ..remember.private_data import PrivateData
from ..runtime.identifiers import make_id
from ..scopes.pause_mark_file import ForgetfulPauseMark, PauseMarkFile
from ..service.engine import Engine
from ..service.engine_parts import EngineParts
from ..storage.directory_lock import DirectoryLock
from ..storage.formats.index_format import MANIFEST, IndexFormat
from ..storage.formats.loop_schema import FORMAT as LOOP_FORMAT
from ..storage.formats.loop_schema import STEPS as LOOP_STEPS
from ..storage.formats.migration_schema import FORMAT as MIGRATION_FORMAT
from ..storage.formats.migration_schema import STEPS as MIGRATION_STEPS
from ..storage.formats.state_format import StateFormat
from ..storage.formats.vault_format import FORMAT as VAULT_FORMAT
from ..storage.formats.vault_format import VaultFormat
from ..storage.local_zone import MACHINE_ZONE
from ..storage.loop_file import ForgetfulLoopFile, SqliteLoopFile
from ..storage.private_folder import PrivateFolder
from ..storage.state_port import StateStore
from ..storage.state_store import ForgetfulState, SqliteStateStore
from ..sync.watcher import FolderWatcher
from ..text.tokenizer import Tokenizer
from ..transfer.line_files import LineFile, TransferFolders, named_in, write_lines
from ..transfer.rules.format import VERSION
from ..transfer.store_transfer import Restoring, StoreExport
from ..transfer.store_tree import StoreTree
from ..vault.ledger import SqliteLedger
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.markdown_notes import MarkdownNotes
from ..vault.scope_pages import ScopePagesOnDisk
from .assembly import assemble

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
    def neighbours(self) -> Path:
        """Where other plugins have their data folders, if this one lies among them."""
        return self.data.parent

    @property
    def backups(self) -> Path:
        """What upgrades changed, as it was before: nothing of that is ever thrown away. Beside it
        the nightly ones."""
        return self.data / "backups"

    @property
    def daily_backups(self) -> Path:
        """One file a night; the newest are kept."""
        return self.backups / "daily"


def local_now() -> datetime:
    """Now, in the machine's own time zone, which knows how its clock stood on other days."""
    return datetime.now(MACHINE_ZONE)


def build_engine(
    paths: EnginePaths,
    settings: EngineSettings,
    *,
    on_notice: Callable[[Notice], None] | None = None,
    clock: Callable[[], datetime] = local_now,
    version: str = "",
    reranker: Reranker | None = None,
    remembers: bool = True,
    chat: ChatModel | None = None,
    accounts: Callable[[], frozenset[str] | None] = lambda: None,
    is_admin: Callable[[str], bool] = lambda _: False,
    carried_settings: Callable[[], Mapping[str, object]] = dict,
) -> Engine:
    """An engine over real parts, not opened yet. Touches neither disk nor heavy packages.

    ``version`` is the plugin's: what it writes first, it signs. ``remembers`` is False for one that
    knows nothing of the bot's conversations: what the state remembers of them stays as it is.
    ``chat`` reads finished turns; without it nothing is learned from them. ``accounts`` tells which
    bot accounts exist now, None where it cannot.
    ``is_admin`` tells by a person's id who is one now. ``carried_settings`` are the owner's, for
    backups to carry.
    """
    state = paths.state / "state.sqlite"
    migration = paths.state / "migration.sqlite"
    kept = (SqliteStateStore if remembers else ForgetfulState)(state, version=version)
    folder = paths.index / "chroma"
    command = worker_command(folder, _chroma_record(paths))
    worker = WorkerStore(command, folder=folder) if command else None
    store = _vector_store(paths, settings, kept, worker)
    loop = paths.state / "loop.sqlite"
    loop_file = (SqliteLoopFile if remembers else ForgetfulLoopFile)(loop, version=version)
    return assemble(
        EngineParts(
            vault=MarkdownVault(
                paths.memory,
                SqliteLedger(paths.state / "vault.sqlite"),
                make_id=partial(make_id, "m"),
            ),
            watcher=FolderWatcher(paths.memory),
            notes=MarkdownNotes(paths.memory),
            private=[PrivateFolder(folder) for folder in paths.owned],
            private_data=PrivateData(),
            state=kept,
            store=store,
            manifest=JsonManifest(paths.index / MANIFEST),
            cache=SqliteVectorCache(paths.index / "embeddings.sqlite"),
            words=SqliteLexicalIndex(
                paths.index / "lexical.sqlite", Tokenizer(cache=paths.index / "dictionary.bin")
            ),
            trust=JsonTrustBook(paths.index / "trust.json"),
            scanner=LexicalScan(Tokenizer(use_jieba=False)),
            locks=[DirectoryLock(folder) for folder in paths.owned],
            transfers=TransferFolders(paths.data),
            migrations=SqliteMigrationStore(migration, version=version),
            loop_file=loop_file,
            turns=SqliteTurnStore(loop_file),
            loop_book=SqliteLoopFacts(loop_file),
            pause_marks=PauseMarkFile(paths.memory) if remembers else ForgetfulPauseMark(),
            sleep_store=SqliteSleepStore(loop_file),
            pages=ScopePagesOnDisk(paths.memory),
            backups=DailyBackups(paths.daily_backups, paths.memory, vault_format=VAULT_FORMAT),
            legacy=_legacy_collection(settings),
            others=PluginStores(paths.neighbours, paths.state / "adoption-copies"),
            staging=AdoptionStaging(paths.state / "adoption"),
            formats=[
                VaultFormat(paths.memory, paths.backups, version=version),
                StateFormat(state, paths.backups, version=version),
                StateFormat(
                    migration,
                    paths.backups,
                    version=version,
                    known=MIGRATION_FORMAT,
                    steps=MIGRATION_STEPS,
                ),
                StateFormat(
                    loop, paths.backups, version=version, known=LOOP_FORMAT, steps=LOOP_STEPS
                ),
                IndexFormat(paths.index),
            ],
            bundled=None if worker is None else _bundled(worker, settings),
            local=partial(local_embedder, paths, settings=settings, worker=worker),
            reranker=reranker,
            chat=chat,
            accounts=accounts,
            is_admin=is_admin,
            version=version,
            carried_settings=carried_settings,
        ),
        settings,
        on_notice=on_notice,
        clock=clock,
    )


@contextmanager
def owned(paths: EnginePaths, *, version: str = "") -> Iterator[None]:
    """Sole use of a store whose formats are of this version, for whoever works on its files.

    Raises DirectoryInUse while a bot has it open, FormatNewer, UpgradeFailed.
    """
    locks = [DirectoryLock(folder) for folder in paths.owned]
    try:
        for lock in locks:
            lock.acquire()
        for folder in paths.owned:
            PrivateFolder(folder).tighten()
        vault = VaultFormat(paths.memory, paths.backups, version=version)
        vault.check()
        vault.upgrade()
        yield
    finally:
        for lock in locks:
            lock.release()


def export_store(
    paths: EnginePaths,
    target: Path,
    *,
    scopes: Collection[str] | None = None,
    now: datetime,
    version: str = "",
    settings: Mapping[str, object] | None = None,
) -> StoreExported:
    """A whole store, or some of its scopes, in a new file; with the owner's ``settings`` where it
    is whole. Blocks. Raises TransferFailed."""
    with closing(_whole_store(paths)) as store:
        named = tuple(name for name in store.scopes() if scopes is None or name in scopes)
        header = Header(VERSION, version, now, named, scopes is None, VAULT_FORMAT)
        carried = settings if settings and scopes is None else {}
        export = StoreExport(store, header, scopes, carried)
        write_lines(target, export.lines())
        return export.done()


def restore_store(
    paths: EnginePaths,
    source: Path,
    *,
    scopes: Collection[str] | None = None,
    anyway: bool = False,
    dry: bool = False,
    progress: Callable[[int], None] = lambda _: None,
) -> StoreRestored:
    """What a file holds, back where it was, or of these scopes alone. Blocks. ``progress`` hears
    how many lines were read. What was corrected since it was said stays out, unless it is wanted
    ``anyway``. ``dry`` tells what would be done, by doing it to a copy: a bot may have the store
    open. Raises TransferFailed."""
    corrected = None if anyway else _corrected_statements(paths)
    with (
        closing(LineFile(source)) as lines,
        _copy_of(paths) if dry else nullcontext(paths) as written,
        closing(_whole_store(written)) as store,
    ):
        restoring = Restoring(store, only=scopes, corrected=corrected)
        return restoring.run(lines, vault_format=VAULT_FORMAT, progress=progress)


def _corrected_statements(paths: EnginePaths) -> CorrectedStatements:
    with closing(ForgetfulState(paths.state / "state.sqlite")) as state:
        state.open()
        corrected = CorrectedStatements(state, local_now)
        corrected.load()
    return corrected


def open_lines(source: Path) -> LineFile:
    """A file to be imported. Raises TransferFailed."""
    return LineFile(source)


def find_backup(paths: EnginePaths, name: str) -> Path:
    """The file of that name in ``imports/``, ``exports/`` or among the nightly backups, the first
    that has it. Raises TransferFailed."""
    for folder in (paths.data / "imports", paths.data / "exports", paths.daily_backups):
        with suppress(TransferFailed):
            return named_in(folder, name)
    return named_in(paths.data / "imports", name)


@contextmanager
def _copy_of(paths: EnginePaths) -> Iterator[EnginePaths]:
    """The Markdown files alone, for as long as they are needed."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        copy = EnginePaths.under(Path(folder))
        if paths.memory.is_dir():
            shutil.copytree(
                paths.memory,
                copy.memory,
                symlinks=True,
                ignore=_no_markdown,
                copy_function=_copy_if_it_can_be_read,
            )
        yield copy


def _no_markdown(folder: str, names: list[str]) -> list[str]:
    return [n for n in names if not n.lower().endswith(".md") and not Path(folder, n).is_dir()]


def _copy_if_it_can_be_read(source: str, target: str) -> None:
    with suppress(OSError):
        shutil.copy2(source, target)


def _whole_store(paths: EnginePaths) -> StoreTree:
    return StoreTree(paths.memory, SqliteLedger(paths.state / "vault.sqlite"))


def _vector_store(
    paths: EnginePaths, settings: EngineSettings, state: StateStore, worker: WorkerStore | None
) -> VectorStore:
    """At the server that the owner named, or in a folder of ours. A name that is no address means
    neither: an index that is built elsewhere because of a typo would be nobody's wish.

    Chroma over a folder lives in a process of its own, but where this Python can start none. The
    models on this machine live in that process, too, or beside a server in one where nothing else
    is asked: they may end the process that they live in.
    """
    if settings.chroma_url == "":
        if worker is not None:
            return worker
        native = NativeProbe("chromadb", CHROMA_TRIED, _chroma_record(paths))
        return ChromaVectorStore(EmbeddedChroma(paths.index / "chroma", native=native))
    server = ChromaServer(settings.chroma_url or "", settings.chroma_headers, state.installation)
    # A call to a server holds up nobody, so it may take its time.
    return ChromaVectorStore(server, pace=WritePace(long=1.0))


def _chroma_record(paths: EnginePaths) -> Path:
    return paths.index / "native-chromadb.json"


def _bundled(worker: WorkerStore, settings: EngineSettings) -> Embedder:
    index = worker if settings.chroma_url == "" else None
    return _checked(BundledEmbedder(worker, index=index), settings)


def _legacy_collection(settings: EngineSettings) -> ForeignCollection | None:
    """Of a pre-scope plugin, on the server that the owner named. Over a connection of its own: a
    walk holds up no query."""
    if not settings.chroma_url or not settings.chroma_collection:
        return None
    server = ChromaServer(settings.chroma_url, settings.chroma_headers, lambda: "nobody")
    return LegacyCollection(server, settings.chroma_collection)


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
    return _checked(inner, settings)


def model_on_disk(paths: EnginePaths, *, torch: bool) -> Path | None:
    """The first model below ``models/`` that can be run; without ``torch``, an ONNX export."""
    return first_model(paths.models, torch=torch)


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
