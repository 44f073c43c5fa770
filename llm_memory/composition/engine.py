"""Builds an ``Engine`` from real parts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from ..consolidation.backup_files import DailyBackups
from ..consolidation.sleep_store import SqliteSleepStore
from ..decisions.shared_files import SharedFiles
from ..index.embedding_cache import SqliteVectorCache
from ..index.lexical.lexical_index import SqliteLexicalIndex
from ..index.lexical_scan import LexicalScan
from ..index.manifest import JsonManifest
from ..index.vector.worker_store import WorkerStore, worker_command
from ..log import logger
from ..migration.adoption_staging import AdoptionStaging
from ..migration.legacy_stores import PluginStores
from ..migration.migration_store import SqliteMigrationStore
from ..models.settings import EngineSettings
from ..models.status import Notice
from ..recall.embedder_trust import JsonTrustBook
from ..recall.reranking import Reranker
from ..recall.weights_file import shipped
from ..reflection.chat_port import ChatModel
from ..reflection.turn_store import SqliteTurnStore
from ..remember.draft_checks import PrivateData
from ..remember.vouching import HomeVouchers
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..service.engine import Engine
from ..service.engine_parts import EngineParts, no_prompt
from ..service.rooms import EngineRooms
from ..soul.soul_files import SoulFiles
from ..storage.directory_lock import DirectoryLock
from ..storage.formats.loop_schema import LOOP
from ..storage.formats.migration_schema import MIGRATION
from ..storage.formats.state_schema import STATE
from ..storage.formats.store_formats import MANIFEST, StoreFormats
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.loop_file import ForgetfulLoopFile, SqliteLoopFile
from ..storage.private_folder import PrivateFolder
from ..storage.state_store import ForgetfulState, SqliteStateStore
from ..storage.store_files import StoreFiles
from ..sync.watcher import FolderWatcher
from ..text.tokenizer import Tokenizer
from ..texts import Spoken
from ..transfer.line_files import TransferFolders
from ..vault.ledger import SqliteLedger
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.markdown_notes import MarkdownNotes
from ..vault.pages import PagesOnDisk
from .indexes import (
    bundled_embedder,
    chroma_record,
    legacy_collection,
    local_embedder,
    make_vector_store,
)
from .paths import EnginePaths, local_now


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
    persona_prompt: Callable[[str], Awaitable[str]] = no_prompt,
    carried_settings: Callable[[], Mapping[str, object]] = dict,
    replacing: Mapping[str, Any] | None = None,
) -> Engine:
    """An engine over real parts, not opened yet. Touches neither disk nor heavy packages. From now
    on the log of all engines is in the language of these settings.

    ``version`` is the plugin's: what it writes first, it signs. ``remembers`` is False for one that
    knows nothing of the bot's conversations: what the state remembers of them stays as it is.
    ``chat`` reads finished turns; without it nothing is learned from them. ``accounts`` tells which
    bot accounts exist now, None where it cannot.
    ``is_admin`` tells by a person's id who is one now. ``persona_prompt`` gives a persona's own
    prompt by its folder. ``carried_settings`` are the owner's, for
    backups to carry. ``replacing`` puts other parts, by their names in ``EngineParts``, in the
    places of real ones: a test's store, or its watcher of files.
    """
    language: Spoken = "en" if settings.loop.english else "zh"
    logger.speak(language)
    state = paths.state / "state.sqlite"
    migration = paths.state / "migration.sqlite"
    kept = (SqliteStateStore if remembers else ForgetfulState)(state, version=version)
    folder = paths.index / "chroma"
    command = worker_command(folder, chroma_record(paths), language)
    worker = WorkerStore(command, folder=folder) if command else None
    store = make_vector_store(paths, settings, kept, worker)
    loop = paths.state / "loop.sqlite"
    loop_file = (SqliteLoopFile if remembers else ForgetfulLoopFile)(loop, version=version)
    parts = EngineParts(
        vault=MarkdownVault(
            paths.memory,
            SqliteLedger(paths.state / "vault.sqlite"),
        ),
        watcher=FolderWatcher(paths.memory),
        notes=MarkdownNotes(paths.memory, reads_root=not paths.owns_memory),
        private=[PrivateFolder(folder) for folder in paths.owned],
        private_data=PrivateData(),
        state=kept,
        store=store,
        manifest=JsonManifest(paths.index / MANIFEST),
        cache=SqliteVectorCache(paths.vectors),
        words=SqliteLexicalIndex(
            paths.index / "lexical.sqlite", Tokenizer(cache=paths.index / "dictionary.bin")
        ),
        trust=JsonTrustBook(paths.index / "trust.json"),
        weights=shipped(),
        scanner=LexicalScan(Tokenizer(use_jieba=False)),
        locks=[DirectoryLock(folder) for folder in paths.owned],
        transfers=TransferFolders(paths.data),
        migrations=SqliteMigrationStore(migration, version=version),
        loop_file=loop_file,
        turns=SqliteTurnStore(loop_file),
        loop_book=SqliteLoopFacts(loop_file),
        pauses_folder=paths.memory,
        sleep_store=SqliteSleepStore(loop_file),
        pages=PagesOnDisk(paths.memory),
        leases=paths.leases,
        shared=SharedFiles(paths.memory, english=settings.loop.english),
        soul_files=SoulFiles(paths.memory),
        backups=DailyBackups(paths.daily_backups, paths.memory),
        files=StoreFiles(paths.data, paths.memory),
        legacy=legacy_collection(settings),
        others=PluginStores(paths.neighbours, paths.state / "adoption-copies"),
        staging=AdoptionStaging(paths.state / "adoption"),
        formats=StoreFormats(
            paths.memory,
            version,
            index=paths.index,
            databases={state: STATE, migration: MIGRATION, loop: LOOP},
        ),
        bundled=None if worker is None else bundled_embedder(worker, settings),
        local=partial(local_embedder, paths, settings=settings, worker=worker),
        reranker=reranker,
        chat=chat,
        accounts=accounts,
        is_admin=is_admin,
        vouchers=None if paths.owns_memory else HomeVouchers(paths.state),
        version=version,
        persona_prompt=persona_prompt,
        carried_settings=carried_settings,
    )
    parts = replace(parts, **(replacing or {}))
    return Engine(EngineRooms(parts, settings, Lifespan(), NoticeBoard(on_notice), clock))
