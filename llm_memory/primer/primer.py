"""Makes the primer for the first turn after a pause, and what a new talk opens with."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Final

from ..catalogue.catalogue import Catalogue, key_of
from ..catalogue.rules.acquaintance import familiar_people, may_be_volunteered
from ..catalogue.rules.closing import is_over
from ..catalogue.rules.timeline import local_day
from ..errors import StateUnavailable, VaultWriteFailed
from ..index.passages import Passages
from ..log import logger
from ..models.conversation import ConversationKind
from ..models.data_models import StoredMemory, Topic
from ..models.recall import Hit
from ..models.scope import SHARED, Place, ScopeFilter
from ..models.settings import LoopSettings
from ..models.vault_layout import CONSTITUTION_PAGE, MEMORY_PAGE, PRIMER_PAGE, topic_of
from ..runtime.cooperative import cooperative
from ..runtime.identifiers import Clock
from ..scopes.access import View
from ..storage.loop_file import SqliteLoopFacts
from ..text.normalising import clean, content_hash
from ..texts import Texts
from ..vault.markdown.exclusion_list import without_list
from ..vault.markdown.marked_block import outside
from ..vault.notes.note_book import NoteBook
from ..vault.pages import PagesOnDisk, text_of
from .models import Primed, Primer, PrimerPart, PrimerSection
from .rules.opening import constitution, fit, frame_tokens, is_rule, sections_of, speakers

_DAYS_BACK: Final = timedelta(days=14)
"""So far back days are told, and somebody counts as present."""
_KNOWN_FOR: Final = timedelta(days=180)
"""So far back it is asked who is familiar."""
READ: Final = 5000
"""The newest entries of each section that are looked at, and of the days of each scope."""
_KEPT: Final = 1000
"""Conversations that are held in memory."""
_NOTED_EVERY: Final = timedelta(minutes=5)
"""A pause, which is hours long, may begin so much later: a commit in each turn is not worth its
cost."""
_LONGEST_PAGE: Final = 200_000


@dataclass(slots=True)
class _Talk:
    """What is known of a conversation. ``seen``: when the last turn that was noted began, in UTC,
    for Python subtracts two times of one zone by wall clock, which ignores DST changes. ``told``:
    digests of the rules that it was told of, as they stood. ``given_up``: its last turn did not
    wait for its primer."""

    seen: datetime | None
    told: frozenset[str]
    given_up: bool = False
    primed: Primed | None = None


@dataclass(eq=False)
class PrimerService:
    """Takes an already resolved scope filter. Reads the catalogue and three files, no index.
    ``_linked`` returns all accounts of a person. ``_at_home``: MEMORY.md and PRIMER.md may be a
    stranger's, who pushed them; the constitution counts, for a person agreed to the root."""

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
    _talks: dict[str, _Talk] = field(default_factory=dict)

    async def prime(
        self, view: View, complete: Callable[[Hit], Hit], *, new_talk: bool = False
    ) -> Primer:
        """Note that a turn begins. Returns the primer if it is the first after a pause; else the
        rules that the conversation has not been told of, and the constitution in its first turn
        and in that of a ``new_talk``. ``complete`` adds to a hit what its reader has to know.
        Raises StateUnavailable."""
        pause = timedelta(hours=self._settings.prime_after_hours)
        # With the filter switched off a primer would mix all scopes, instructions too.
        if not pause or view.seen.everything:
            return Primer()
        now, told_of = self._clock().astimezone(UTC), f"rules told {content_hash(view.where.umo)}"
        talk = await self._talk(view.where.umo, told_of)
        instructions = self._catalogue.of_topics({Topic.INSTRUCTIONS}, view.seen)
        standing = await asyncio.to_thread(_rules, instructions)
        budget = self._settings.prime_tokens - frame_tokens(self._texts)
        away = now - talk.seen if talk.seen else timedelta()
        if away >= pause:
            if talk.given_up:  # once alone: it may never be there in time
                await self._note_turn(view, talk, now)
            talk.given_up = True
            made = replace(await self.at_once(view, budget, complete), away=away)
            talk.given_up = False
            if made.sections:
                scopes = tuple(scope.name for scope in view.seen.scopes)
                talk.primed = Primed(now, away, scopes, len(made.shown))
        else:
            untold = [rule for name, rule in standing.items() if name not in talk.told]
            opens = new_talk or talk.seen is None
            made = await self.at_once(view, budget, complete, untold, opens=opens)
        await self._note_turn(view, talk, now)
        shown = made.shown
        known = {name for name, rule in standing.items() if key_of(rule) in shown}
        # In memory last: a turn that is given up leaves them to the next, as one without room does.
        # One that was reworded is news where its former words stand again.
        if (told := talk.told.intersection(standing) | known) - talk.told:
            with suppress(StateUnavailable):
                await asyncio.to_thread(self._loop_book.put_fact, told_of, " ".join(told))
            talk.told = told
        return made

    async def at_once(
        self,
        view: View,
        token_budget: int,
        complete: Callable[[Hit], Hit],
        rules: Sequence[StoredMemory] | None = None,
        *,
        opens: bool = True,
    ) -> Primer:
        """Returns where things stand now, whenever the last turn was, and notes no turn; these
        ``rules`` alone, if they are given, and the constitution where a talk ``opens``."""
        if view.seen.everything:
            return Primer()
        chosen = await self._chosen(view, rules)
        stated = await self._constitutions(view.seen) if opens else []
        told = [replace(one, hits=tuple(map(complete, one.hits))) for one in chosen]
        return Primer((*stated, *fit(told, token_budget, self._texts)))

    def primed(self, conversation: str, scope_filter: ScopeFilter) -> Primed | None:
        """Returns the last primer of a conversation if the reader still sees its sources."""
        talk = self._talks.get(conversation)
        known = talk.primed if talk else None
        return known if known and all(map(scope_filter.admits, known.scopes)) else None

    # What is known of a conversation.

    async def _talk(self, conversation: str, told_of: str) -> _Talk:
        """Raises StateUnavailable."""
        if (talk := self._talks.get(conversation)) is None:
            seen = await asyncio.to_thread(self._loop_book.last_seen, conversation)
            told = await asyncio.to_thread(self._loop_book.fact, told_of)
            if len(self._talks) >= _KEPT:
                self._talks.clear()
            talk = self._talks.setdefault(conversation, _Talk(seen, frozenset(told.split())))
        return talk

    async def _note_turn(self, view: View, talk: _Talk, now: datetime) -> None:
        if talk.seen is None or abs(now - talk.seen) >= _NOTED_EVERY:
            talk.seen, scope = now, view.seen.scopes[0].name
            with suppress(StateUnavailable):
                await asyncio.to_thread(self._loop_book.see, view.where.umo, scope, at=now)

    # What people wrote.

    async def _constitutions(self, scope_filter: ScopeFilter) -> list[PrimerSection]:
        """Returns everybody's, and behind it that of a private scope, for its conversations."""
        scope, pieces = scope_filter.scopes[0], list(self._note_book.visible(scope_filter))
        own: list[Place] = [] if self._at_home or scope.is_public else [scope]

        def read(place: Place) -> PrimerSection | None:
            path = f"{place.folder}/{CONSTITUTION_PAGE}"
            behind = [piece for piece in pieces if piece.file == path]
            return constitution(self._text(place, CONSTITUTION_PAGE), path, behind)

        told = [await asyncio.to_thread(read, place) for place in (SHARED, *own)]
        return [section for section in told if section is not None]

    def rules_changed(self, asker: str) -> bool:
        """Returns whether the constitution is another one than when the same asker was here before.
        False where the owner writes it: what a checkout brings changes unseen. Blocks."""
        if not self._at_home:
            return False
        name, digest = f"constitution {asker}", content_hash(self._text(SHARED, CONSTITUTION_PAGE))
        with suppress(StateUnavailable):
            met = self._loop_book.fact(name)
            self._loop_book.put_fact(name, digest)
            return met not in ("", digest)
        return False

    def _text(self, place: Place, name: str) -> str:
        """Returns the beginning of a file, empty for a link and for what is no UTF-8. Blocks."""
        try:
            return clean((text_of(self._pages.read(place, name)) or "")[:_LONGEST_PAGE])
        except VaultWriteFailed as error:
            logger.warning("page_not_in_primer", page=f"{place.folder}/{name}", error=error)
            return ""

    # What is remembered.

    async def _chosen(
        self, view: View, rules: Sequence[StoredMemory] | None
    ) -> list[PrimerSection]:
        """Returns each section with all that may be shown unasked: what the catalogue holds is
        copied here, and gone through in a thread."""
        seen, actor, umo = view.seen, view.who, view.where.umo
        scope, of_topics = seen.scopes[0], self._catalogue.of_topics
        now = self._clock()
        today, zone = now.date(), now.tzinfo
        if rules is not None:
            shown = {PrimerPart.RULES: rules}
            return await asyncio.to_thread(sections_of, shown, scope.name, zone)
        of_late = self._passages.of_days(today - _DAYS_BACK, today, seen, zone, READ)
        half_a_year = self._catalogue.of_days(
            today - _KNOWN_FOR, today, ScopeFilter((scope,)), zone, READ
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
            familiar = familiar_people(cooperative(heard), zone)
            people, ids = [actor], self._linked(actor.person)
            if view.where.kind is not ConversationKind.PRIVATE:
                lately = (one for one in heard if local_day(one, zone) >= today - _DAYS_BACK)
                people += speakers(lately, familiar - {actor.person})
            shown = {
                part: [
                    one
                    for one in cooperative(islice(found, READ))
                    if may_be_volunteered(one.memory, familiar, ids) and not is_over(one.memory)
                ]
                for part, found in entries.items()
            }
            # What a person wrote outside of the bot's lines.
            pages = [] if self._at_home else [MEMORY_PAGE, PRIMER_PAGE]
            owner = [outside(without_list(self._text(scope, name))) or "" for name in pages]
            return sections_of(shown, scope.name, zone, "\n".join(owner), people)

        return await asyncio.to_thread(choose)


def _rules(entries: Iterable[StoredMemory]) -> dict[str, StoredMemory]:
    """Returns the trusted instructions, which hold whoever takes part, by the digests of what they
    say. Blocks."""
    return {
        content_hash(f"{'/'.join(key_of(one))} {one.memory.judgment}")[:16]: one
        for one in cooperative(entries)
        if is_rule(one)
    }
