"""Makes the primer for the first turn after a pause, and what a new talk opens with."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue
from ..catalogue.rules.acquaintance import familiar_people, may_be_volunteered
from ..catalogue.rules.closing import is_over
from ..catalogue.rules.timeline import local_day
from ..errors import StateUnavailable, VaultWriteFailed
from ..index.passages import Passages
from ..log import logger
from ..models.conversation import ConversationKind
from ..models.data_models import StoredMemory, Topic
from ..models.passages import place_name
from ..models.recall import Hit
from ..models.scope import SHARED, Place, Scope, ScopeFilter
from ..models.settings import LoopSettings
from ..models.vault_layout import CONSTITUTION_PAGE, MEMORY_PAGE, PRIMER_PAGE, topic_of
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..scopes.access import View
from ..storage.loop_facts import SqliteLoopFacts
from ..text.normalising import clean, content_hash, estimate_tokens
from ..texts import Texts
from ..vault.markdown.exclusion_list import without_list
from ..vault.markdown.marked_block import outside
from ..vault.notes.note_book import NoteBook
from ..vault.pages import PagesOnDisk, text_of
from .models import Primed, Primer, PrimerPart, PrimerSection
from .rules.opening import (
    constitution,
    fit,
    frame_tokens,
    is_rule,
    latest_speakers,
    sections_of,
)

_DAYS_BACK: Final = timedelta(days=14)
_HEARD_BACK: Final = timedelta(days=30)
"""So far back somebody counts as present."""
_KNOWN_FOR: Final = timedelta(days=180)
"""So far back it is asked who is familiar."""
READ: Final = 5000
"""The newest entries of each section that are looked at, and of the days of each scope."""
_KEPT: Final = 1000
"""Conversations that are held in memory."""
WRITTEN_EVERY: Final = timedelta(minutes=5)
"""A kill may lose this much of a pause, which is hours long: a commit in each turn is not worth its
cost."""
_LONGEST_PAGE: Final = 200_000


@dataclass(slots=True)
class _Talk:
    """What is known of a conversation.

    Attributes:
        seen: When its last turn began, in UTC: Python subtracts two times of one zone by wall
            clock, which ignores DST changes.
        written: Which turn is noted on disk.
        told: Digests of the rules that it was told of, as they stood.
        given_up: Its last turn did not wait for its primer.
    """

    seen: datetime | None
    told: frozenset[str]
    written: datetime | None = None
    primed: Primed | None = None
    given_up: bool = False


@dataclass(eq=False)
class PrimerService:
    """Takes an already resolved scope filter. Reads the catalogue and three files, no index.

    ``_linked`` returns all accounts of a person. ``_at_home`` is True where MEMORY.md and PRIMER.md
    may be a stranger's, who pushed them to a store that is committed. The constitution counts
    there, too: a person agreed to the root before it was opened.
    """

    _catalogue: Catalogue
    _loop_book: SqliteLoopFacts
    _pages: PagesOnDisk
    _note_book: NoteBook
    _settings: LoopSettings
    _texts: Texts
    _clock: Clock
    _linked: Callable[[str], Collection[str]]
    _passages: Passages
    _at_home: bool
    _talks: OrderedDict[str, _Talk] = field(default_factory=OrderedDict)

    async def prime(
        self, view: View, complete: Callable[[Hit], Hit], *, new_talk: bool = False
    ) -> Primer:
        """Note that a turn begins. Returns the primer if it is the first after a pause; else the
        rules that the conversation has not been told of, and the constitution in its first turn
        and in that of a ``new_talk``. ``complete`` adds to a hit what its reader has to know.

        Raises StateUnavailable if the time of the last turn cannot be read.
        """
        # With the filter switched off a primer would mix all scopes, instructions too.
        if self._settings.prime_after_hours <= 0 or view.seen.everything:
            return Primer()
        now, talk = self._clock(), await self._talk(view.where.umo)
        instructions = self._catalogue.of_topics({Topic.INSTRUCTIONS}, view.seen)
        standing = await asyncio.to_thread(_rules, instructions)
        untold = [rule for name, rule in standing.items() if name not in talk.told]
        budget = self._settings.prime_tokens - frame_tokens(self._texts)
        away = now.astimezone(UTC) - talk.seen if talk.seen else None
        if away and away >= timedelta(hours=self._settings.prime_after_hours):
            if talk.given_up:  # once alone: it may never be there in time
                await self._note_turn(view, talk, now)
            talk.given_up = True
            made = replace(await self.at_once(view, budget, complete), away=away)
            talk.given_up = False
            if made.sections:
                scopes = tuple(scope.name for scope in view.seen.scopes)
                talk.primed = Primed(now, away, scopes, len(made.shown))
        else:
            opens = new_talk or talk.seen is None
            rules_alone, own = {PrimerPart.RULES: untold}, view.seen.scopes[0].name
            chosen = await asyncio.to_thread(sections_of, rules_alone, own, now.tzinfo)
            rules = await self._constitutions(view.seen) if opens else []
            made = self._fitted(chosen, rules, budget, complete)
        await self._note_turn(view, talk, now)
        shown = made.shown
        known = {name for name, rule in standing.items() if _name(rule) in shown}
        # In memory last: a turn that is given up leaves them to the next, as one without room does.
        # One that was reworded is news where its former words stand again.
        if (told := talk.told.intersection(standing) | known) - talk.told:
            name = _told_fact(view.where.umo)
            with suppress(StateUnavailable):
                await asyncio.to_thread(self._loop_book.put_fact, name, " ".join(told))
            talk.told = told
        return made

    async def at_once(
        self, view: View, token_budget: int, complete: Callable[[Hit], Hit]
    ) -> Primer:
        """Returns where things stand now, whenever the last turn was, and notes no turn."""
        if view.seen.everything:
            return Primer()
        chosen = await self._chosen(view)
        rules = await self._constitutions(view.seen)
        changed = bool(rules) and await asyncio.to_thread(self.rules_changed, "session")
        rules = [replace(one, changed=changed) for one in rules]
        return self._fitted(chosen, rules, token_budget, complete)

    def _fitted(
        self,
        chosen: Iterable[PrimerSection],
        rules: Sequence[PrimerSection],
        token_budget: int,
        complete: Callable[[Hit], Hit],
    ) -> Primer:
        told = [replace(one, hits=tuple(map(complete, one.hits))) for one in chosen]
        made = fit(told, token_budget, self._texts)
        cost = sum(estimate_tokens(f"{line}\n") for one in rules for line in one.words)
        return replace(made, sections=(*rules, *made.sections), tokens=made.tokens + cost)

    def primed(self, conversation: str, scope_filter: ScopeFilter) -> Primed | None:
        """Returns the last primer of a conversation if the reader still sees its sources."""
        talk = self._talks.get(conversation)
        known = talk.primed if talk else None
        return known if known and all(map(scope_filter.admits, known.scopes)) else None

    def clear(self) -> None:
        """Forget what is on disk as well."""
        self._talks.clear()

    # What is known of a conversation.

    async def _talk(self, conversation: str) -> _Talk:
        """Raises StateUnavailable."""
        talk = self._talks.get(conversation)
        if talk is None:
            book, fact = self._loop_book, _told_fact(conversation)
            talk = await asyncio.to_thread(
                lambda: _Talk(book.last_seen(conversation), frozenset(book.fact(fact).split()))
            )
        self._talks[conversation] = talk
        self._talks.move_to_end(conversation)
        while len(self._talks) > _KEPT:
            self._talks.popitem(last=False)
        return talk

    async def _note_turn(self, view: View, talk: _Talk, now: datetime) -> None:
        talk.seen, scope = now.astimezone(UTC), view.seen.scopes[0].name
        if not talk.written or not timedelta() <= talk.seen - talk.written < WRITTEN_EVERY:
            talk.written = talk.seen
            with suppress(StateUnavailable):
                await asyncio.to_thread(self._loop_book.see, view.where.umo, scope, at=talk.seen)

    # What people wrote.

    async def _constitutions(self, scope_filter: ScopeFilter) -> list[PrimerSection]:
        """Returns everybody's, and behind it that of a private scope, for its conversations."""
        scope, found = scope_filter.scopes[0], list[PrimerSection]()
        places: list[Place] = [shelf for shelf in scope_filter.shelves if shelf == SHARED]
        places += [scope] if not self._at_home and not scope.is_public else []
        for place in places:
            section = constitution(await asyncio.to_thread(self._text, place, CONSTITUTION_PAGE))
            if section is not None and section.left_at:
                path = f"{place.folder}/{CONSTITUTION_PAGE}"
                pieces = self._note_book.visible(scope_filter)
                behind = (c for c in pieces if c.file == path and c.last >= section.left_at)
                pointer = min(((c.first, c.pointer) for c in behind), default=(0, path))[1]
                section = replace(section, pointer=pointer)
            found += [section] if section is not None else []
        return found

    def rules_changed(self, asker: str) -> bool:
        """Returns whether the constitution is another one than when the same asker was here before.
        False where the owner writes it: what a checkout brings changes unseen. Blocks."""
        if not self._at_home:
            return False
        name, digest = f"constitution {asker}", content_hash(self._text(SHARED, CONSTITUTION_PAGE))
        with suppress(StateUnavailable):
            met = self._loop_book.fact(name)
            if met != digest:
                self._loop_book.put_fact(name, digest)
                return bool(met)
        return False

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

    # What is remembered.

    async def _chosen(self, view: View) -> list[PrimerSection]:
        """Returns each section with all that may be shown unasked: what the catalogue holds is
        copied here, and gone through in a thread."""
        now, seen, umo, actor = self._clock(), view.seen, view.where.umo, view.who
        scope, today, of_topics = seen.scopes[0], now.date(), self._catalogue.of_topics
        of_late = self._passages.of_days(today - _DAYS_BACK, today, seen, now.tzinfo, READ)
        half_a_year = self._catalogue.of_days(
            today - _KNOWN_FOR, today, ScopeFilter((scope,)), now.tzinfo, READ
        )
        entries = {
            PrimerPart.RULES: filter(is_rule, of_topics({Topic.INSTRUCTIONS}, seen)),
            PrimerPart.PEOPLE: of_topics((Topic.ENTITIES, Topic.PREFERENCES), seen),
            PrimerPart.TASKS: of_topics({Topic.TASKS}, seen),
            PrimerPart.DAYS: (one for one in of_late if topic_of(one.path) is Topic.JOURNAL),
        }

        def choose() -> list[PrimerSection]:
            heard = list(cooperative(half_a_year))
            if scope.is_public:  # whose people are strangers to each other
                heard = [one for one in heard if one.memory.provenance.conversation == umo]
            familiar = familiar_people(cooperative(heard), now.tzinfo)
            people, ids = [actor], self._linked(actor.person)
            if view.where.kind is not ConversationKind.PRIVATE:
                first = today - _HEARD_BACK
                lately = (one for one in heard if local_day(one, now.tzinfo) >= first)
                people += latest_speakers(lately, familiar - {actor.person})
            shown = {
                part: [
                    one
                    for one in cooperative(islice(found, READ))
                    if may_be_volunteered(one.memory, familiar, ids) and not is_over(one.memory)
                ]
                for part, found in entries.items()
            }
            owner = "" if self._at_home else self._owners_words(scope)
            return sections_of(shown, scope.name, now.tzinfo, owner, people)

        return await asyncio.to_thread(choose)

    def _owners_words(self, scope: Scope) -> str:
        """Returns what a person wrote into MEMORY.md and PRIMER.md outside the bot's lines."""
        texts = (self._text(scope, name) for name in (MEMORY_PAGE, PRIMER_PAGE))
        return "\n".join(outside(without_list(text)) or "" for text in texts)


def _told_fact(conversation: str) -> str:
    return f"rules told {content_hash(conversation)}"


def _rules(entries: Iterable[StoredMemory]) -> dict[str, StoredMemory]:
    """Returns the trusted instructions, which hold whoever takes part, by the digests of what they
    say. Blocks."""
    return {_digest(stored): stored for stored in cooperative(entries) if is_rule(stored)}


def _digest(rule: StoredMemory) -> str:
    return content_hash(f"{'/'.join(_name(rule))} {rule.memory.judgment}")[:16]


def _name(stored: StoredMemory) -> tuple[str, str]:
    return place_name(stored), stored.memory.memory_id
