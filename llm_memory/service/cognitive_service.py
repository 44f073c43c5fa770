"""The engine's entry: the only place where a conversation gets its scope."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..models.conversation import Actor, ConversationId
from ..models.data_models import (
    EditOutcome,
    ForgetOutcome,
    MemoryDraft,
    MoveOutcome,
    NotAllowed,
    Rejected,
    RememberOutcome,
    RestoreOutcome,
    StoredMemory,
    Topic,
)
from ..models.decisions import DecisionChange, DecisionOutcome
from ..models.recall import (
    Expanded,
    ExpandedNote,
    Expansion,
    Explained,
    FileText,
    Hit,
    PointerNotVisible,
    Recall,
    Told,
)
from ..models.roles import Noted, NotHeld, NotNoted, RoleNote
from ..models.settings import EngineSettings
from ..models.status import ScopeReport
from ..models.talk import ContextLine
from ..models.tasks import TaskChange, TaskReport
from ..models.transcript import KeptHistory, NoTalk, Transcript
from ..models.transfer import Exported, Imported, NotTransferred
from ..models.turns import (
    Feedback,
    FeedbackReport,
    ObserveOutcome,
    PauseOutcome,
    ResumeOutcome,
    Ticket,
    Turn,
)
from ..primer.models import Overview, Primed, Primer
from ..primer.primer_service import Written
from ..recall.request import RecallRequest
from ..runtime.lifecycle import Lifespan
from ..scopes.access import Access, ConversationView
from ..transfer.line_files import LineFile
from ..vault.models import UndoRecord
from .conversations import Conversations
from .corrections import Corrections
from .decisions import DecisionDesk
from .file_reading import FileReading
from .recalls import REFUSED, Recalls
from .scope_admin import ScopeAdmin
from .souls import Souls
from .transcripts import Transcripts
from .turns import TurnRequest, Turns, TurnStart
from .writes import Writes


@dataclass(eq=False)
class CognitiveService:
    """Takes a ConversationId, derives the scope, and does what is asked inside it.

    Every method waits until the vault is read, but recall: that answers from what has been read so
    far. No call waits for the index. After ``close`` every method raises EngineClosed, and
    EngineOff where the vault could not be opened.
    """

    _settings: EngineSettings
    _life: Lifespan
    _access: Access
    _turns: Turns
    _recalls: Recalls
    _files: FileReading
    _transcripts: Transcripts
    _writes: Writes
    _corrections: Corrections
    conversations: Conversations
    """What is known of conversations and of who speaks in them."""
    admin: ScopeAdmin
    """What admins decide about scopes."""
    _decisions: DecisionDesk
    souls: Souls
    """The manner that personas have learned."""

    async def _view(self, conversation_id: ConversationId) -> ConversationView:
        """What the conversation may see and do, once the vault is read."""
        await self._life.ready()
        return self._access.view(conversation_id)

    async def begin_turn(
        self, request: TurnRequest, *, conversation_id: ConversationId, actor: Actor
    ) -> TurnStart:
        """Everything that a turn is told when it begins, its scope resolved once: the view's mark,
        the recall, the primer. To be asked once a turn, for it notes when the turn came.

        A part that is not there after ``request.seconds``, or failed, is empty, and ``faults`` says
        why; only a cancelled caller is raised.
        """
        return await self._turns.begin(request, conversation_id, actor)

    async def remember(
        self, draft: MemoryDraft, *, conversation_id: ConversationId
    ) -> RememberOutcome:
        """Store a draft in the conversation's own scope. What returns Stored is on disk."""
        return await self._writes.remember(draft, await self._view(conversation_id))

    async def recall(
        self,
        query: str,
        *,
        conversation_id: ConversationId,
        limit: int,
        token_budget: int,
        actor: Actor | None = None,
        line: Callable[[Hit], str] | None = None,
        days: int = 0,
        context: Sequence[ContextLine] = (),
        in_talk: bool = False,
        topic: Topic | None = None,
        on: str = "",
    ) -> Recall:
        """At most ``limit`` relevant memories that fit the budget; none where none is relevant.

        Args:
            actor: Who asks: 我 is that person.
            line: What is injected of a hit; the budget counts its tokens.
            days: What answers a question about days alone may be one memory for each of so many
                of them, whatever the limit is. The budget holds.
            context: What was said just before, the earliest first. Lines of another view than the
                conversation has now are not used; see ``Talk`` for what is made of the others.
            in_talk: The query is a person's message, not a search: it may ask for nothing.
            topic: Only what stands in its files.
            on: Only what is of the days that these words name, see ``days_named``.
        """
        await self._life.begun(wait_seconds=self._settings.load_seconds)
        view = self._access.view(conversation_id)
        if view.readable is None:
            return Recall(trace=REFUSED)
        request = RecallRequest(
            query,
            view.readable,
            limit,
            token_budget,
            actor,
            line,
            days,
            context,
            in_talk,
            topic,
            on,
        )
        return await self._recalls.recall(request, view)

    async def announce(self, query: str, *, conversation_id: ConversationId) -> None:
        """``recall`` will be asked this in a moment: what can be done for it begins already. The
        persona need not be known. Nothing is looked for, and nothing kept but for that recall.

        Never raises for a broken index or embedder.
        """
        await self._life.begun()
        await self._recalls.announce(query, self._access.view(conversation_id))

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

        Raises StateUnavailable if the time of the last turn is unknown.
        """
        view = await self._view(conversation_id)
        budget = self._settings.loop.prime_tokens if token_budget is None else token_budget
        return await self._turns.prime(view, actor, written, budget)

    async def last_primer(self, *, conversation_id: ConversationId) -> Primed | None:
        """That this conversation got one, as far as it may see what it was made of."""
        return self._turns.last_primer(await self._view(conversation_id))

    async def update_tasks(
        self, change: TaskChange, *, conversation_id: ConversationId, actor: Actor
    ) -> TaskReport | Rejected:
        """Add tasks to the conversation's own scope, say that some are done, or list those that it
        sees. None is ever dropped. Every speaker there may."""
        view = await self._view(conversation_id)
        return await self._writes.update_tasks(change, view, actor)

    async def explain(self, *, conversation_id: ConversationId) -> list[Explained]:
        """The last recalls of this conversation, the newest first, as far as it may see them."""
        return self._recalls.explain(await self._view(conversation_id))

    def last_recalls(self) -> list[Told]:
        """Of every conversation, the newest first: for the owner of the files."""
        return self._recalls.last()

    async def expand(self, pointer: str, *, conversation_id: ConversationId) -> Expansion:
        """The whole entry, or section of a note, behind a pointer that the conversation may see."""
        return await self._recalls.expand(pointer, await self._view(conversation_id))

    async def transcript(
        self, pointer: str, *, conversation_id: ConversationId, kept: KeptHistory
    ) -> Transcript | NoTalk | PointerNotVisible:
        """The talk that a memory or a decision came from, or those of a day's journal, only in the
        conversation and the scope in which it was said. Nothing is stored. Raises what ``kept``
        raises."""
        view = await self._view(conversation_id)
        match await self._recalls.expand(pointer, view):
            case Expanded(stored):
                return await self._transcripts.of(stored, view, kept)
            case ExpandedNote(section):
                return await self._transcripts.of_record(section, view, kept)
            case PointerNotVisible() as absent:
                return absent

    async def read(
        self, where: str, *, conversation_id: ConversationId
    ) -> FileText | PointerNotVisible:
        """What a pointer leads to, or a file of the conversation's own scope or of ``shared/`` by
        its path, without what the conversation may not see. What is absent and what is not to be
        seen are answered alike."""
        return await self._files.read(where, await self._view(conversation_id))

    async def overview(
        self, *, conversation_id: ConversationId, actor: Actor, token_budget: int
    ) -> Overview:
        """Where things stand, for a reader who asks: rules, tasks, the last days, as
        ``primer_markdown`` writes them, and the headings of ``shared/``. Notes no turn."""
        view = await self._view(conversation_id)
        primer = await self._turns.overview(view, actor, token_budget)
        sessions = await self._files.last_sessions(view)
        return Overview(primer, self._files.shared_headings(view), sessions)

    async def refresh_overview(self, *, conversation_id: ConversationId) -> None:
        """Write MEMORY.md and PRIMER.md of the conversation's own scope anew, as the nightly run
        does. Raises VaultWriteFailed."""
        await self._writes.refresh_overview(await self._view(conversation_id))

    async def note_role(
        self, note: RoleNote, *, conversation_id: ConversationId
    ) -> Noted | NotHeld | NotNoted | Rejected:
        """Append what a session did to the day's file of the role that the caller holds, and renew
        that role's MEMORY.md. The same words of today or yesterday are one block."""
        return await self._writes.note_role(note, await self._view(conversation_id))

    async def forget(
        self,
        memory_id: str,
        *,
        conversation_id: ConversationId,
        actor: Actor,
        for_good: bool = False,
    ) -> ForgetOutcome | Rejected:
        """Move an entry to the archive: its speaker wherever it is seen, an admin where he
        may edit it.

        ``for_good``: out of the archive, too, also if it was forgotten before. No undo.
        """
        (outcome,) = await self.forget_many(
            [memory_id], conversation_id=conversation_id, actor=actor, for_good=for_good
        )
        return outcome

    async def forget_many(
        self,
        ids: Sequence[str],
        *,
        conversation_id: ConversationId,
        actor: Actor,
        for_good: bool = False,
    ) -> list[ForgetOutcome | Rejected]:
        """The same of several as one deed, with one undo: an outcome for each id."""
        view = await self._view(conversation_id)
        return await self._corrections.forget(ids, view, actor, for_good=for_good)

    async def speakers(self, name: str, *, conversation_id: ConversationId) -> dict[str, int]:
        """Who of the speakers whom the conversation sees is called so, or has this account: one
        account of each person, and how many memories the person said."""
        return await self._recalls.speakers(await self._view(conversation_id), name)

    async def ids_said_by(self, person: str, *, conversation_id: ConversationId) -> list[str]:
        """The ids of all that the conversation sees and this person said, by any of the person's
        accounts; also of what is not read yet."""
        view = await self._view(conversation_id)
        return await self._recalls.ids_said_by(view, person)

    async def decide(
        self, change: DecisionChange, *, conversation_id: ConversationId, actor: Actor
    ) -> DecisionOutcome:
        """List, accept, reject or withdraw decisions. Admins only. Accepting publishes words of the
        conversation's own scope in ``shared/``, which every conversation reads."""
        return await self._decisions.decide(change, await self._view(conversation_id), actor)

    async def edit(
        self, memory_id: str, text: str, *, conversation_id: ConversationId, actor: Actor
    ) -> EditOutcome | Rejected:
        """Give an entry other words. Admins only: of the conversation's own scope, and in their
        own private chat whatever they see there."""
        view = await self._view(conversation_id)
        return await self._corrections.edit(memory_id, text, view, actor)

    async def move(
        self, memory_id: str, scope_name: str, *, conversation_id: ConversationId, actor: Actor
    ) -> MoveOutcome | Rejected:
        """Move an entry to another scope, by whom it may be edited."""
        view = await self._view(conversation_id)
        return await self._corrections.move(memory_id, scope_name, view, actor)

    async def restore(
        self, memory_id: str = "", *, conversation_id: ConversationId, actor: Actor
    ) -> RestoreOutcome | Rejected:
        """Take back what was done last to an entry that the conversation sees or saw: forgotten,
        it comes back; edited, it has its former words; moved, it is here again.

        Without an id: the last that this person did in this conversation and that can still be
        undone; if that was to bring what was left behind, all of it goes back. NotVisible names
        what was changed since, if that is why nothing can. Raises StateUnavailable, EngineClosed.
        """
        view = await self._view(conversation_id)
        if memory_id:
            return await self._corrections.restore(memory_id, view, actor)
        return await self._corrections.undo_last(view, actor)

    async def undo(
        self, done: UndoRecord, *, conversation_id: ConversationId, actor: Actor
    ) -> RestoreOutcome | Rejected:
        """Take back this very deed, if nothing else was done to the entry since."""
        return await self._corrections.undo(done, await self._view(conversation_id), actor)

    async def observe(self, turn: Turn, *, conversation_id: ConversationId) -> ObserveOutcome:
        """Queue a finished turn durably. Its scope is fixed now, whatever the map says later."""
        await self._life.ready()
        return await self._turns.put(turn, conversation_id)

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
        return await self._turns.mark(self._access.view(conversation_id), history, empty=empty)

    async def feedback(self, feedback: Feedback, *, ticket: Ticket) -> FeedbackReport:
        """Apply what was learned from a queued turn, inside the scope of that turn.

        While learning is paused the turn stays in the queue.
        """
        await self._life.ready()
        return await self._writes.feedback(feedback, ticket)

    async def pause(
        self, *, conversation_id: ConversationId, actor: Actor, until: datetime | None = None
    ) -> PauseOutcome:
        """Off the record from now on: nothing of the conversation is queued or stored, and nothing
        recalled in it. Its person may, in a private chat; elsewhere admins. What was queued before
        stays. ``until``: it ends by itself then, aware; None for never.

        Raises StateUnavailable, and then it is not paused.
        """
        return await self.conversations.pause(await self._view(conversation_id), actor, until)

    async def resume(self, *, conversation_id: ConversationId, actor: Actor) -> ResumeOutcome:
        """On the record again, by a person who may pause it. Raises StateUnavailable."""
        await self._life.ready()
        return await self.conversations.resume(conversation_id, actor)

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
            naming: Only what holds each of these words, or was said by a person of that name.
        """
        view = await self._view(conversation_id)
        return await self._recalls.newest(view, limit=limit, said_by=said_by, naming=naming)

    async def told(
        self,
        found: Sequence[StoredMemory],
        *,
        conversation_id: ConversationId,
        actor: Actor,
        chars: int,
    ) -> list[Hit]:
        """Memories that the conversation sees, as recall tells them: with what is to be known of
        their speakers and of their standing, and at most ``chars`` characters of each."""
        view = await self._view(conversation_id)
        return self._recalls.told(found, view, actor, chars)

    async def new_rules(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> list[StoredMemory]:
        """The rules of this conversation's scope that were learned from an admin's talk, each told
        once, to an admin alone."""
        return await self.conversations.new_rules(await self._view(conversation_id), actor)

    async def describe(self, *, conversation_id: ConversationId) -> ScopeReport:
        """What the conversation reads and writes, and why."""
        return await self.conversations.describe(await self._view(conversation_id))

    async def export(
        self, *, conversation_id: ConversationId, actor: Actor
    ) -> Exported | NotTransferred | NotAllowed | Rejected:
        """All living memories that the conversation sees, its own scope's and the public ones, in a
        new file below ``exports/``: for admins, who alone reach that folder."""
        return await self._writes.export(await self._view(conversation_id), actor)

    async def import_(
        self, name: str, *, conversation_id: ConversationId, actor: Actor, anyway: bool = False
    ) -> Imported | NotTransferred | NotAllowed | Rejected:
        """The memories of a file in ``imports/`` into the conversation's own scope, whatever the
        file says, through the doors that every draft goes through. Admins only.

        Args:
            anyway: Also what was forgotten, edited or moved away since it was said.

        What was stored before it was cut off, by a close or a cancelled caller, is stored.
        """
        view = await self._view(conversation_id)
        return await self._writes.import_(name, view, actor, anyway=anyway)

    async def import_for_owner(
        self,
        source: LineFile,
        scope_name: str,
        *,
        keep_trust: bool,
        new: bool,
        anyway: bool = False,
    ) -> Imported | NotTransferred | Rejected:
        """The same for the owner of the files, from an open file into a scope by its name.

        Args:
            new: The scope may be one that has no folder yet.
            keep_trust: What the file calls trusted stays so.
            anyway: Also what was forgotten, edited or moved away since it was said.
        """
        await self._life.ready()
        return await self._writes.import_for_owner(
            source, scope_name, keep_trust=keep_trust, new=new, anyway=anyway
        )
