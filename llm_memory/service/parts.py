"""What an engine is made of, and who asks whom: a row for each part."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from functools import cached_property, partial
from inspect import Parameter, signature
from operator import attrgetter
from typing import Any

from ..catalogue.catalogue import Catalogue
from ..catalogue.recallable_memories import RecallableMemories
from ..catalogue.unread_turns import UnreadTurns
from ..consolidation.backup import Backup
from ..consolidation.leaving import Leaving
from ..consolidation.night import Night
from ..consolidation.pages import MemoryPages
from ..consolidation.purge import Purge
from ..consolidation.questions import QuestionStep
from ..consolidation.report import Postponed
from ..decisions.files import SharedFiles
from ..decisions.recorder import Recorder
from ..index.cut_texts import CutTexts
from ..index.passages import Passages
from ..index.pending_records import PendingRecords
from ..index.semantic import Semantic
from ..index.word_index import WordIndex
from ..index.words import Words
from ..migration.adoption import Adoption
from ..migration.adoption_staging import AdoptionStaging
from ..migration.batch_intake import BatchIntake
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..migration.holdings import Holdings
from ..migration.legacy_stores import PluginStores
from ..migration.migration_store import SqliteMigrationStore
from ..migration.migrations import Migrations
from ..migration.record_walker import RecordWalker
from ..migration.scope_migration import ScopeMigration
from ..models.settings import EngineSettings
from ..models.status import Notice
from ..primer.primer import PrimerService
from ..recall.afterwards import Explanations, UseCounts
from ..recall.embedder_trust import EmbedderTrust
from ..recall.find import CandidateFinder
from ..recall.memory_manager import MemoryManager, Reranker, Reranking
from ..recall.weights import shipped
from ..reflection.feedback_applier import FeedbackApplier
from ..reflection.model import ChatModel, Model
from ..reflection.reflection_service import ReflectionService
from ..reflection.turn_queue import ModelHistories, TurnQueue, UnreadFollower
from ..reflection.turn_store import SqliteTurnStore
from ..remember.corrected_texts import CorrectionFollower
from ..remember.deeds import Deeds
from ..remember.edit import DraftChecks
from ..remember.exclusions import Exclusions
from ..remember.memory_handlers import MemoryHandlers
from ..remember.near_duplicates import NearDuplicates
from ..remember.rules.private import without_private
from ..remember.vouching import HomeVouchers
from ..roles.role_notes import RoleNotes
from ..runtime.lifecycle import Lifespan
from ..runtime.notice_board import NoticeBoard
from ..scopes.access import Gate
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import ScopeBook
from ..soul.private_words import Complaints
from ..soul.rules.soul_text import seed
from ..soul.souls import Souls
from ..soul.store import SoulStore
from ..soul.style_counts import SqliteStyleCounts
from ..storage.directory_lock import DirectoryLock
from ..storage.loop_file import ForgetfulLoopFile, SqliteLoopFacts, SqliteLoopFile
from ..storage.state_store import ForgetfulState, SoulHeads, SqliteStateStore
from ..storage.store_files import StoreFiles
from ..sync.follower import VaultFollower
from ..sync.reconciler import Reconciler
from ..sync.watcher import FolderWatcher
from ..tasks.task_list import TaskList
from ..text.tokenizer import Tokenizer
from ..texts import Texts
from ..transfer.conversation_transfer import Transfer
from ..transfer.line_files import TransferFolders
from ..vault.ledger import SqliteLedger
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.markdown_notes import MarkdownNotes
from ..vault.notes.note_book import NoteBook
from ..vault.pages import PagesOnDisk
from . import indexes
from .bylines import Bylines
from .cognitive_service import CognitiveService
from .paths import EnginePaths, local_now
from .soul_model import SoulTrials


async def no_prompt(_: str) -> str:
    """For a store without personas."""
    return ""


@dataclass(eq=False)
class Told:
    """What an engine is told from outside. ``on_notice`` hears what the owner should know, once,
    when it is new; ``version`` is the plugin's. Where it knows nothing of the bot's conversations,
    it ``remembers`` nothing, and what the state has of them stays as it is. ``accounts`` returns
    None where nobody can tell. ``replacing``: a test's parts, by the names of rows."""

    paths: EnginePaths
    settings: EngineSettings
    _: KW_ONLY
    on_notice: Callable[[Notice], None] | None = None
    clock: Callable[[], datetime] = local_now
    version: str = ""
    reranker: Reranker | None = None
    remembers: bool = True
    chat: ChatModel | None = None
    accounts: Callable[[], frozenset[str] | None] = lambda: None
    is_admin: Callable[[str], bool] = lambda _: False
    persona_prompt: Callable[[str], Awaitable[str]] = no_prompt
    carried_settings: Callable[[], Mapping[str, object]] = dict
    replacing: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        vars(self).update(self.replacing or {})


def part[T](make: Callable[[Parts], T]) -> cached_property[T]:
    """A row: made of the others when it is first asked for."""
    return cached_property(make)


type Given = str | Callable[[Parts], object]
"""The name of a row, or of something of it; or what is made for one alone."""


def wired[T](kind: Callable[..., T], **given: Given) -> cached_property[T]:
    """A row of a class that takes many others: what its constructor cannot do without are the rows
    that are called so, but for what is ``given``."""
    return part(partial(_make, kind, given))


def _make[T](kind: Callable[..., T], given: Mapping[str, Given], parts: Parts) -> T:
    return kind(**{name: take(parts) for name, take in taken(kind, given).items()})


def taken(
    kind: Callable[..., object], given: Mapping[str, Given]
) -> dict[str, Callable[[Parts], object]]:
    """Returns what each parameter of a class takes of the parts."""
    found: dict[str, Callable[[Parts], object]] = {}
    for name, parameter in signature(kind).parameters.items():
        plain = name.lstrip("_")
        if plain in given or parameter.default is Parameter.empty:
            take = given.get(plain, plain)
            found[name] = attrgetter(take) if isinstance(take, str) else take
    return found


class Parts(Told):
    """What an engine is made of: nothing is made before it is asked for, and nothing is opened.

    A row stands below those that it is made of; what goes the other way is a method.
    """

    life = part(lambda _: Lifespan())
    notices = part(lambda p: NoticeBoard(p.on_notice))
    english = part(lambda p: p.settings.loop.english)
    texts = part(lambda p: Texts.of("en" if p.english else "zh"))
    """In which a model is told what is remembered."""

    # Files, and what watches them.
    locks = part(lambda p: [DirectoryLock(folder) for folder in p.paths.owned])
    files = part(lambda p: StoreFiles(p.paths.data, p.paths.memory))
    ledger = part(lambda p: SqliteLedger(p.paths.state / "vault.sqlite"))
    vault = part(lambda p: MarkdownVault(p.paths.memory, p.ledger))
    watcher = part(lambda p: FolderWatcher(p.paths.memory))
    pages = part(lambda p: PagesOnDisk(p.paths.memory))
    transfers = part(lambda p: TransferFolders(p.paths.data))
    vouchers = part(lambda p: None if p.paths.owns_memory else HomeVouchers(p.paths.state))
    at_home = part(lambda p: p.vouchers is not None)
    """Of a project's agents, and not of a bot: they vouch for entries, and read the root."""

    # Databases beside the vault.
    state = part(lambda p: p.new_state(SqliteStateStore if p.remembers else ForgetfulState))
    soul_state = part(lambda p: p.state if p.remembers else p.new_state(SqliteStateStore))
    """Where the ends of the souls' chains lie: they are kept whoever has the store open."""
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

    # Indexes: files that may be deleted.
    store = part(lambda p: indexes.make_vector_store(p.paths, p.settings, p.state))
    tokenizer = part(lambda p: Tokenizer(cache=p.paths.index / "dictionary.bin"))
    words = part(lambda p: Words(p.tokenizer))
    cut_texts = part(lambda p: CutTexts(p.paths.index / "words.sqlite"))
    weights = part(lambda p: shipped(p.settings.relevance_floor))
    bundled = part(lambda p: indexes.bundled_embedder(p.settings))
    """The model that comes as a package."""
    local = part(lambda p: partial(indexes.local_embedder, p.paths, settings=p.settings))
    """A model on disk by its folder or name, or on a hub."""

    # What is held in memory.
    book = wired(ScopeBook, accounts="accounts")
    catalogue = part(lambda p: Catalogue(p.vouchers.as_held) if p.vouchers else Catalogue())
    notes = part(lambda p: MarkdownNotes(p.paths.memory, reads_root=p.at_home))
    note_book = wired(NoteBook, source="notes")
    pending = part(lambda p: PendingRecords(p.catalogue))
    unread = part(lambda _: UnreadTurns())
    passages = part(lambda p: Passages(p.catalogue, p.note_book, p.pending, p.unread))
    embedded = part(
        lambda p: Passages(p.catalogue, p.note_book, PendingRecords(p.catalogue), p.unread)
    )
    """What has a vector: not what waits to enter the vault."""
    indexing = wired(Semantic, passages="embedded")
    lexical = wired(WordIndex)
    living = part(lambda p: RecallableMemories(p.catalogue, [p.indexing, p.lexical, p.pending]))
    bylines = part(lambda p: Bylines(p))
    paused_conversations = wired(PausedConversations, folder="paths.memory")

    # Recall.
    trust = part(lambda p: EmbedderTrust(p.paths.index / "trust.json", p.settings.pace))
    uses = part(lambda p: UseCounts(p.passages, p.state, p.loop_book))
    finder = wired(CandidateFinder)
    explanations = wired(Explanations)
    manager = wired(MemoryManager, reranking=lambda p: Reranking(p.reranker, p.settings))

    # Writing.
    corrected = part(lambda p: Deeds(p.state, p.clock))
    exclusions = wired(Exclusions, changed="corrected.touch")
    checks = part(lambda p: DraftChecks(p.book, p.settings.privacy_mode, p.exclusions))
    hide = part(lambda p: partial(without_private, mode=p.settings.privacy_mode))
    near = wired(NearDuplicates, words="lexical", seconds="settings.embed_draft_seconds")
    handlers = wired(MemoryHandlers, recallable="living", deeds="corrected", newer="weights.newer")
    corrections = wired(CorrectionFollower, deeds="corrected", editor="handlers")
    reconciler = wired(Reconciler, pace="settings.pace", mapped="book.mapped")
    recorder = wired(Recorder, files=lambda p: SharedFiles(p.paths.memory, english=p.english))

    # Finished turns, and the first one after a pause.
    primer = wired(
        PrimerService,
        settings="settings.loop",
        linked="book.ids_of",
    )
    unread_follower = wired(UnreadFollower)
    queue = wired(TurnQueue, settings="settings.loop")
    style = part(
        lambda p: (
            SqliteStyleCounts(p.loop_file, p.pseudonym) if p.settings.loop.counts_manner else None
        )
    )
    applier = wired(FeedbackApplier, count_manner=lambda p: p.style.count if p.style else None)
    model = wired(
        Model,
        chat=lambda p: p.chat if p.settings.loop.reads_turns else None,
        book="loop_book",
        settings="settings.loop",
    )
    reflection = wired(
        ReflectionService,
        apply="service.feedback",
        settings="settings.loop",
        learns="settings.scope_filter_enabled",
    )

    # The night.
    soul_store = wired(
        SoulStore,
        heads=lambda p: SoulHeads(p.soul_state),
        memory="paths.memory",
        seed=lambda p: seed("en" if p.english else "zh").encode(),
    )
    complaints = wired(Complaints)
    soul_trials = wired(SoulTrials, own_probes="soul_store.own_probes")
    souls = wired(
        Souls,
        store="soul_store",
        style=lambda p: p.style if p.remembers else None,
        complaints="complaints.of",
        evaluate="soul_trials.evaluate",
        evolution="settings.soul_evolution",
    )
    backup = wired(
        Backup,
        folder="paths.daily_backups",
        memory="paths.memory",
        keep="settings.loop.backups_keep",
    )
    memory_pages = wired(MemoryPages)
    leaving = wired(Leaving, editor="handlers")
    questions = wired(QuestionStep, editor="handlers", uses="uses.of")
    purge = wired(
        Purge,
        walks=lambda p: {
            "state/migration.sqlite": p.migration_store.forget,
            **({"state/adoption/": p.staging.forget} if p.staging else {}),
        },
    )
    sleep = wired(Night, souls="souls.night", learns="may_learn")

    # What comes from elsewhere.
    legacy = part(lambda p: indexes.legacy_collection(p.settings))
    """A pre-scope plugin's, where a server is configured that may have one."""
    others: cached_property[PluginStores | None] = part(
        lambda p: PluginStores(p.paths.data.parent, p.paths.state / "adoption-copies")
    )
    staging: cached_property[AdoptionStaging | None] = part(
        lambda p: AdoptionStaging(p.paths.state / "adoption")
    )
    holdings = wired(Holdings, store="migration_store", recallable="living")
    batch_intake = part(lambda p: BatchIntake(p.holdings, p.handlers))
    walker = wired(RecordWalker, others_done="sleep.over")
    scope_migration = wired(ScopeMigration)
    adoption = wired(Adoption)
    migrations = wired(
        Migrations,
        sources=lambda p: [
            *([p.scope_migration] if p.legacy is not None else []),
            *([p.adoption] if p.others and p.staging else []),
        ],
    )
    former = part(lambda p: FormerScopes(p.state, p.book, p.catalogue, p.turns))
    bringing = wired(Bringing, follower="corrections", run="migrations.run_aside")

    # The front door.
    histories = wired(ModelHistories)
    gate = wired(Gate, paused="paused_conversations", reads_root="at_home")
    tasks = wired(TaskList)
    transfer = wired(Transfer, files="transfers")
    role_notes = wired(RoleNotes, leases="paths.leases", mode="settings.privacy_mode")
    service: cached_property[CognitiveService] = part(lambda p: CognitiveService(p))
    follower = wired(VaultFollower, pace="settings.pace", also="follow_files")

    def new_state(self, kind: type[SqliteStateStore]) -> SqliteStateStore:
        """Returns a store over the file, whose changes last or are forgotten."""
        return kind(self.paths.state / "state.sqlite", version=self.version)

    def pseudonym(self, person: str) -> str:
        """Returns what stands for a person, under whichever account, where manner is counted."""
        return self.corrected.pseudonym(min(self.book.ids_of(person)))

    async def follow_files(self) -> None:
        """Do what a round of the files leaves to do."""
        await self.exclusions.refresh()
        await self.corrections.follow()
        await self.note_book.refresh()
        await self.souls.follow()

    def busy(self) -> Postponed:
        """Returns why no consolidation may begin now."""
        if not self.life.is_ready:
            return "unready"
        if self.migrations.going:
            return "migrating"
        return "building" if self.indexing.state == "building" else ""

    def may_rotate(self) -> bool:
        """Returns False while files are missing that an older backup may still have."""
        return self.life.is_ready and not self.reconciler.holds_deletions

    def may_learn(self) -> bool:
        """Returns False where a night makes a backup only."""
        return self.settings.scope_filter_enabled and self.may_rotate()
