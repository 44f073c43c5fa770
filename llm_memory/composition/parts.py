"""What an engine is made of, and who asks whom: a row for each part."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial

from ..catalogue.acquaintances import Acquaintances
from ..catalogue.catalogue import Catalogue, entry_key
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.unread_turns import UnreadTurns
from ..consolidation.archive_step import ArchiveStep
from ..consolidation.backup_files import DailyBackups
from ..consolidation.consolidation_service import ConsolidationService
from ..consolidation.day_journals import DayJournals
from ..consolidation.decay_step import DecayStep
from ..consolidation.merging import MergeStep
from ..consolidation.models import Postponed
from ..consolidation.nightly_backup import NightlyBackup
from ..consolidation.overviews import Overviews
from ..consolidation.purge_remnants import PurgeRemnants
from ..consolidation.question_step import QuestionStep
from ..consolidation.sleep_store import SqliteSleepStore
from ..decisions.recorder import Recorder
from ..decisions.shared_files import SharedFiles
from ..index.embedding_cache import SqliteVectorCache
from ..index.indexing_service import IndexingService
from ..index.lexical.lexical_index import SqliteLexicalIndex
from ..index.lexical_port import LexicalIndex
from ..index.lexical_scan import LexicalScan
from ..index.lexical_service import LexicalService
from ..index.manifest import JsonManifest
from ..index.passages import Passages
from ..index.pending_records import PendingRecords
from ..index.vector.worker_store import WorkerStore, worker_command
from ..migration.adoption import Adoption
from ..migration.adoption_staging import AdoptionStaging
from ..migration.batch_intake import BatchIntake
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..migration.holdings import Holdings
from ..migration.legacy_port import LegacyStores
from ..migration.legacy_stores import PluginStores
from ..migration.migration_store import SqliteMigrationStore
from ..migration.migrations import Migrations
from ..migration.ports import ForeignCollection
from ..migration.record_walker import RecordWalker
from ..migration.scope_migration import ScopeMigration
from ..migration.source import Source
from ..models.settings import EngineSettings
from ..models.status import IndexState
from ..models.turns import Feedback, FeedbackReport, Ticket
from ..primer.changed_rules import ChangedRules
from ..primer.primer_service import PrimerService
from ..recall.embedder_trust import EmbedderTrust, JsonTrustBook
from ..recall.find import CandidateFinder
from ..recall.memory_manager import MemoryManager
from ..recall.reranking import Reranker, Reranking
from ..recall.use_counts import UseCounts
from ..recall.weights import shipped
from ..reflection.batch_reader import BatchReader
from ..reflection.batches import Batches
from ..reflection.chat_port import ChatModel
from ..reflection.feedback_applier import FeedbackApplier
from ..reflection.model_calls import ModelCalls
from ..reflection.model_histories import ModelHistories
from ..reflection.reflection_service import ReflectionService
from ..reflection.result_applier import ResultApplier
from ..reflection.token_budget import TokenBudget
from ..reflection.turn_queue import TurnQueue
from ..reflection.turn_store import SqliteTurnStore
from ..reflection.unread_follower import UnreadFollower
from ..remember.correction_follower import CorrectionFollower
from ..remember.deeds import Deeds
from ..remember.draft_checks import DraftChecks, PrivateData
from ..remember.intake import Intake
from ..remember.memory_handlers import MemoryHandlers
from ..remember.near_duplicates import NearDuplicates
from ..remember.rules.private import Finder, without_private
from ..remember.vouching import HomeVouchers
from ..roles.role_notes import RoleNotes
from ..runtime.cooperative import unhurried
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.access import Gate
from ..scopes.origins import Origins
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import ScopeBook
from ..service.bylines import Bylines
from ..service.cognitive_service import CognitiveService
from ..service.conversations import Conversations
from ..service.scope_admin import ScopeAdmin
from ..service.souls import SoulCalls, Souls
from ..service.transcripts import Transcripts
from ..soul.governance import Governance
from ..soul.probe_verdicts import SqliteProbeVerdicts
from ..soul.rules.soul_text import seed
from ..soul.soul_files import SoulFiles
from ..soul.style_counts import SqliteStyleCounts
from ..storage.directory_lock import DirectoryLock
from ..storage.formats.loop_schema import LOOP
from ..storage.formats.migration_schema import MIGRATION
from ..storage.formats.state_schema import STATE
from ..storage.formats.store_formats import MANIFEST, StoreFormats
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.loop_file import ForgetfulLoopFile, SqliteLoopFile
from ..storage.private_folder import PrivateFolder
from ..storage.record_intents import RecordIntents
from ..storage.soul_heads import SoulHeads
from ..storage.state_store import ForgetfulState, SqliteStateStore
from ..storage.store_files import StoreFiles
from ..sync.follower import VaultFollower
from ..sync.ports import Watcher
from ..sync.reconciler import Reconciler
from ..sync.watcher import FolderWatcher
from ..tasks.task_list import TaskList
from ..text.tokenizer import Tokenizer
from ..texts import Spoken
from ..transfer.conversation_transfer import Transfer
from ..transfer.line_files import TransferFolders
from ..vault.ledger import SqliteLedger
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.markdown_notes import MarkdownNotes
from ..vault.notes.note_book import NoteBook
from ..vault.notes.root_notes import RootNotices
from ..vault.pages import PagesOnDisk
from .indexes import (
    bundled_embedder,
    chroma_record,
    legacy_collection,
    local_embedder,
    make_vector_store,
)
from .paths import EnginePaths, local_now


async def no_prompt(_: str) -> str:
    """For a store without personas."""
    return ""


@dataclass(eq=False)
class Given:
    """What an engine is told from outside: see ``build_engine``."""

    paths: EnginePaths
    settings: EngineSettings
    notices: NoticeBoard = field(default_factory=NoticeBoard)
    clock: Callable[[], datetime] = local_now
    version: str = ""
    reranker: Reranker | None = None
    remembers: bool = True
    chat: ChatModel | None = None
    accounts: Callable[[], frozenset[str] | None] = lambda: None
    is_admin: Callable[[str], bool] = lambda _: False
    persona_prompt: Callable[[str], Awaitable[str]] = no_prompt
    carried_settings: Callable[[], Mapping[str, object]] = dict
    life: Lifespan = field(default_factory=Lifespan)

    @property
    def english(self) -> bool:
        """The language of what the store writes by itself."""
        return self.settings.loop.english


def part[T](make: Callable[[Parts], T]) -> cached_property[T]:
    """A row: made of the others when it is first asked for."""
    return cached_property(make)


class Parts(Given):
    """What an engine is made of: nothing is made before it is asked for, and nothing is opened.

    A row stands below those that it is made of; what goes the other way is a method. Tests put
    others in the places of parts, by the names of the rows: ``build_engine(replacing=)``.
    """

    # Files, and what watches them.
    locks = part(lambda p: [DirectoryLock(folder) for folder in p.paths.owned])
    private = part(lambda p: [PrivateFolder(folder) for folder in p.paths.owned])
    files = part(lambda p: StoreFiles(p.paths.data, p.paths.memory))
    vault = part(
        lambda p: MarkdownVault(p.paths.memory, SqliteLedger(p.paths.state / "vault.sqlite"))
    )
    watcher: cached_property[Watcher] = part(lambda p: FolderWatcher(p.paths.memory))
    notes = part(lambda p: MarkdownNotes(p.paths.memory, reads_root=not p.paths.owns_memory))
    pages = part(lambda p: PagesOnDisk(p.paths.memory))
    shared = part(lambda p: SharedFiles(p.paths.memory, english=p.english))
    soul_files = part(lambda p: SoulFiles(p.paths.memory))
    backups = part(lambda p: DailyBackups(p.paths.daily_backups, p.paths.memory))
    transfers = part(lambda p: TransferFolders(p.paths.data))
    vouchers = part(lambda p: None if p.paths.owns_memory else HomeVouchers(p.paths.state))
    is_bots = part(lambda p: p.vouchers is None)
    """Of a bot, and not of a project's agents: those vouch for entries, and read the root."""

    # Databases beside the vault.
    state: cached_property[SqliteStateStore] = part(
        lambda p: (SqliteStateStore if p.remembers else ForgetfulState)(
            p.paths.state / "state.sqlite", version=p.version
        )
    )
    migration_store = part(
        lambda p: SqliteMigrationStore(p.paths.state / "migration.sqlite", version=p.version)
    )
    loop_file: cached_property[SqliteLoopFile] = part(
        lambda p: (SqliteLoopFile if p.remembers else ForgetfulLoopFile)(
            p.paths.state / "loop.sqlite", version=p.version
        )
    )
    turns = part(lambda p: SqliteTurnStore(p.loop_file))
    loop_book = part(lambda p: SqliteLoopFacts(p.loop_file))
    sleep_store = part(lambda p: SqliteSleepStore(p.loop_file))
    formats = part(
        lambda p: StoreFormats(
            p.paths.memory,
            p.version,
            index=p.paths.index,
            databases={
                p.paths.state / "state.sqlite": STATE,
                p.paths.state / "migration.sqlite": MIGRATION,
                p.paths.state / "loop.sqlite": LOOP,
            },
        )
    )

    # Indexes: files that may be deleted.
    worker = part(lambda p: p._worker())
    store = part(lambda p: make_vector_store(p.paths, p.settings, p.state, p.worker))
    manifest = part(lambda p: JsonManifest(p.paths.index / MANIFEST))
    cache = part(lambda p: SqliteVectorCache(p.paths.vectors))
    words: cached_property[LexicalIndex] = part(
        lambda p: SqliteLexicalIndex(
            p.paths.index / "lexical.sqlite", Tokenizer(cache=p.paths.index / "dictionary.bin")
        )
    )
    scanner = part(lambda _: LexicalScan(Tokenizer(use_jieba=False)))
    """Answers where no index can, from the first moment on: it must load no dictionary."""
    trust = part(lambda p: JsonTrustBook(p.paths.index / "trust.json"))
    weights = part(lambda _: shipped())
    bundled = part(lambda p: bundled_embedder(p.worker, p.settings) if p.worker else None)
    """The model that comes as a package, where this Python can start the process it lives in."""
    local = part(lambda p: partial(local_embedder, p.paths, settings=p.settings, worker=p.worker))
    """A model on disk by its folder or name, or on a hub."""

    # What is held in memory.
    book = part(lambda p: ScopeBook(p.settings, p.state, p.notices, p.accounts))
    catalogue = part(lambda p: Catalogue(p.vouchers.as_held) if p.vouchers else Catalogue())
    note_book = part(
        lambda p: NoteBook(
            p.notes, p.notices, RootNotices(p.notices, p.state, reads_root=not p.is_bots)
        )
    )
    pending = part(lambda p: PendingRecords(p.catalogue))
    unread = part(lambda _: UnreadTurns())
    passages = part(lambda p: Passages(p.catalogue, p.note_book, p.pending, p.unread))
    indexing = part(lambda p: p._indexing())
    lexical = part(lambda p: p._lexical())
    living = part(lambda p: RecallableMemories(p.catalogue, [p.indexing, p.pending]))
    entries = part(lambda p: (p.vault, p.catalogue, p.living))
    """What whoever changes an entry works with: its file, what is held of it, what follows it."""
    acquaintances = part(lambda p: Acquaintances(p.catalogue, p.book.ids_of))
    bylines = part(
        lambda p: Bylines(p.catalogue, p.unread, p.state, p.book.ids_of, p.is_admin, p.clock)
    )
    paused_conversations = part(lambda p: PausedConversations(p.paths.memory, p.notices, p.clock))

    # Recall.
    embedder_trust = part(lambda p: EmbedderTrust(p.trust, p.settings.pace))
    uses = part(lambda p: UseCounts(p.passages, p.state, p.loop_book))
    finder = part(
        lambda p: CandidateFinder(
            p.catalogue,
            p.passages,
            p.lexical,
            p.indexing,
            p.scanner,
            p.embedder_trust,
            p.uses,
            p.weights,
            p.settings.relevance_floor,
        )
    )
    manager = part(
        lambda p: MemoryManager(
            p.passages,
            p.finder,
            Reranking(p.reranker, p.settings),
            p.uses,
            p.settings,
            p.clock,
            p.weights,
        )
    )

    # Writing.
    private_data: cached_property[Finder] = part(lambda _: PrivateData())
    checks = part(lambda p: DraftChecks(p.book, p.settings.privacy_mode, p.private_data))
    near = part(
        lambda p: NearDuplicates(
            p.catalogue, p.indexing, p.lexical, seconds=p.settings.embed_draft_seconds
        )
    )
    corrected = part(lambda p: Deeds(p.state, p.clock))
    handlers = part(
        lambda p: MemoryHandlers(
            *p.entries,
            p.notices,
            p.checks,
            p.corrected,
            p.clock,
            p.near,
            p.weights.newer,
        )
    )
    intake = part(lambda p: Intake(*p.entries, p.notices, p.state, p.corrected))
    corrections = part(lambda p: CorrectionFollower(p.corrected, p.unread, p.handlers, p.catalogue))
    reconciler = part(
        lambda p: Reconciler(
            *p.entries, p.corrected, p.notices, p.clock, p.settings.vault_pace, mapped=p.book.mapped
        )
    )
    intents = part(lambda p: RecordIntents(p.state))
    recorder = part(
        lambda p: Recorder(
            p.shared,
            p.intents,
            p.catalogue,
            p.handlers,
            p.note_book,
            p.notices,
            p.clock,
            english=p.english,
        )
    )

    # Finished turns, and the first one after a pause.
    primer = part(
        lambda p: PrimerService(
            p.catalogue,
            p.loop_book,
            p.pages,
            p.note_book,
            p.settings.loop,
            p.acquaintances,
            p.clock,
            p.bylines.participants,
            p.corrected,
            ChangedRules(p.state),
            owners_pages=p.is_bots,
        )
    )
    queue = part(
        lambda p: TurnQueue(
            p.book, p.turns, p.vault, p.clock, p.without_private, p.settings.loop, p.notices
        )
    )
    style = part(
        lambda p: (
            SqliteStyleCounts(p.loop_file, p.pseudonym) if p.settings.loop.counts_manner else None
        )
    )
    learning = part(
        lambda p: FeedbackApplier(
            p.turns,
            p.vault,
            p.catalogue,
            ResultApplier(p.catalogue, p.handlers, p.corrected, p.book),
            p.uses,
            p.unread,
            p.clock,
            p.style.count if p.style else None,
        )
    )
    model_calls = part(
        lambda p: ModelCalls(
            p.chat,
            TokenBudget(p.loop_book, p.settings.loop.daily_tokens, p.clock),
            p.loop_book,
            p.settings.loop,
            p.clock,
        )
    )
    batches = part(lambda p: Batches(p.turns, p.paused_conversations.of_key, p.settings.loop))
    reflection = part(
        lambda p: ReflectionService(
            p.batches,
            p.model_calls,
            p.learning,
            BatchReader(
                p.batches,
                p.model_calls,
                p.learning,
                p.corrected,
                p.apply,
                daily_tokens=p.settings.loop.daily_tokens,
                proposes=p.settings.loop.proposes,
                manner=p.settings.loop.counts_manner,
            ),
            p.clock,
            UnreadFollower(
                p.unread, p.turns, p.vault, p.handlers, p.corrected, p.paused_conversations
            ).follow,
            learns=p.settings.scope_filter_enabled,
        )
    )

    # The night.
    soul_state = part(lambda p: p.state)
    """Where the ends of the souls' chains lie: a program of the owner's keeps nothing else."""
    governance = part(
        lambda p: Governance(
            p.soul_files,
            SoulHeads(p.soul_state),
            p.clock,
            seed=seed("en" if p.english else "zh").encode(),
            evolution=p.settings.soul_evolution,
        )
    )
    souls = part(
        lambda p: Souls(
            p.governance,
            SoulCalls(p.model_calls, p.life) if p.remembers else None,
            SqliteProbeVerdicts(p.loop_file),
            p.style if p.remembers else None,
            p.catalogue,
            p.note_book,
            p.private_names,
            p.vault.archived_anywhere,
            p.persona_prompt,
            p.notices,
            p.clock,
            p.life,
            p.settings.soul_evolution,
        )
    )
    backup = part(
        lambda p: NightlyBackup(
            p.backups,
            p.living,
            p.notices,
            p.clock,
            keep=p.settings.loop.backups_keep,
            may_rotate=p.may_rotate,
            version=p.version,
            settings=p.carried_settings,
        )
    )
    overviews = part(
        lambda p: Overviews(
            p.pages, p.catalogue, p.corrected, p.notices, p.primer.overview, english=p.english
        )
    )
    archive = part(lambda p: ArchiveStep(*p.entries, p.handlers, p.clock))
    remnants = part(
        lambda p: PurgeRemnants(
            p.files,
            p.state,
            p.turns,
            p.loop_file,
            p.sleep_store,
            p.lexical,
            p.indexing,
            {
                "state/migration.sqlite": p.migration_store.forget,
                **({"state/adoption/": p.staging.forget} if p.staging else {}),
            },
            p.vault,
            p.catalogue,
            p.note_book,
            p.living,
            p.corrected,
            p.backup,
            p.notices,
        )
    )
    sleep = part(
        lambda p: ConsolidationService(
            p.sleep_store,
            p.loop_book,
            p.vault,
            p.notices,
            p.clock,
            DecayStep(p.loop_book, *p.entries, p.archive),
            MergeStep(p.sleep_store, p.catalogue, p.near, p.archive),
            DayJournals(p.sleep_store, p.turns, *p.entries, p.checks, p.acquaintances, p.clock),
            p.overviews,
            QuestionStep(*p.entries, p.checks, p.model_calls, p.uses.of),
            p.souls.night,
            p.backup,
            p.remnants,
            p.busy,
            p.may_learn,
        )
    )

    # What comes from elsewhere.
    legacy: cached_property[ForeignCollection | None] = part(
        lambda p: legacy_collection(p.settings)
    )
    """A pre-scope plugin's, where a server is configured that may have one."""
    others: cached_property[LegacyStores | None] = part(
        lambda p: PluginStores(p.paths.neighbours, p.paths.state / "adoption-copies")
    )
    """What other plugins left on this machine; with ``staging``, or not at all."""
    staging: cached_property[AdoptionStaging | None] = part(
        lambda p: AdoptionStaging(p.paths.state / "adoption")
    )
    holdings = part(lambda p: Holdings(p.migration_store, *p.entries))
    migrations = part(lambda p: p._migrations())
    former = part(lambda p: FormerScopes(p.state, p.book, p.catalogue, p.turns))
    bringing = part(
        lambda p: Bringing(
            p.former,
            p.turns,
            p.holdings,
            p.corrected,
            p.unread,
            p.corrections,
            p.migrations.run_aside,
        )
    )

    # The front door.
    histories = part(lambda p: ModelHistories(p.state))
    gate = part(
        lambda p: Gate(
            p.life, p.settings, p.book, p.catalogue, p.paused_conversations, not p.is_bots
        )
    )
    conversations = part(
        lambda p: Conversations(
            p.life,
            p.gate,
            p.book,
            Origins(p.state, p.book),
            p.former,
            p.paused_conversations,
            p.bylines,
        )
    )
    admin = part(
        lambda p: ScopeAdmin(
            p.settings,
            p.book,
            p.former,
            p.bringing,
            p.handlers,
            p.catalogue,
            p.reconciler,
            p.paused_conversations,
            p.unread,
            p.life,
        )
    )
    service = part(
        lambda p: CognitiveService(
            p.life,
            p.gate,
            _settings=p.settings,
            _book=p.book,
            _catalogue=p.catalogue,
            _clock=p.clock,
            _manager=p.manager,
            _notes=p.note_book,
            _pending=p.pending,
            _unread=p.unread,
            _histories=p.histories,
            _bylines=p.bylines,
            _pages=p.pages,
            _primers=p.primer,
            _queue=p.queue,
            _recorder=p.recorder,
            _private_data=p.private_data,
            _at_home=not p.is_bots,
            _english=p.english,
            _handlers=p.handlers,
            _editor=p.handlers,
            _corrected=p.corrected,
            _follower=p.corrections,
            _intents=p.intents,
            _bringing=p.bringing,
            _applier=p.learning,
            _tasks=TaskList(*p.entries, p.notices, p.checks, p.handlers, p.clock),
            _transfer=Transfer(p.transfers, p.catalogue, p.handlers, p.clock, p.version),
            _overviews=p.overviews,
            _role_notes=RoleNotes(
                p.pages, p.paths.leases, p.settings.privacy_mode, p.private_data, english=p.english
            ),
            _pauses=p.paused_conversations,
            _transcripts=Transcripts(
                p.book, p.catalogue, p.histories, p.corrected.texts, p.without_private
            ),
            _former=p.former,
            conversations=p.conversations,
            admin=p.admin,
            souls=p.souls,
        )
    )
    follower = part(
        lambda p: VaultFollower(p.reconciler, p.watcher, p.settings.vault_pace, also=p.follow_files)
    )

    def _worker(self) -> WorkerStore | None:
        folder = self.paths.index / "chroma"
        language: Spoken = "en" if self.english else "zh"
        command = worker_command(folder, chroma_record(self.paths), language)
        return WorkerStore(command, folder=folder) if command else None

    def _indexing(self) -> IndexingService:
        indexing = IndexingService(
            Passages(self.catalogue, self.note_book, unread=self.unread),
            self.store,
            self.manifest,
            self.cache,
            self.notices,
            self.settings.pace,
            embed_query_seconds=self.settings.embed_query_seconds,
        )
        self.unread.follow_with(indexing)
        return indexing

    def _lexical(self) -> LexicalService:
        lexical = LexicalService(
            Passages(self.catalogue, self.note_book, self.pending),
            self.unread,
            self.words,
            self.notices,
            self.settings.pace,
        )
        self.pending.follow_with(lexical)
        # The indexes ask the note book, which is told of them afterwards.
        self.note_book.follow_with(self.indexing, lexical)
        return lexical

    def _migrations(self) -> Migrations:
        settings = self.settings
        walker = RecordWalker(self.migration_store, settings.walk_pace)
        walker.paused = settings.migration_paused
        intake = BatchIntake(self.holdings, self.intake)
        sources: list[Source] = []
        if self.legacy is not None:
            sources.append(
                ScopeMigration(
                    self.legacy,
                    self.migration_store,
                    walker,
                    intake,
                    self.pending,
                    self.lexical,
                    self.clock,
                    settings.migration_mode,
                )
            )
        if self.others is not None and self.staging is not None:
            sources.append(
                Adoption(
                    self.others,
                    self.staging,
                    self.migration_store,
                    walker,
                    intake,
                    self.catalogue,
                    self.lexical,
                    self.book,
                    self.notices,
                    self.clock,
                    enabled=settings.adopt_legacy,
                )
            )
        mode = settings.migration_mode
        migrations = Migrations(walker, sources, self.holdings, self.clock, mode=mode)
        migrations.wait_for(self.sleep.over)
        return migrations

    def without_private(self, text: str) -> str:
        """Returns a text without numbers and keys that are hidden in this store."""
        return without_private(text, self.settings.privacy_mode, self.private_data)

    def private_names(self) -> list[str]:
        """Returns the names of the scopes that not everybody reads."""
        return [scope.name for scope in self.vault.scopes() if not scope.is_public]

    def pseudonym(self, person: str) -> str:
        """Returns what stands for a person, under whichever account, where manner is counted."""
        return self.corrected.pseudonym(min(self.book.ids_of(person)))

    async def apply(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned as any caller would have it."""
        return await self.service.feedback(feedback, ticket=ticket)

    async def follow_files(self) -> None:
        """Do what a round of the files leaves to do."""
        if self.vouchers is not None:
            known = list(self.catalogue.all())
            changed = await asyncio.to_thread(self.vouchers.changed, known)
            async for stored in unhurried(changed):
                if self.catalogue.get(entry_key(stored)) is stored:
                    self.living.take(stored)
        await self.corrections.follow()
        await self.note_book.refresh()
        await self.souls.follow()

    def busy(self) -> Postponed:
        """Returns why no consolidation may begin now."""
        if not self.life.is_ready:
            return Postponed.UNREADY
        if self.migrations.going:
            return Postponed.MIGRATING
        is_building = self.indexing.state is IndexState.BUILDING
        return Postponed.BUILDING if is_building else Postponed.NO

    def may_rotate(self) -> bool:
        """Returns False while files are missing that an older backup may still have."""
        return self.life.is_ready and not self.reconciler.holds_deletions

    def may_learn(self) -> bool:
        """Returns False where a night makes a backup only."""
        return self.settings.scope_filter_enabled and self.may_rotate()
