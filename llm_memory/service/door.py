"""What every verb of the front door begins with, and the parts that they ask."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Concatenate

from ..catalogue.catalogue import Catalogue
from ..catalogue.unread_turns import UnreadTurns
from ..consolidation.overviews import Overviews
from ..decisions.recorder import Recorder
from ..index.pending_records import PendingRecords
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..models.settings import EngineSettings
from ..primer.primer_service import PrimerService
from ..recall.memory_manager import MemoryManager
from ..reflection.feedback_applier import FeedbackApplier
from ..reflection.model_histories import ModelHistories
from ..reflection.turn_queue import TurnQueue
from ..remember.correction_follower import CorrectionFollower
from ..remember.deeds import Deeds
from ..remember.memory_handlers import MemoryHandlers
from ..roles.role_notes import RoleNotes
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Gate
from ..scopes.origins import Origins
from ..scopes.paused_conversations import PausedConversations
from ..scopes.scope_book import ScopeBook
from ..storage.record_intents import RecordIntents
from ..sync.reconciler import Reconciler
from ..tasks.task_list import TaskList
from ..transfer.conversation_transfer import Transfer
from ..vault.notes.note_book import NoteBook
from ..vault.pages import PagesOnDisk
from .bylines import Bylines


@dataclass(eq=False)
class Door:
    """A verb takes a ConversationId, opens the gate once, and does what is asked inside the view
    that it gets."""

    _life: Lifespan
    _gate: Gate
    _settings: EngineSettings
    _clock: Clock
    _book: ScopeBook
    origins: Origins
    """Who has spoken where."""
    _former: FormerScopes
    _paused: PausedConversations
    _catalogue: Catalogue
    _pending: PendingRecords
    _unread: UnreadTurns
    _notes: NoteBook
    _pages: PagesOnDisk
    _bylines: Bylines
    _manager: MemoryManager
    _histories: ModelHistories
    _primers: PrimerService
    _queue: TurnQueue
    _applier: FeedbackApplier
    _handlers: MemoryHandlers
    _corrected: Deeds
    _follower: CorrectionFollower
    _reconciler: Reconciler
    _bringing: Bringing
    _tasks: TaskList
    _transfer: Transfer
    _overviews: Overviews
    _role_notes: RoleNotes
    _intents: RecordIntents
    _recorder: Recorder
    _hide: Callable[[str], str]
    """A text without what is private in it. It may block."""
    _at_home: bool
    """The store is no bot's: a decision names where it was discussed, and everybody reads it."""


def deed[D: Door, **P, T](
    verb: Callable[Concatenate[D, P], Coroutine[object, object, T]],
) -> Callable[Concatenate[D, P], Coroutine[Any, Any, T]]:
    """Of a verb that changes something: once it has begun it comes to its end, also if its caller
    is cancelled or a close begins. Raises EngineClosed, and then it has not begun."""

    @wraps(verb)
    async def begin(door: D, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await door._life.finish(partial(verb, door, *args, **kwargs))

    return begin
