"""The engine's entry: the only place where a conversation gets its scope."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.pointers import is_note_id, pointed_id
from ..catalogue.unread_turns import UnreadTurns
from ..errors import EngineOff, InvalidScope
from ..index.pending_records import PendingRecords
from ..migration.bringing import Bringing
from ..migration.former_scopes import FormerScopes
from ..models.conversation import Actor, ConversationId, ConversationKind, SeenSender
from ..models.data_models import (
    EditOutcome,
    ForgetOutcome,
    MemoryDraft,
    MoveOutcome,
    NotAllowed,
    Rejected,
    RejectReason,
    RememberOutcome,
    RestoreOutcome,
    Source,
    StoredMemory,
    Topic,
)
from ..models.former_scopes import Brought, MustBeNamed
from ..models.recall import (
    OFF_THE_RECORD,
    Arm,
    Expanded,
    ExpandedNote,
    Expansion,
    Explained,
    Hit,
    PointerNotVisible,
    Recall,
    Told,
    Trace,
)
from ..models.resolution import Usable
from ..models.scope import PUBLIC, Scope, ScopeFilter
from ..models.settings import EngineSettings, IllegalName
from ..models.status import MapChange, MapSummary, ScopeReport
from ..models.talk import ContextLine, Voice
from ..models.tasks import TaskAction, TaskChange, TaskReport
from ..models.transfer import Exported, Imported, NotTransferred
from ..models.turns import (
    Feedback,
    FeedbackReport,
    ObserveOutcome,
    Paused,
    PauseOutcome,
    Resumed,
    ResumeOutcome,
    Ticket,
    Turn,
)
from ..primer.models import Primed, Primer
from ..primer.primer_service import PrimerService, Written
from ..recall.memory_manager import MemoryManager
from ..reflection.feedback_applier import FeedbackApplier
from ..reflection.model_histories import ModelHistories
from ..reflection.turn_queue import TurnQueue
from ..remember.corrected_statements import CorrectedStatements
from ..remember.correction_follower import CorrectionFollower
from ..remember.edit import MemoryEditor, Requester
from ..remember.memory_handlers import MemoryHandlers
from ..runtime.identifiers import Clock
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access
from ..scopes.origins import Origins
from ..scopes.paused_conversations import PausedConversations
from ..scopes.rules.move_target import target_scope
from ..scopes.rules.scope_map import read_scope_map
from ..scopes.scope_book import FirstContact, ScopeBook
from ..sync.reconciler import Reconciler
from ..tasks.task_list import TaskList, TaskRequester
from ..text.overlap import fold
from ..transfer.conversation_transfer import Terms, Transfer
from ..transfer.ports import LineSource
from ..vault.notes.note_book import NoteBook
from .bylines import Bylines
from .edit_commands import Corrections
from .turn_observer import TurnObserver

_RULES_TOLD = 20
_HOPS_SECONDS = 3.0
"""A model waits for the answer: after this long the first of two hops is the answer."""


class CognitiveService:
    """Takes a ConversationId, derives the scope, and does what is asked inside it.

    Every method waits until the vault is read, but recall: that answers from what has been read so
    far. Nobody waits for the index. After ``close`` every method raises EngineClosed, and EngineOff
    where the vault could not be opened.
    """

    def __init__(
        self,
        settings: EngineSettings,
        book: ScopeBook,
        origins: Origins,
        histories: ModelHistories,
        catalogue: Catalogue,
        manager: MemoryManager,
        handlers: MemoryHandlers,
        turns: TurnQueue,
        learning: FeedbackApplier,
        notes: NoteBook,
        editor: MemoryEditor,
        corrected: CorrectedStatements,
        reconciler: Reconciler,
        transfer: Transfer,
        pending: PendingRecords,
        unread: UnreadTurns,
        follower: CorrectionFollower,
        paused_conversations: PausedConversations,
        primer: PrimerService,
        tasks: TaskList,
        bylines: Bylines,
        former: FormerScopes,
        bringing: Bringing,
        clock: Clock,
    ) -> None:
        self._settings = settings
        self._book = book
        self._origins = origins
        self._histories = histories
        self._catalogue = catalogue
        self._access = Access(settings, book, catalogue)
        self._life = Lifespan()
        self._observing = TurnObserver(
            self._access, paused_conversations, histories, turns, self._life
        )
        self._corrections = Corrections(
            self._access, book, handlers, editor, corrected, unread, follower, self._life
        )
        self._manager = manager
        self._handlers = handlers
        self._applier = learning
        self._notes = notes
        self._editor = editor
        self._reconciler = reconciler
        self._transfer = transfer
        self._pending = pending
        self._unread = unread
        self._paused_conversations = paused_conversations
        self._primer = primer
        self._tasks = tasks
        self._bylines = bylines
        self._former = former
        self._bringing = bringing
        self._clock = clock

    async def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> RememberOutcome:
        """Store a draft in the conversation's own scope. What returns Stored is on disk."""
        await self._life.ready()
        scope = self._recording(conversation_id)
        if isinstance(scope, Rejected):
            return scope
        return await self._life.finish(
            self._handlers.write(
                draft,
                scope,
                conversation=conversation_id.umo,
                trusted=self._access.trusts(draft.actor, conversation_id, scope),
                role=conversation_id.persona or "",
            )
        )

    async def recall(
        self,
        query: str,
        *,
        conversation_id: ConversationId,
        limit: int,
        token_budget: int,
        actor: Actor | None = None,
        line: Callable[[Hit], str] | None = None,
        only: Collection[Arm] | None = None,
        chained: bool = False,
        days: int = 0,
        context: Sequence[ContextLine] = (),
        in_talk: bool = False,
    ) -> Recall:
        """At most ``limit`` relevant memories that fit the budget; none where none is relevant.

        Args:
            actor: Who asks: 我 is that person.
            line: What is injected of a hit; the budget counts its tokens.
            only: Ask these arms alone, for comparisons.
            chained: Ask again with what the memories of whom the question names say.
            days: What answers a question about days alone may be one memory for each of so many
                of them, whatever the limit is. The budget holds.
            context: What was said just before, the earliest first. Lines of another view than the
                conversation has now are not used; see ``Talk`` for what is made of the others.
            in_talk: The query is a message somebody sent, not a search: it may ask for nothing.
        """
        await self._life.begun(patience=self._settings.load_seconds)
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is None:
            return Recall(trace=Trace(notes=("refused",)))
        if self._paused_conversations.since(conversation_id):
            return Recall(trace=Trace(notes=(OFF_THE_RECORD,)))
        manager, explanations = self._manager, self._manager.explanations
        heard = tuple(line for line in context if self._is_of_now(line, conversation_id))
        ask = (
            partial(manager.chained_recall, seconds=_HOPS_SECONDS)
            if chained
            else partial(
                manager.comprehensive_recall,
                only=only,
                days=days,
                context=heard,
                in_talk=in_talk,
            )
        )
        complete = self._bylines.reader(scope_filter, conversation_id.umo, actor)
        with explanations.noting_failure(conversation_id.umo, query, scope_filter):
            recall = await ask(
                query,
                scope_filter,
                limit=limit,
                token_budget=token_budget,
                asker=actor,
                line=None if line is None else lambda hit: line(complete(hit)),
            )
        explanations.note(conversation_id.umo, query, recall.trace)
        if only is None:  # a comparison shows nobody anything
            manager.show(recall.hits)
        hits = self._access.as_seen_by(actor, recall.hits)
        return replace(recall, hits=tuple(map(complete, hits)))

    async def announce(self, query: str, *, conversation_id: ConversationId) -> None:
        """``recall`` will be asked this in a moment: what can be done for it begins already. The
        persona need not be known. Nothing is looked for, and nothing kept but for that recall.

        Never raises for a broken index or embedder.
        """
        await self._life.begun()
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is not None and not self._paused_conversations.since(conversation_id):
            await self._manager.announce(query, scope_filter)

    async def prime(
        self,
        *,
        conversation_id: ConversationId,
        actor: Actor,
        written: Written,
        token_budget: int | None = None,
    ) -> Primer:
        """A turn begins: what the conversation is told if it is the first one after a pause, else
        nothing. To be asked once a turn, for it notes when it came.

        Args:
            written: How it will be written; the budget counts the tokens of that.
            token_budget: For all that is written; None for the setting's.

        Raises StateUnavailable where nobody can tell when the last turn was.
        """
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is None or self._paused_conversations.since(conversation_id):
            return Primer()
        budget = self._settings.loop.prime_tokens if token_budget is None else token_budget
        complete = self._bylines.reader(scope_filter, conversation_id.umo, actor)
        shown = replace(written, line=lambda hit: written.line(complete(hit)))
        primer = await self._primer.prime(conversation_id, scope_filter, actor, shown, budget)
        sections = (
            replace(
                section, hits=tuple(map(complete, self._access.as_seen_by(actor, section.hits)))
            )
            for section in primer.sections
        )
        return replace(primer, sections=tuple(sections))

    async def last_primer(self, *, conversation_id: ConversationId) -> Primed | None:
        """That this conversation got one, as far as it may see what it was made of."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        return self._primer.primed(conversation_id.umo, scope_filter) if scope_filter else None

    async def update_tasks(
        self, change: TaskChange, *, conversation_id: ConversationId, actor: Actor
    ) -> TaskReport | Rejected:
        """Add tasks to the conversation's own scope, say that some are done, or list those that it
        sees. None is ever dropped. Whoever speaks there may."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        if self._paused_conversations.since(conversation_id):
            return Rejected(RejectReason.OFF_THE_RECORD)
        if scope_filter is not None and change.action is TaskAction.LIST:
            return self._tasks.report(scope_filter)
        scope = self._access.writable(conversation_id)
        if isinstance(scope, Rejected):
            return scope
        if scope_filter is None:
            return Rejected(RejectReason.REFUSED)
        trusted = self._access.trusts(actor, conversation_id, scope)
        requester = Requester(actor, conversation_id.umo)
        by = TaskRequester(scope, requester, trusted, conversation_id.persona or "")
        outcomes = await self._life.finish(self._tasks.change(change, by, scope_filter))
        return self._tasks.report(scope_filter, outcomes)

    async def explain(self, *, conversation_id: ConversationId) -> list[Explained]:
        """The last recalls of this conversation, the newest first, as far as it may see them."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is None:
            return []
        return self._manager.explanations.of(conversation_id.umo, scope_filter)

    def last_recalls(self) -> list[Told]:
        """Of every conversation, the newest first: for whoever owns the files."""
        return self._manager.explanations.all()

    async def expand(self, pointer: str, *, conversation_id: ConversationId) -> Expansion:
        """The whole entry, or section of a note, behind a pointer that the conversation may see."""
        await self._life.ready()
        if self._paused_conversations.since(conversation_id):
            return PointerNotVisible(pointer)
        named = pointed_id(pointer)
        if named is not None and is_note_id(named):
            return await self._expand_note(pointer, named, self._access.readable(conversation_id))
        stored = self._access.find(pointer, conversation_id)
        scope_filter = self._access.readable(conversation_id)
        if stored is None and named is not None and scope_filter is not None:
            # Recalled, so it can be read.
            stored = self._pending.find(named, scope_filter)
            stored = stored or self._unread.find(named, scope_filter)
        return PointerNotVisible(pointer) if stored is None else Expanded(stored)

    async def forget(
        self,
        memory_id: str,
        *,
        conversation_id: ConversationId,
        actor: Actor,
        for_good: bool = False,
    ) -> ForgetOutcome | Rejected:
        """Move an entry to the archive. Only its speaker or an admin, only in its own scope.

        ``for_good``: out of the archive, too, also if it was forgotten before. No undo.
        """
        await self._life.ready()
        if for_good:
            return await self._corrections.purge(memory_id, conversation_id, actor)
        return await self._corrections.forget(memory_id, conversation_id, actor)

    async def edit(
        self, memory_id: str, text: str, *, conversation_id: ConversationId, actor: Actor
    ) -> EditOutcome | Rejected:
        """Give an entry of the conversation's own scope other words. Admins only."""
        await self._life.ready()
        return await self._corrections.edit(memory_id, text, conversation_id, actor)

    async def move(
        self, memory_id: str, scope_name: str, *, conversation_id: ConversationId, actor: Actor
    ) -> MoveOutcome | Rejected:
        """Move an entry of the conversation's own scope to another one. Admins only."""
        await self._life.ready()
        return await self._corrections.move(memory_id, scope_name, conversation_id, actor)

    async def restore(
        self, memory_id: str = "", *, conversation_id: ConversationId, actor: Actor
    ) -> RestoreOutcome | Rejected:
        """Take back what was done last to an entry of the conversation's own scope: forgotten, it
        comes back; edited, it has its former words; moved, it is here again.

        Without an id: the last that this person did in this conversation; if that was to bring what
        was left behind, all of it goes back. Raises StateUnavailable, EngineClosed.
        """
        await self._life.ready()
        requester = Requester(actor, conversation_id.umo)
        batch = None if memory_id else await self._bringing.last(requester)
        if batch is not None:
            if not actor.admin:
                return NotAllowed("")
            return await self._bringing.take_back(batch)
        return await self._corrections.restore(memory_id, conversation_id, actor)

    async def observe(self, turn: Turn, *, conversation_id: ConversationId) -> ObserveOutcome:
        """Queue a finished turn durably. Its scope is fixed now, whatever the map says later."""
        await self._life.ready()
        return await self._observing.put(turn, conversation_id)

    async def scope_name(self, *, conversation_id: ConversationId) -> str:
        """The scope that the conversation reads beside public, for logs; empty where it reads
        nothing."""
        await self._life.begun()
        scope_filter = self._access.readable(conversation_id)
        return scope_filter.scopes[0].name if scope_filter else ""

    async def view(
        self, *, conversation_id: ConversationId, history: str = "", empty: bool = False
    ) -> str:
        """A mark of what the conversation sees now, for ``Turn.view``. It names nothing.

        Args:
            history: The chat history that the model is about to be given, noted durably with the
                scope that the conversation has now; empty for none.
            empty: Nothing stands in that history yet.
        """
        await self._life.begun()
        return await self._observing.view(conversation_id, history, empty=empty)

    async def feedback(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from a queued turn, inside the scope of that turn.

        While learning is paused the turn stays in the queue.
        """
        await self._life.ready()
        if not self._settings.scope_filter_enabled:
            return FeedbackReport(known=True, outcomes=(Rejected(RejectReason.LEARNING_PAUSED),))
        return await self._life.finish(self._applier.settle(feedback, ticket))

    async def pause(self, *, conversation_id: ConversationId, actor: Actor) -> PauseOutcome:
        """Off the record from now on: nothing of the conversation is queued or stored, and nothing
        recalled in it. Its person may, in a private chat; elsewhere admins. What was queued before
        stays.

        Raises StateUnavailable, and then it is not paused.
        """
        await self._life.ready()
        if not _may_pause(conversation_id, actor):
            return NotAllowed("")
        scope = self._access.writable(conversation_id)
        if isinstance(scope, Rejected) and scope.reason is RejectReason.REFUSED:
            return scope
        name = PUBLIC.name if isinstance(scope, Rejected) else scope.name
        pausing = self._paused_conversations.pause(conversation_id, name, self._clock())
        paused = Paused(*await self._life.finish(pausing))
        await self._unread.review()
        return paused

    async def resume(self, *, conversation_id: ConversationId, actor: Actor) -> ResumeOutcome:
        """On the record again, by whoever may pause it. Raises StateUnavailable."""
        await self._life.ready()
        if not _may_pause(conversation_id, actor):
            return NotAllowed("")
        was = await self._life.finish(self._paused_conversations.resume(conversation_id))
        await self._unread.review()
        return Resumed(before=not was)

    def paused_since(self, conversation_id: ConversationId) -> datetime | None:
        """When it went off the record; None where it is on it, or nobody can tell yet."""
        return self._paused_conversations.since(conversation_id)

    async def confirm_pauses(self, *, actor: Actor) -> bool | None:
        """Conversations that nobody has paused since their pauses were lost are open. False where
        none were lost; None for anybody but an admin. Raises StateUnavailable."""
        await self._life.ready()
        if not actor.admin:
            return None
        confirmed = await self._life.finish(self._paused_conversations.confirm())
        await self._unread.review()
        return confirmed

    async def meet(self, conversation_id: ConversationId, actor: Actor) -> FirstContact:
        """Note that a person's message came; says whether it is the conversation's first."""
        await self._life.ready()
        await self._origins.note(conversation_id, actor)
        meeting = await self._book.meet(conversation_id, actor)
        await self._former.note(conversation_id, meeting.resolution)
        return meeting

    async def bring(
        self, names: Collection[str] = (), *, conversation_id: ConversationId, actor: Actor
    ) -> list[Brought] | MustBeNamed | NotAllowed | Rejected:
        """Bring what was left behind where it belongs now: this conversation's, or that of the
        former scopes in ``names``. Where others see the target, too, it has to be named as well.
        Admins only.

        Raises StateUnavailable, VaultWriteFailed, EngineClosed; called again, it brings the rest.
        """
        await self._life.ready()
        if not actor.admin:
            return NotAllowed("")
        if not self._settings.scope_filter_enabled:
            return Rejected(RejectReason.LEARNING_PAUSED)
        requester = Requester(actor, conversation_id.umo)
        return await self._bringing.bring_named(names, conversation_id, requester)

    async def completed(self, parsed: ConversationId, adapter: str | None) -> ConversationId:
        """A conversation of which an event tells the origin alone; see ``Origins.completed``."""
        await self._life.begun()
        return await self._origins.completed(parsed, adapter)

    async def on_behalf_of(self, conversation_id: ConversationId, sender: str) -> SeenSender | None:
        """For whom an agent acts to whom nobody spoke; see ``Origins.on_behalf_of``."""
        await self._life.begun()
        return await self._origins.on_behalf_of(conversation_id, sender)

    async def claim_strangers_warning(self, *, actor: Actor) -> int:
        """How many persons but admins write privately in public, for an admin who was not told of
        it yet; 0 for anybody else, and from then on."""
        await self._life.ready()
        return await self._book.claim_strangers_warning() if actor.admin else 0

    async def return_strangers_warning(self) -> None:
        """The admin who claimed it could not be reached."""
        await self._life.ready()
        await self._book.return_strangers_warning()

    async def newest(
        self,
        *,
        conversation_id: ConversationId,
        limit: int | None = None,
        said_by: Actor | None = None,
        naming: str = "",
    ) -> list[StoredMemory]:
        """The memories that the conversation may see, the newest first.

        Args:
            limit: So many at most, None for all.
            said_by: Only what this person said, by any of the person's accounts.
            naming: Only what holds each of these words, or was said by somebody of that name.
        """
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        if scope_filter is None:
            return []
        visible = self._catalogue.visible(scope_filter)
        if said_by is not None:
            same, person = self._book.same_person, said_by.person
            visible = (s for s in visible if same(person, s.memory.provenance.person))
        if words := fold(naming).split():
            visible = (s for s in visible if self._holds(s, words))
        return sorted(visible, key=lambda s: s.memory.created_at, reverse=True)[:limit]

    def _holds(self, stored: StoredMemory, words: Sequence[str]) -> bool:
        said, who = self._catalogue.folded(stored), fold(stored.memory.who)
        return all(word in said or word in who for word in words)

    async def new_rules(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> list[StoredMemory]:
        """The rules of this conversation's scope that were learned from an admin's talk, each told
        once, to an admin; nobody else is told."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        if not actor.admin or scope_filter is None:
            return []
        found = {
            one.memory.memory_id: one
            for one in self._catalogue.of_topics({Topic.INSTRUCTIONS}, scope_filter)
            if one.memory.provenance.trusted and one.memory.provenance.source is Source.REFLECTION
        }
        untold = await self._book.claim_unreported(list(found)[:_RULES_TOLD])
        return [found[memory_id] for memory_id in untold]

    async def describe(self, *, conversation_id: ConversationId) -> ScopeReport:
        """What the conversation reads and writes, and why."""
        await self._life.ready()
        scope_filter = self._access.readable(conversation_id)
        visible = sum(1 for _ in self._catalogue.visible(scope_filter)) if scope_filter else 0
        return ScopeReport(
            resolution=self._book.resolve(conversation_id),
            visible=visible,
            damaged=self._book.damaged,
            strangers_in_public=self._book.strangers_in_public,
            paused=self._paused_conversations.since(conversation_id),
            mixed_history=self._histories.current_is_mixed(conversation_id.umo),
            left=tuple(await self._former.count(self._former.of(conversation_id))),
            near=tuple((one.key, one.value) for one in self._book.near_keys(conversation_id)),
        )

    async def check_entry(self, raw: Mapping[str, object], conversation_id: ConversationId) -> str:
        """What is wrong with the conversation's scope in a map that is to be: a ``ScopeFault``, or
        empty."""
        await self._life.ready()
        entries = read_scope_map(raw, await self._editor.folders()).entries
        entry = entries.get(conversation_id.map_key)
        return str(entry.fault) if isinstance(entry, IllegalName) else ""

    async def change_map(
        self, raw: Mapping[str, object], *, conversation_id: ConversationId, actor: Actor
    ) -> MapChange | NotAllowed:
        """Go by a map in which an admin has set or dropped this conversation's entry: from the next
        message on. ``raw`` is saved already; turns that go on end in the view they began with."""
        await self._life.ready()
        if not actor.admin:
            return NotAllowed("")
        before = self._book.resolve(conversation_id)
        folders = await self._editor.folders()
        await self._life.finish(self._book.change_map(raw, conversation_id, folders))
        self._former.look_again()
        after = self._book.resolve(conversation_id)
        sharing = self._book.sharing(after.scope) if isinstance(after, Usable) else 0
        return MapChange(before, after, sharing)

    async def map_summary(self) -> MapSummary:
        """What the scope map says, for the log at start-up."""
        await self._life.ready()
        return self._book.summary()

    async def confirm_map(self, *, actor: Actor) -> int | None:
        """The map is meant as it is: how many keys it was held back for. None for anybody but an
        admin."""
        await self._life.ready()
        return await self._life.finish(self._book.confirm_map()) if actor.admin else None

    async def confirm_deletions(self, *, actor: Actor) -> int | None:
        """Forget what is held because most of its scope is gone from the files. None for anybody
        but an admin.

        Raises VaultWriteFailed.
        """
        await self._life.ready()
        return await self._life.finish(self._reconciler.confirm()) if actor.admin else None

    async def export(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> Exported | NotTransferred | NotAllowed | Rejected:
        """All living memories that the conversation sees, its own scope's and the public ones, in a
        new file below ``exports/``: for admins, for nobody else reaches that folder."""
        await self._life.ready()
        if not actor.admin:
            return NotAllowed("")
        scope_filter = self._access.exportable(conversation_id)
        if isinstance(scope_filter, Rejected):
            return scope_filter
        return await self._life.finish(self._transfer.export(scope_filter))

    async def import_(
        self, name: str, *, conversation_id: ConversationId, actor: Actor, anyway: bool = False
    ) -> Imported | NotTransferred | NotAllowed | Rejected:
        """The memories of a file in ``imports/`` into the conversation's own scope, whatever the
        file says, through the doors that every draft goes through. Admins only.

        Args:
            anyway: Also what was forgotten, edited or moved away since it was said.

        What was stored before it was cut off, by a close or a cancelled caller, is stored.
        """
        await self._life.ready()
        if not actor.admin:
            return NotAllowed("")
        scope = self._recording(conversation_id)
        if isinstance(scope, Rejected):
            return scope
        terms = Terms(scope, conversation_id.umo, anyway=anyway)
        return await self._transfer.import_named(name, terms, self._life.finish)

    async def import_for_owner(
        self,
        source: LineSource,
        scope_name: str,
        *,
        keep_trust: bool,
        new: bool,
        anyway: bool = False,
    ) -> Imported | NotTransferred | Rejected:
        """The same for whoever owns the files, from an open file into a scope that he names.

        Args:
            new: The scope may be one that has no folder yet.
            keep_trust: What the file calls trusted stays so.
            anyway: Also what was forgotten, edited or moved away since it was said.
        """
        await self._life.ready()
        known = {*await self._editor.folders(), *([scope_name] if new else [])}
        try:
            scope = target_scope(scope_name, known)
        except InvalidScope:
            scope = None
        if scope is None:
            return Rejected(RejectReason.UNKNOWN_SCOPE, detail=scope_name)
        await self._book.bring(scope)
        terms = Terms(scope, keep_trust=keep_trust, anyway=anyway)
        return await self._transfer.import_from(source, terms, self._life.finish)

    def _is_of_now(self, line: ContextLine, conversation_id: ConversationId) -> bool:
        """Heard while the conversation saw what it sees now, or put up with the question. An answer
        that may carry words of another scope is none."""
        if line.voice is Voice.BOT and self._histories.current_is_mixed(conversation_id.umo):
            return False
        return line.voice is Voice.QUOTED or line.view == self._access.view(conversation_id)

    def _recording(self, conversation_id: ConversationId) -> Scope | Rejected:
        """Where what is said goes, unless it is off the record."""
        if self._paused_conversations.since(conversation_id):
            return Rejected(RejectReason.OFF_THE_RECORD)
        return self._access.writable(conversation_id)

    # What follows is between the service and the engine that holds it.

    def opened(self) -> None:
        """Scopes can be told, and the vault is being read: recall may go on."""
        self._life.opened()

    def loaded(self) -> None:
        """The vault is read: whoever waits may go on."""
        self._life.loaded()

    def failed(self, reason: EngineOff) -> None:
        """The vault cannot be opened: whoever waits gets this."""
        self._life.failed(reason)

    async def close(self) -> None:
        """Answer EngineClosed from now on; wait for the writes that began."""
        await self._life.close()

    async def _expand_note(
        self, pointer: str, note_id: str, scope_filter: ScopeFilter | None
    ) -> Expansion:
        chunk = self._notes.find(note_id, scope_filter) if scope_filter else None
        if chunk is None:
            return PointerNotVisible(pointer)
        return ExpandedNote(await self._notes.section(chunk))


def _may_pause(conversation_id: ConversationId, actor: Actor) -> bool:
    """Whoever writes in a private chat speaks for it; in a group one would pause all others."""
    return actor.admin or conversation_id.kind is ConversationKind.PRIVATE
