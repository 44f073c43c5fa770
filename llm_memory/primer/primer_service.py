"""Makes the primer for the first turn after a pause, and what a new talk opens with."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice

from ..catalogue.acquaintances import Acquaintances
from ..catalogue.catalogue import Catalogue
from ..errors import StateUnavailable, VaultWriteFailed
from ..log import logger
from ..models.conversation import Actor, ConversationId, ConversationKind
from ..models.data_models import StoredMemory, Topic
from ..models.passages import place_name
from ..models.scope import SHARED, Place, Scope, ScopeFilter
from ..models.settings import LoopSettings
from ..models.vault_layout import CONSTITUTION_PAGE, MEMORY_PAGE, PRIMER_PAGE, topic_of
from ..remember.deeds import Deeds
from ..runtime.identifiers import Clock
from ..storage.loop_facts import SqliteLoopFacts
from ..storage.state_store import SqliteStateStore
from ..text.normalising import clean, content_hash, estimate_tokens
from ..vault.markdown.exclusion_list import without_list
from ..vault.markdown.marked_block import outside
from ..vault.notes.note_book import NoteBook
from ..vault.pages import PagesOnDisk, text_of
from .changed_rules import ChangedRules
from .last_seen import LastSeen
from .models import Primed, Primer, PrimerSection
from .rules import primer as policy
from .rules.constitution import constitution
from .rules.opening import AS_MARKDOWN, Written
from .rules.primer import MOST_PEOPLE, Material, Participants, make_primer, primer_markdown

_DAYS_BACK = 14
_SPEAKERS_BACK = 30
READ = 1000
"""The newest entries of each topic and place that are considered."""
_LOOKED_AT = 5000
"""The newest entries that are scanned: strangers' entries in public are skipped."""
_KEPT = 200
"""Conversations whose last primer, and the rules they know, are kept."""
_LONGEST_PAGE = 200_000


class PrimerService:
    """Takes an already resolved scope filter. Reads the catalogue and three files, no index."""

    def __init__(
        self,
        catalogue: Catalogue,
        loop_book: SqliteLoopFacts,
        pages: PagesOnDisk,
        note_book: NoteBook,
        settings: LoopSettings,
        acquaintances: Acquaintances,
        clock: Clock,
        participants: Callable[[Scope, str, Actor], Participants],
        corrected: Deeds,
        state: SqliteStateStore,
        *,
        at_home: bool,
    ) -> None:
        """``participants`` returns the people of a conversation, given its scope, id and speaker.
        ``at_home`` is True where MEMORY.md and PRIMER.md may be a stranger's, who pushed
        them to a store that is committed. The constitution counts there, too: a person agreed to
        the root before it was opened."""
        self._corrected = corrected
        self._changed_rules = ChangedRules(state)
        self._at_home = at_home
        self._participants = participants
        self._acquaintances = acquaintances
        self._catalogue = catalogue
        self._book = loop_book
        self._seen = LastSeen(loop_book)
        self._pages = pages
        self._notes = note_book
        self._settings = settings
        self._clock = clock
        self._primed: OrderedDict[str, Primed] = OrderedDict()
        self._told: OrderedDict[str, str] = OrderedDict()
        """Digests of the rules that each conversation was told of, as they stood."""

    async def prime(
        self,
        conversation: ConversationId,
        scope_filter: ScopeFilter,
        actor: Actor,
        written: Written,
        token_budget: int,
        *,
        new_talk: bool = False,
    ) -> Primer:
        """Note that a turn begins. Returns the primer if it is the first after a pause; else the
        rules that the conversation has not been told of, and the constitution in its first turn
        and in that of a ``new_talk``.

        Raises StateUnavailable if the time of the last turn cannot be read.
        """
        # With the filter switched off a primer would mix all scopes, instructions too.
        if self._settings.prime_after_hours <= 0 or scope_filter.everything:
            return Primer()
        now, scope = self._clock(), scope_filter.scopes[0]
        before = await self._seen.before(conversation.umo, scope, now)
        pause = timedelta(hours=self._settings.prime_after_hours)
        if before is None or now - before < pause:
            opens = before is None or new_talk
            rules = await self._constitutions(scope_filter) if opens else []
            untold = _Entries(rules=await self._untold(conversation.umo, scope_filter))
            news = _make(untold, (), "", scope, now, written, token_budget)
            return _with_rules(news, rules)
        try:
            made = await self.at_once(conversation, scope_filter, actor, written, token_budget)
            await self._untold(conversation.umo, scope_filter)
        except asyncio.CancelledError:  # the turn timed out: the next one gets the primer
            self._seen.take_back(conversation.umo, before)
            raise
        self._seen.note_primed(conversation.umo)
        if made.sections:
            self._note(conversation, scope_filter, made, Primed(now, now - before, (), 0, 0))
        return replace(made, away=now - before)

    async def at_once(
        self,
        conversation: ConversationId,
        scope_filter: ScopeFilter,
        actor: Actor,
        written: Written,
        token_budget: int,
    ) -> Primer:
        """Returns where things stand now, whenever the last turn was, and notes no turn."""
        if scope_filter.everything:
            return Primer()
        now, scope = self._clock(), scope_filter.scopes[0]
        owner = await asyncio.to_thread(self._owners_words, scope)
        rules = await self._constitutions(scope_filter)
        if rules and await self.rules_changed("session"):
            rules = [replace(one, changed=True) for one in rules]
        known = self._acquaintances.of(scope, now, conversation=conversation.umo)
        people = self._people(conversation, scope, actor, now, known)
        participants = self._participants(scope, conversation.umo, actor)
        entries = self._entries(scope_filter, now, known, actor, participants.may_be_shown)
        made = await asyncio.to_thread(
            _make, entries, people, owner, scope, now, written, token_budget
        )
        return _with_rules(made, rules)

    async def _untold(self, conversation: str, scope_filter: ScopeFilter) -> list[StoredMemory]:
        """Returns the rules that the conversation sees and was not told of as they stand, and notes
        that it is told: in memory last, so that a turn that is given up leaves them to the next."""
        rules = {_digest(rule): rule for rule in self._rules(scope_filter)}
        name = f"rules told {content_hash(conversation)}"
        told = self._told.get(conversation)
        if told is None:
            told = ""
            with suppress(StateUnavailable):
                told = await asyncio.to_thread(self._book.fact, name)
            _keep(self._told, conversation, told)
        untold = [rule for digest, rule in rules.items() if digest not in told]
        if untold:
            told = " ".join(rules)
            with suppress(StateUnavailable):
                await asyncio.to_thread(self._book.put_fact, name, told)
            _keep(self._told, conversation, told)
        return untold

    def _rules(self, scope_filter: ScopeFilter) -> list[StoredMemory]:
        """Returns the trusted instructions, which hold whoever takes part."""
        return self._of(scope_filter, Topic.INSTRUCTIONS, wanted=policy.is_rule)

    def primed(self, conversation: str, scope_filter: ScopeFilter) -> Primed | None:
        """Returns the last primer of a conversation if the reader still sees its sources."""
        known = self._primed.get(conversation)
        if known is None or not all(scope_filter.admits(name) for name in known.scopes):
            return None
        return known

    def overview(self, scope: Scope) -> str:
        """Returns the text for PRIMER.md: from the scope's own entries alone, without a particular
        reader."""
        now = self._clock()
        own = ScopeFilter((scope,))
        known = self._acquaintances.of(scope, now)
        people = [] if scope.is_public else self._speakers(scope, now, known)
        entries = self._entries(own, now, known, None)
        budget = self._settings.prime_tokens
        made = _make(entries, people, "", scope, now, AS_MARKDOWN, budget)
        return primer_markdown(made, english=self._settings.english)

    def clear(self) -> None:
        """Clear the caches."""
        self._primed.clear()
        self._told.clear()
        self._seen.clear()

    def _note(
        self, conversation: ConversationId, scope_filter: ScopeFilter, made: Primer, when: Primed
    ) -> None:
        memories = sum(len(section.hits) for section in made.sections)
        scopes = tuple(scope.name for scope in scope_filter.scopes)
        primed = replace(when, scopes=scopes, memories=memories, tokens=made.tokens)
        _keep(self._primed, conversation.umo, primed)

    def _owners_words(self, scope: Scope) -> str:
        """Returns what a person wrote into MEMORY.md and PRIMER.md outside the bot's lines.
        Blocks."""
        if self._at_home:
            return ""
        texts = (self._text(scope, name) for name in (MEMORY_PAGE, PRIMER_PAGE))
        return "\n".join(outside(without_list(text)) or "" for text in texts)

    async def _constitutions(self, scope_filter: ScopeFilter) -> list[PrimerSection]:
        """Returns everybody's, and behind it that of a private scope, for its conversations."""
        scope, found = scope_filter.scopes[0], list[PrimerSection]()
        places: list[Place] = [shelf for shelf in scope_filter.shelves if shelf == SHARED]
        places += [scope] if not self._at_home and not scope.is_public else []
        for place in places:
            section = constitution(await asyncio.to_thread(self._text, place, CONSTITUTION_PAGE))
            if section is not None and section.left_at:
                path = f"{place.folder}/{CONSTITUTION_PAGE}"
                pieces = self._notes.visible(scope_filter)
                behind = (c for c in pieces if c.file == path and c.last >= section.left_at)
                first = min(behind, key=lambda chunk: chunk.first, default=None)
                section = replace(section, pointer=first.pointer if first else path)
            found += [section] if section is not None else []
        return found

    async def rules_changed(self, asker: str) -> bool:
        """Returns whether the constitution is another one than when the same asker was here before.
        False where the owner writes it: what a checkout brings changes unseen."""
        if not self._at_home:
            return False
        text = await asyncio.to_thread(self._text, SHARED, CONSTITUTION_PAGE)
        return await asyncio.to_thread(self._changed_rules.changed, asker, text)

    def _text(self, place: Place, name: str) -> str:
        """Returns a file's text, empty for a link, and what is no UTF-8 or too large. Blocks."""
        try:
            page = self._pages.read(place, name)
        except VaultWriteFailed as error:
            logger.warning("page_not_in_primer", page=f"{place.folder}/{name}", error=error)
            return ""
        if page is None or len(page.raw) > _LONGEST_PAGE:
            return ""
        return clean(text_of(page) or "")

    def _entries(
        self,
        scope_filter: ScopeFilter,
        now: datetime,
        known: frozenset[str],
        asker: Actor | None,
        may_be_shown: Callable[[StoredMemory], bool] = lambda _: True,
    ) -> _Entries:
        """Returns each section's entries that may be shown unasked."""
        since = _days_before(now, _DAYS_BACK)
        days = list(
            self._catalogue.of_days(since, now.date(), scope_filter, now.tzinfo, _LOOKED_AT)
        )

        def shown(*topics: Topic) -> list[StoredMemory]:
            entries = self._of(scope_filter, *topics, wanted=may_be_shown)
            return self._acquaintances.volunteered(entries, known, asker)

        journal = [one for one in days if topic_of(one.path) is Topic.JOURNAL and may_be_shown(one)]
        return _Entries(
            rules=self._rules(scope_filter),
            about=shown(Topic.ENTITIES, Topic.PREFERENCES),
            tasks=shown(Topic.TASKS),
            days=self._corrected.texts.without_former(
                self._acquaintances.volunteered(journal, known, asker), days
            ),
        )

    def _of(
        self,
        scope_filter: ScopeFilter,
        *topics: Topic,
        wanted: Callable[[StoredMemory], bool],
    ) -> list[StoredMemory]:
        """Returns the newest wanted entries of each topic and place."""
        found: list[StoredMemory] = []
        for topic in topics:
            for one in _single_places(scope_filter):
                some = islice(self._catalogue.of_topics({topic}, one), _LOOKED_AT)
                found += islice(filter(wanted, some), READ)
        return found

    def _people(
        self,
        conversation: ConversationId,
        scope: Scope,
        actor: Actor,
        now: datetime,
        known: frozenset[str],
    ) -> list[Actor]:
        """Returns the speaker; in a group also the latest of its scope's familiar people."""
        if conversation.kind is ConversationKind.PRIVATE:
            return [actor]
        others = self._speakers(scope, now, known - {actor.person}, conversation.umo)
        return [actor, *others][:MOST_PEOPLE]

    def _speakers(
        self, scope: Scope, now: datetime, known: frozenset[str], conversation: str = ""
    ) -> list[Actor]:
        """Returns the latest of the ``known`` people who spoke; in public only those of this
        conversation, for the others there are strangers."""
        lately = self._catalogue.of_days(
            _days_before(now, _SPEAKERS_BACK), now.date(), ScopeFilter((scope,)), now.tzinfo, READ
        )
        return _named(
            stored
            for stored in lately
            if stored.memory.provenance.account in known
            and (not scope.is_public or stored.memory.provenance.conversation == conversation)
        )


@dataclass(frozen=True, slots=True)
class _Entries:
    """The entries that a primer is chosen from."""

    rules: Sequence[StoredMemory]
    about: Sequence[StoredMemory] = ()
    tasks: Sequence[StoredMemory] = ()
    days: Sequence[StoredMemory] = ()


def _keep[T](kept: OrderedDict[str, T], conversation: str, value: T) -> None:
    kept[conversation] = value
    kept.move_to_end(conversation)
    while len(kept) > _KEPT:
        kept.popitem(last=False)


def _digest(rule: StoredMemory) -> str:
    text = f"{place_name(rule)}/{rule.memory.memory_id} {rule.memory.judgment}"
    return content_hash(text)[:16]


def _with_rules(primer: Primer, rules: Sequence[PrimerSection]) -> Primer:
    if not rules:
        return primer
    lines = (line for one in rules for line in one.words)
    tokens = primer.tokens + sum(estimate_tokens(f"{line}\n") for line in lines)
    return replace(primer, sections=(*rules, *primer.sections), tokens=tokens)


def _make(
    entries: _Entries,
    people: Sequence[Actor],
    owner: str,
    scope: Scope,
    now: datetime,
    written: Written,
    token_budget: int,
) -> Primer:
    material = Material(
        rules=policy.rules(entries.rules),
        owner=owner,
        people=people,
        about=policy.about_people(people, entries.about, scope.name),
        tasks=policy.open_tasks(entries.tasks, scope.name),
        days=policy.last_days(entries.days, scope.name, now.tzinfo),
    )
    return make_primer(
        material,
        token_budget=token_budget,
        line=written.line,
        heading=written.heading,
        words=written.words,
    )


def _single_places(scope_filter: ScopeFilter) -> Iterator[ScopeFilter]:
    """Yields a filter for each single place, so that each has its own limit."""
    for scope in scope_filter.scopes:
        yield ScopeFilter((scope,))
    for shelf in scope_filter.shelves:
        yield ScopeFilter((), shelves=(shelf,))


def _days_before(now: datetime, days: int) -> date:
    return now.date() - timedelta(days=days)


def _named(said: Iterable[StoredMemory]) -> list[Actor]:
    people: dict[str, Actor] = {}
    for stored in said:
        origin = stored.memory.provenance
        if origin.account and origin.who:
            people.setdefault(origin.account, Actor(origin.account, origin.who))
        if len(people) >= MOST_PEOPLE:
            break
    return list(people.values())
