"""The laws, told once: whatever is said, corrected, edited by hand, remapped, slept on and killed,
in whatever order, a place sees exactly what is its own or everybody's, by every door."""

from __future__ import annotations

import asyncio
import copy
import tempfile
from collections.abc import Callable, Coroutine, Hashable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.llm_memory.models.status import ScopeReport
from astrbot_plugin_scoped_memory.tests.laws.cast import (
    ADMINS,
    BOSS,
    CANARIES,
    MING,
    MOST_TEXTS,
    NAMES,
    OTHER_BOSS,
    PERSONS,
    PLACES,
    PUBLIC,
    SAID,
    TITLES,
    WRONG,
    Person,
    Place,
    text,
    words_in,
)
from astrbot_plugin_scoped_memory.tests.laws.doors import (
    IDS,
    SILENT_ON_PAUSE,
    SOME_IDS,
    TELLING,
    Asking,
)
from astrbot_plugin_scoped_memory.tests.laws.living_bot import (
    REAL,
    RUNGS,
    Found,
    LivingBot,
    conversation,
    scope_name,
)
from astrbot_plugin_scoped_memory.tests.laws.model import Entry, Model, Stands
from astrbot_plugin_scoped_memory.tests.support.searched_files import files_holding

pytestmark = [pytest.mark.engine, pytest.mark.property]


places = st.sampled_from(PLACES)
persons = st.sampled_from(PERSONS)
admins = st.sampled_from(ADMINS)
said = st.integers(0, SAID - 1).map(text)
titles = st.sampled_from(TITLES).map(text)
numbers = st.integers(0, 11)
names = st.sampled_from(NAMES)
maps = st.dictionaries(
    st.sampled_from([key for where in PLACES for key in where.keys]),
    st.sampled_from([*NAMES, *NAMES, *WRONG]),
    max_size=6,
)


class Life(RuleBasedStateMachine):
    """A bot's life beside the model's."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.fresh = SAID + len(TITLES)
        self.turn = 0
        self.kept: list[tuple[str, list[Entry]]] = []
        """Exports: the file, and what it holds."""
        self.unsure = False
        """A kill came where it is not known whether an undo was noted."""
        self.buffer: tuple[Found, bytes, dict[str, str]] | None = None
        """A file in an editor, as it was then, and the entries in it."""
        self.views: dict[Place, Hashable] = {}
        """What each place was to see when the doors were opened last."""

    @initialize(
        scope_map=maps, rung=st.sampled_from(RUNGS), per_peer=st.booleans(), per_group=st.booleans()
    )
    def begin(self, scope_map: dict[str, str], rung: str, per_peer: bool, per_group: bool) -> None:
        self.bot = self.made(rung)
        self.model.scope_map = scope_map
        self.model.per_peer, self.model.per_group = per_peer, per_group
        self.bot.start(scope_map, per_peer=per_peer, per_group=per_group)
        self.look()

    def made(self, rung: str) -> LivingBot:
        """Over an empty folder."""
        return LivingBot(Path(self._folder.name), rung)

    # How it is compared

    def do[T](
        self,
        change: Callable[[Model], T],
        deed: Callable[[], Coroutine[Any, Any, Any]],
        *,
        where: Place | None = None,
    ) -> tuple[T, Any]:
        """Both do it. A bot that was killed meanwhile stands where it stood before, or behind."""
        self.model.now += 1
        before = copy.deepcopy(self.model) if self.bot.die_at is not None else None
        queued = self.bot.queued() if before else 0
        right = change(self.model)
        answer = self.bot.deed(deed)
        if before is not None and not self.bot.had_ended:
            self.awake(before, is_queued=self.bot.queued() > queued)
        self.look([where] if where else None)
        return right, answer

    def awake(self, before: Model, *, is_queued: bool) -> None:
        """After a kill: a deed is done or not; of many things that were learned each is or not."""
        found, after = self._facts(), self.model
        waits = len(after.waiting()) > len(before.waiting())
        paused = {place.line for place in PLACES if self._report(place).paused}
        assert paused in (before.paused, after.paused)
        is_done = (is_queued or not waits) and paused == after.paused
        if found == self._facts_of(after) and is_done:
            # A kill between a deed and its note: then it cannot be undone.
            self.unsure |= len(after.deeds) != len(before.deeds)
        elif found == self._facts_of(before):
            self.model = before
        else:
            assert self._facts_of(before) <= found <= self._facts_of(after)
            pairs = zip(before.entries, after.entries, strict=False)
            read = [new for old, new in pairs if old.state == "waiting"]
            for one in (*read, *after.entries[len(before.entries) :]):
                if one.state == "alive" and self._fact(after, one) not in found:
                    one.state = "waiting" if one in read else "gone"

    def _facts(self) -> set[tuple[str, ...]]:
        return {(one.scope, one.words, one.account, str(one.is_done)) for one in self.bot.files()}

    def _facts_of(self, model: Model) -> set[tuple[str, ...]]:
        return {self._fact(model, one) for one in model.alive()}

    def _fact(self, model: Model, one: Entry) -> tuple[str, ...]:
        return (model.name(one.scope), one.words, one.who.account, str(one.is_done))

    def _report(self, place: Place) -> ScopeReport:
        service = self.bot.rig.engine.service
        return self.bot.run(service.describe(conversation_id=conversation(place)))

    def look(self, asked: list[Place] | None = None) -> None:
        """The files say what the model says; then the doors are opened: of the places that are
        named, of those that are to see something else than before, and of two more by turns."""
        self.bot.run(self.bot.settle())
        for place in PLACES:
            report = self._report(place)
            self.call(place, scope_name(report))
            assert (report.paused is not None) == self.model.is_paused(place)
        self.learn_ids()
        self.turn += 2
        self.indexes_agree()
        before, self.views = self.views, {place: self.view(place) for place in PLACES}
        for number, place in enumerate(PLACES):
            by_turns = (number - self.turn) % len(PLACES) < 2
            is_changed = self.views[place] != before.get(place)
            if by_turns or is_changed or place in (asked or ()):
                self.bot.run(self.open_doors(place))

    def view(self, place: Place) -> Hashable:
        """All that decides what a place is to see."""
        model = self.model
        entries = frozenset((one.memory_id, one.words, one.is_done) for one in model.seen(place))
        return entries, frozenset(model.words(place)), model.own(place), model.is_paused(place)

    def call(self, place: Place, name: str | None) -> None:
        """The bot names the scope that a place writes: no two scopes have one name."""
        own, names = self.model.own(place), self.model.names
        assert (own is None) == (name is None), (place, own, name)
        if own is not None and name is not None:
            assert names.setdefault(own, name) == name, (place, own, name)
            assert [key for key, value in names.items() if value == name] == [own]

    def learn_ids(self) -> None:
        """The files hold what lives, each under its id, and nothing else."""
        found = self.bot.files()
        known = {(self.model.name(o.scope), o.memory_id): o for o in self.model.alive()}
        left: list[Found] = []
        for one in found:
            entry = known.get((one.scope, one.memory_id))
            if entry is None:
                left.append(one)
            else:
                assert one.words == entry.words, (one, entry)
        for entry in [one for one in self.model.alive() if not one.memory_id]:
            match = [
                one
                for one in left
                if (one.scope, one.words, one.account)
                == (self.model.name(entry.scope), entry.words, entry.who.account)
            ]
            assert match, (entry, left)
            entry.memory_id = match[0].memory_id
            left.remove(match[0])
        assert not left, left
        assert len(found) == len(self.model.alive()), (found, self.model.alive())

    def indexes_agree(self) -> None:
        """Both indexes hold what stands in the files, and what waits to be read."""
        there = {one.memory_id for one in self.bot.files()}
        words, vectors = self.bot.indexed()
        for held in [words] if self.bot.rung == "words alone" else [words, vectors]:
            assert there <= held
            # A turn of which a kill came when it was just learned is read once more.
            assert self.bot.kills or len(held - there) <= len(self.model.waiting())

    async def open_doors(self, place: Place) -> None:
        """Every door of one place."""
        pointers = tuple(f"x.md#{one.memory_id}" for one in self.model.entries if one.memory_id)
        at = Asking(self.bot, place, pointers)
        seen = {one.memory_id for one in self.model.seen(place)}
        alive = {one.memory_id for one in self.model.entries}
        quiet = self.model.is_paused(place)
        # A record is told in place of the proposal that it was made of.
        shadowed = self.model.recorded
        for door, ids in (IDS | SOME_IDS).items():
            shown = await ids(at) & alive
            expected = set() if quiet and door in SILENT_ON_PAUSE else seen
            assert shown <= expected, (door, place, shown - expected)
            assert door in SOME_IDS or expected - shown <= shadowed, (door, place, expected - shown)
        may = self.model.words(place)
        for door, telling in TELLING.items():
            shown = words_in(repr(await telling(at)))
            allowed = may | self.model.on_pages(place) if door == "read" else may
            assert shown <= allowed, (door, place, shown - allowed)

    def pick(self, number: int) -> Entry | None:
        """Some entry that has its id alone, more often than not one that lives."""
        ids = [one.memory_id for one in self.model.entries]
        once = [o for o in self.model.entries if o.memory_id and ids.count(o.memory_id) == 1]
        alive = [one for one in once if one.state == "alive"]
        some = once if number % 4 == 3 or not alive else alive
        return some[number % len(some)] if some else None

    def new_words(self) -> str:
        """Words that nobody has said."""
        self.fresh = self.fresh + 1 if self.fresh + 1 < MOST_TEXTS else SAID + len(TITLES)
        return text(self.fresh)

    # What is said

    @rule(where=places, who=persons, words=said)
    def tells(self, where: Place, who: Person, words: str) -> None:
        self._said(where, who, words, heard=False)

    @rule(where=places, who=persons, words=said)
    def is_heard(self, where: Place, who: Person, words: str) -> None:
        self._said(where, who, words, heard=True)

    def _said(self, where: Place, who: Person, words: str, *, heard: bool) -> None:
        deed = self.bot.tell
        if heard:
            deed, self.bot.die_at = self.bot.hear, None  # two deeds: each is killed by itself
        (right, known), (answer, memory_id) = self.do(
            lambda model: model.tell(where, who, words, heard=heard),
            lambda: deed(where, who, words),
        )
        assert answer == right
        if right == "stronger" and not self.bot.was_killed:
            (same,) = [one for one in known if one.memory_id == memory_id]
            same.active = same.active or not heard
        self.look([where])

    @rule(where=places, who=persons, words=said)
    def is_overheard(self, where: Place, who: Person, words: str) -> None:
        right, answer = self.do(
            lambda model: model.overhear(where, who, words),
            lambda: self.bot.overhear(where, who, words),
            where=where,
        )
        assert answer == right

    @rule()
    def reads(self) -> None:
        allowed = {place.umo: self.for_reader(place) for place in PLACES}
        begun = len(self.bot.chat.calls)
        self.do(Model.read, self.bot.read)
        for call in self.bot.chat.calls[begun:]:
            shown = words_in(call.prompt)
            assert any(shown <= some for some in allowed[call.conversation]), call

    def for_reader(self, place: Place) -> list[set[str]]:
        """What the reader of a place's turns may be shown at once: of one scope that these were
        said in and of the public one, and of what is for one person alone that of their one
        speaker. What waits elsewhere may be learned just before."""
        waiting = [one for one in self.model.waiting() if one.where == place]
        learned = [*self.model.alive(), *self.model.waiting()]
        found = []
        for scope in {PUBLIC, *(one.scope for one in waiting)}:
            humans = {one.who.human for one in waiting if one.scope == scope}
            alone = {"", *humans} if len(humans) == 1 else {""}
            known = [one for one in learned if one.only_for in alone]
            some = [one for one in (*waiting, *known) if one.scope in (scope, PUBLIC)]
            found.append({one.words for one in some} | self.model.published)
        return found

    @rule(where=places, who=persons, words=titles, done=st.booleans())
    def tasks(self, where: Place, who: Person, words: str, done: bool) -> None:
        right, answer = self.do(
            lambda model: (
                model.do_task(where, words) if done else model.add_task(where, who, words)
            ),
            lambda: self.bot.task(where, who, words, done=done),
            where=where,
        )
        assert answer == right

    # What is taken back

    @rule(where=places, who=persons, number=numbers, for_good=st.booleans())
    def forgets(self, where: Place, who: Person, number: int, for_good: bool) -> None:
        if (entry := self.pick(number)) is not None:
            name = entry.memory_id
            right, answer = self.do(
                lambda model: model.forget(where, who, name, for_good=for_good),
                lambda: self.bot.forget(where, who, name, for_good=for_good),
                where=where,
            )
            assert answer == right

    @rule(where=places, who=persons, number=numbers)
    def forgets_several(self, where: Place, who: Person, number: int) -> None:
        picked = [one for n in range(3) if (one := self.pick(number + n)) is not None]
        ids = list(dict.fromkeys(one.memory_id for one in picked))
        self.bot.die_at = None
        right, answer = self.do(
            lambda model: model.forget_many(where, who, ids),
            lambda: self.bot.forget_many(where, who, ids),
            where=where,
        )
        assert answer == right

    @rule(where=places, who=admins, number=numbers)
    def edits(self, where: Place, who: Person, number: int) -> None:
        if (entry := self.pick(number)) is not None:
            name, words = entry.memory_id, self.new_words()
            right, answer = self.do(
                lambda model: model.edit(where, who, name, words),
                lambda: self.bot.edit(where, who, name, words),
                where=where,
            )
            assert answer == right

    @rule(where=places, who=admins, number=numbers, to=names)
    def moves(self, where: Place, who: Person, number: int, to: str) -> None:
        if (entry := self.pick(number)) is not None:
            name = entry.memory_id
            right, answer = self.do(
                lambda model: model.move(where, who, name, to),
                lambda: self.bot.move(where, who, name, to),
                where=where,
            )
            assert answer == right

    @precondition(lambda self: not self.unsure)
    @rule(where=places, who=persons, number=numbers)
    def restores(self, where: Place, who: Person, number: int) -> None:
        if (entry := self.pick(number)) is not None:
            name = entry.memory_id
            right, answer = self.do(
                lambda model: model.restore(where, who, name),
                lambda: self.bot.undo(where, who, name),
                where=where,
            )
            assert answer == right

    @precondition(lambda self: not self.unsure)
    @rule(where=places, who=persons)
    def undoes(self, where: Place, who: Person) -> None:
        right, last = copy.deepcopy(self.model).undo(where, who)
        if last is not None and last.kind == "bring":
            self.bot.die_at = None
            assert self.bot.run(self.bot.undo(where, who)) == right
            self.model.bring_back(self.model.undo(where, who)[1] or last, self._stands())
            self.look()
            return
        (right, _), answer = self.do(
            lambda model: model.undo(where, who), lambda: self.bot.undo(where, who), where=where
        )
        assert answer == right

    @precondition(lambda self: not self.model.waiting())
    @rule(where=places, who=persons)
    def brings(self, where: Place, who: Person) -> None:
        answer = self.bot.run(self.bot.bring(where, who))
        assert answer == self.model.bring(where, who, self._stands())
        self.look()

    @precondition(lambda self: not self.model.waiting())
    @rule(where=places, who=persons, name=names)
    def brings_all(self, where: Place, who: Person, name: str) -> None:
        is_apart = name != PUBLIC and self.are_apart(name, self.model.own(where))
        if is_apart and not self.model.left_behind(where):
            answer = self.bot.run(self.bot.bring(where, who, name))
            assert answer == self.model.bring_all(where, who, name, self._stands())
            self.look()

    @rule(where=places, who=persons, old=names, new=names)
    def renames(self, where: Place, who: Person, old: str, new: str) -> None:
        if PUBLIC not in (old, new) and old != new and self.are_apart(old, new):
            answer = self.bot.run(self.bot.rename(where, who, old, new))
            assert answer == self.model.rename(where, who, old, new, self._stands())
            self.look()

    def are_apart(self, *scopes: str | None) -> bool:
        """No id stands in two of them."""
        ids = [one.memory_id for one in self.model.entries if one.scope in scopes]
        return len(ids) == len({*ids})

    def _stands(self) -> Stands:
        there = {(one.scope, one.memory_id) for one in self.bot.files()}
        return lambda scope, entry: (self.model.name(scope), entry.memory_id) in there

    @rule(
        where=places, who=admins, number=numbers, to=st.sampled_from([None, RecordFile.DECISIONS])
    )
    def decides(self, where: Place, who: Person, number: int, to: RecordFile | None) -> None:
        entry = self.pick(number)
        if entry is None or entry.is_task:
            return
        self.bot.die_at = None
        accepted = self.bot.run(self.bot.decide(where, who, entry.memory_id, to))
        allowed = entry in self.model.seen(where) and self.model.governs(where, who, entry.scope)
        assert allowed or not accepted
        entry.marks += accepted
        if accepted and (to or entry.scope == PUBLIC):
            self.model.published.add(entry.words)
            self.model.recorded.add(entry.memory_id)
        self.look()

    # By hand

    @rule(number=numbers, what=st.sampled_from(["edit", "delete", "move", "double"]), to=names)
    def by_hand(self, number: int, what: str, to: str) -> None:
        entry = self.pick(number)
        found = self._found(entry)
        if entry is None or found is None:
            return
        self.model.now += 1
        words = self.new_words()
        target = to if to in self.model.known_scopes() else entry.scope
        if what == "move" and target == entry.scope:
            return
        self.model.by_hand(what, entry, words, target)
        target = self.model.name(target)
        match what:
            case "edit":
                self.bot.edit_file(found, words)
            case "delete":
                self.bot.cut_from_file(found)
            case "move":
                self.bot.paste(self.bot.cut_from_file(found), target, f"搬来{self.model.now}.md")
            case _:
                self.bot.paste(self.bot.lines_of(found), target, f"抄来{self.model.now}.md")
        self.look()

    @rule(name=names)
    def writes_by_hand(self, name: str) -> None:
        if name in self.model.known_scopes():
            self.model.now += 1
            words = self.new_words()
            self.bot.paste(f"## {words}", self.model.name(name), "entities.md")
            self.model.writes(name, words)
            self.look()

    @rule(number=numbers)
    def opens_a_file(self, number: int) -> None:
        if found := self._found(self.pick(number)):
            was = {one.memory_id: one.words for one in self.bot.files() if one.path == found.path}
            self.buffer = (found, found.path.read_bytes(), was)

    @precondition(lambda self: self.buffer is not None)
    @rule()
    def saves_an_old_buffer(self) -> None:
        assert self.buffer is not None
        (found, raw, was), self.buffer = self.buffer, None
        now = {one.memory_id: one.words for one in self.bot.files() if one.path == found.path}
        by_command = {one.entry.memory_id for one in self.model.deeds if one.kind == "forget"}
        archived = {one.memory_id for one in self.model.entries if one.state == "archived"}
        # What a person has changed since then is another story: whose words win is not told by it.
        if all(
            now[name] == words if name in now else name in by_command & archived
            for name, words in was.items()
        ):
            self.model.now += 1
            words, name = self.new_words(), f"m-hand{self.model.now:06d}"
            found.path.write_bytes(f"## {words} ^{name}\n\n".encode() + raw)
            (scope,) = [key for key, value in self.model.names.items() if value == found.scope] or [
                found.scope
            ]
            self.model.writes(scope, words, name)
            self.look()

    def _found(self, entry: Entry | None) -> Found | None:
        """An entry in its file."""
        if entry is None or entry.state != "alive":
            return None
        where = (self.model.name(entry.scope), entry.memory_id)
        (found,) = [one for one in self.bot.files() if (one.scope, one.memory_id) == where]
        return found

    @rule(where=places, number=numbers)
    def many_things_at_once(self, where: Place, number: int) -> None:
        """Two admins, a member, an editor and a reader, in one place."""
        self.bot.die_at = None
        picked = [one for n in range(3) if (one := self.pick(number + n)) is not None]
        if len({one.memory_id for one in picked}) < 3:
            return
        first, second, third = picked
        gone, edited, found = first.memory_id, second.memory_id, self._found(third)
        fresh, other, by_hand = self.new_words(), self.new_words(), self.new_words()
        beside = {one.path for x in (first, second) if (one := self._found(x)) is not None}
        before = self.model.words(where)
        self.model.now += 1
        right = [
            self.model.forget(where, BOSS, gone),
            self.model.edit(where, OTHER_BOSS, edited, fresh),
            self.model.tell(where, MING, other, heard=False)[0],
        ]
        if found is not None and found.path not in beside:
            self.model.by_hand("edit", third, by_hand)

        async def all_of_it() -> list[Any]:
            async def edits_a_file() -> None:
                if found is not None and found.path not in beside:
                    self.bot.edit_file(found, by_hand)
                    await self.bot.rig.engine.reconcile()

            return await asyncio.gather(
                self.bot.forget(where, BOSS, gone),
                self.bot.edit(where, OTHER_BOSS, edited, fresh),
                self.bot.tell(where, MING, other),
                edits_a_file(),
                TELLING["told"](Asking(self.bot, where, ())),
            )

        *answers, (told, _), _, seen = self.bot.run(all_of_it())
        assert [*answers, told] == right
        assert words_in(repr(seen)) <= before | self.model.words(where)
        self.look()

    @precondition(lambda self: len(self.model.entries) < 40)
    @rule()
    def everybody_speaks_at_once(self) -> None:
        """One in each place."""
        self.bot.die_at = None
        said = [
            (place, PERSONS[n % len(PERSONS)], self.new_words()) for n, place in enumerate(PLACES)
        ]
        self.model.now += 1
        right = [self.model.tell(*one, heard=False)[0] for one in said]

        async def all_of_it() -> list[tuple[str, str]]:
            return await asyncio.gather(*(self.bot.tell(*one) for one in said))

        assert [answer for answer, _ in self.bot.run(all_of_it())] == right
        self.look()

    # What happens besides

    @rule(where=places, who=persons, on=st.booleans())
    def pauses(self, where: Place, who: Person, on: bool) -> None:
        right, answer = self.do(
            lambda model: model.pause(where, who, on=on),
            lambda: self.bot.pause(where, who, on=on),
            where=where,
        )
        assert answer == right

    @rule()
    def sleeps(self) -> None:
        begun, by_scope = len(self.bot.chat.calls), dict[str, set[str]]()
        for one in self.model.alive():
            by_scope.setdefault(one.scope, set()).add(one.words)
        self.do(Model.sleep, self.bot.night)
        for call in self.bot.chat.calls[begun:]:
            shown = words_in(call.prompt)
            assert any(shown <= words for words in by_scope.values()) or not shown, call
        for words in self.model.purged - {
            one.words for one in self.model.entries if one.state != "gone"
        }:
            self.no_trace(words)

    def no_trace(self, words: str) -> None:
        """After the night no file holds what was purged."""
        (mark,) = [mark for mark, whole in CANARIES.items() if whole == words]
        kept = {one.words for one in self.model.waiting()} | self.model.published
        if words not in kept | self.in_exports():
            assert files_holding(self.bot.root, mark) == set()

    def in_exports(self) -> set[str]:
        """Copies that the owner made are the owner's."""
        return {one.words for _, entries in self.kept for one in entries}

    @rule(scope_map=maps, per_peer=st.booleans(), per_group=st.booleans())
    def is_remapped(self, scope_map: dict[str, str], per_peer: bool, per_group: bool) -> None:
        self.bot.stop()
        self.model.scope_map = scope_map
        self.model.per_peer, self.model.per_group = per_peer, per_group
        self.bot.start(scope_map, per_peer=per_peer, per_group=per_group)
        self.look()

    @rule(lost=st.booleans())
    def restarts(self, lost: bool) -> None:
        (self.bot.lose_index if lost else self.bot.restart)()
        self.look(PLACES if lost else None)

    @rule(where=places, who=admins)
    def exports(self, where: Place, who: Person) -> None:
        name = self.bot.run(self.bot.export(where, who))
        self.kept.append((name, [copy.copy(one) for one in self.model.seen(where)]))

    @precondition(lambda self: bool(self.kept))
    @rule(where=places, who=admins, number=numbers)
    def imports(self, where: Place, who: Person, number: int) -> None:
        name, entries = self.kept[number % len(self.kept)]
        right, answer = self.do(
            lambda model: model.take_in(where, entries),
            lambda: self.bot.take_in(where, who, name),
            where=where,
        )
        assert answer == right

    @rule(where=places, who=admins, name=st.sampled_from([*NAMES, *WRONG, None]))
    def is_remapped_while_it_runs(self, where: Place, who: Person, name: str | None) -> None:
        self.bot.run(self.bot.remap(where, who, name))
        self.model.scope_map = dict(self.bot.scope_map)
        self.look()

    @rule(at=st.integers(0, 12))
    def dies_in_the_next_deed(self, at: int) -> None:
        self.bot.die_at = at

    def equals_a_rebuild(self) -> None:
        """Each record of both indexes is made of the words that stand in the files now."""
        before = self.bot.records()
        self.bot.lose_index()
        self.bot.run(self.bot.settle())
        assert self.bot.records() == before

    def teardown(self) -> None:
        if hasattr(self, "bot"):
            try:
                self.look(PLACES)
                self.equals_a_rebuild()
                assert self.bot.run(self.bot.rig.engine.status()).scope_check_drops == 0
                heard = {words for line in self.bot.log for words in words_in(line)}
                assert not heard, heard
            finally:
                self.bot.end()
        self._folder.cleanup()


class RealLife(Life):
    """The same on the indexes that owners have."""

    def made(self, rung: str) -> LivingBot:
        return LivingBot(Path(self._folder.name), REAL)

    def indexes_agree(self) -> None:
        """The doors tell: what an index of ours holds is for its own tests to open."""

    equals_a_rebuild = indexes_agree

    @rule()
    def dies_in_the_next_deed(self) -> None:
        """A copy of a folder that Chroma's threads are writing to is no copy of a moment."""


EXAMPLES = settings().max_examples
"""Thousands in a soak."""
FIXED_STORIES = 36
"""That many beside those on real indexes and those of ``test_stories``, where nothing is random."""
STORIES = FIXED_STORIES if settings().derandomize else EXAMPLES


@pytest.mark.timeout(EXAMPLES * 60)
class TestLife(Life.TestCase):  # type: ignore[misc,name-defined]
    """In memory."""

    settings = settings(max_examples=STORIES, stateful_step_count=20)


@pytest.mark.timeout(EXAMPLES * 60)
class TestRealLife(RealLife.TestCase):  # type: ignore[misc,name-defined]
    """Slower by far."""

    settings = settings(max_examples=max(6, EXAMPLES // 20), stateful_step_count=12)
