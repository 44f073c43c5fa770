"""What an engine is made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..consolidation.backup_files import DailyBackups
from ..consolidation.sleep_store import SqliteSleepStore
from ..decisions.shared_files import SharedFiles
from ..index.embedding.ports import Embedder
from ..index.embedding_cache import SqliteVectorCache
from ..index.lexical_port import LexicalIndex
from ..index.lexical_scan import LexicalScan
from ..index.manifest import JsonManifest
from ..index.ports import VectorStore
from ..migration.adoption_staging import AdoptionStaging
from ..migration.legacy_port import LegacyStores
from ..migration.migration_store import SqliteMigrationStore
from ..migration.ports import ForeignCollection
from ..recall.embedder_trust import JsonTrustBook
from ..recall.reranking import Reranker
from ..recall.rules.weights import RecallWeights
from ..reflection.chat_port import ChatModel
from ..reflection.turn_store import SqliteTurnStore
from ..remember.rules.privacy import Finder, find
from ..remember.vouching import HomeVouchers
from ..soul.soul_files import SoulFiles
from ..storage.directory_lock import DirectoryLock
from ..storage.formats.store_formats import StoreFormats
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.loop_file import SqliteLoopFile
from ..storage.private_folder import PrivateFolder
from ..storage.state_store import SqliteStateStore
from ..storage.store_files import StoreFiles
from ..sync.ports import Watcher
from ..transfer.line_files import TransferFolders
from ..vault.markdown_vault import MarkdownVault
from ..vault.notes.markdown_notes import MarkdownNotes
from ..vault.pages import PagesOnDisk


async def no_prompt(_: str) -> str:
    """For a store without personas."""
    return ""


@dataclass(frozen=True, slots=True)
class EngineParts:
    """What an engine is made of. Tests put fakes here."""

    vault: MarkdownVault
    watcher: Watcher
    notes: MarkdownNotes
    state: SqliteStateStore
    store: VectorStore
    manifest: JsonManifest
    cache: SqliteVectorCache
    words: LexicalIndex
    trust: JsonTrustBook
    weights: RecallWeights
    scanner: LexicalScan
    """Answers where no index can, from the first moment on: it must load no dictionary."""
    locks: Sequence[DirectoryLock]
    transfers: TransferFolders
    migrations: SqliteMigrationStore
    loop_file: SqliteLoopFile
    turns: SqliteTurnStore
    """In ``loop_file``."""
    loop_book: SqliteLoopFacts
    """In ``loop_file``."""
    pauses_folder: Path
    sleep_store: SqliteSleepStore
    """In ``loop_file``."""
    pages: PagesOnDisk
    leases: Path
    """The folder of the lock files of roles."""
    shared: SharedFiles
    soul_files: SoulFiles
    backups: DailyBackups
    files: StoreFiles
    formats: StoreFormats
    local: Callable[[str], Embedder]
    """A model on disk by its folder or name, or on a hub."""
    legacy: ForeignCollection | None = None
    """A pre-scope plugin's, where a server is configured that may have one."""
    others: LegacyStores | None = None
    """What other plugins left on this machine; with ``staging``, or not at all."""
    staging: AdoptionStaging | None = None
    bundled: Embedder | None = None
    """The model that comes as a package, where this Python can start the process it lives in."""
    private: Sequence[PrivateFolder] = ()
    """The folders in which people's words lie."""
    private_data: Finder = find
    reranker: Reranker | None = None
    chat: ChatModel | None = None
    """Reads finished turns; nothing is learned from them without it."""
    accounts: Callable[[], frozenset[str] | None] = lambda: None
    """The bot accounts that exist now: what a key of the map begins with. None where nobody can
    tell."""
    is_admin: Callable[[str], bool] = lambda _: False
    """By a person's id: the bot framework knows."""
    vouchers: HomeVouchers | None = None
    """Of a project's committed store; elsewhere the files say whom they trust."""
    version: str = ""
    """The plugin's: what it writes out, it signs."""
    persona_prompt: Callable[[str], Awaitable[str]] = no_prompt
    """A persona's own prompt, by its folder: the bot framework knows."""
    carried_settings: Callable[[], Mapping[str, object]] = dict
    """The owner's, for backups to carry: no secrets."""
