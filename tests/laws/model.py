"""What each conversation may see, and what a person may do there: the laws in plain Python.

Nothing here knows the product. A deed changes the model and returns the word with which the bot
has to answer it; ``seen`` says what a place sees from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from astrbot_plugin_scoped_memory.tests.laws.cast import NOBODY, PUBLIC, ROOM, Person, Place

type Version = tuple[str, bool, int]
type State = Literal["waiting", "alive", "archived", "gone"]
"""``waiting``: said, and not read yet; ``archived`` can be brought back, ``gone`` cannot."""
type Kind = Literal["forget", "edit", "move", "bring"]


@dataclass(eq=False)
class Entry:
    """A memory, a task or a turn. ``active``: somebody asked for it, it was not just heard;
    ``marks``: how often it was proposed or accepted."""

    scope: str
    words: str
    who: Person
    where: Place
    said: int
    active: bool = True
    is_task: bool = False
    is_done: bool = False
    marks: int = 0
    state: State = "alive"
    memory_id: str = ""

    @property
    def only_for(self) -> str:
        """The one human who may read it; empty if all who read the scope may. Listening to a
        private chat is no consent to publish it."""
        alone = self.scope == PUBLIC and self.where.is_private and not self.active
        return self.who.human if alone else ""

    @property
    def version(self) -> Version:
        """What an undo has to find as it was left."""
        return self.words, self.is_done, self.marks


@dataclass(eq=False)
class Deed:
    """What can be undone: how the entry ``was``, and in which scope and version it was left."""

    kind: Kind
    by: str
    umo: str
    was: Entry
    entry: Entry
    target: str
    after: Version
    number: int = 0
    """The same for what was forgotten together: one undo takes it back."""

    @property
    def source(self) -> str:
        """The scope that it was done in."""
        return self.was.scope


type Stands = Callable[[str, Entry], bool]
"""Whether an entry is in a scope's files."""


@dataclass
class Correction:
    """Words that do not come back to a scope out of what was said before."""

    kind: Kind
    scope: str
    words: str
    at: int
    entry: Entry


@dataclass
class Model:
    """The world as the laws have it.

    Attributes:
        names: What the files call a scope that a policy derives.
        folders: The scopes that have one.
        pages: What the pages of a scope may say: they are written at night.
    """

    scope_map: Mapping[str, str] = field(default_factory=dict)
    per_peer: bool = False
    per_group: bool = False
    entries: list[Entry] = field(default_factory=list)
    deeds: list[Deed] = field(default_factory=list)
    corrections: list[Correction] = field(default_factory=list)
    paused: set[str] = field(default_factory=set)
    published: set[str] = field(default_factory=set)
    recorded: set[str] = field(default_factory=set)
    rules: dict[str, str] = field(default_factory=dict)
    purged: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    folders: set[str] = field(default_factory=lambda: {PUBLIC})
    pages: dict[str, set[str]] = field(default_factory=dict)
    now: int = 0

    def own(self, place: Place) -> str | None:
        """The scope that a place writes; None where it writes none."""
        for key in place.keys:
            if key in self.scope_map:
                name = self.scope_map[key]
                return name if name and " " not in name else None
        if place.is_agent:
            return None
        if place.human:
            return f"dm of {place.human}" if self.per_peer else PUBLIC
        return f"group {place.line}" if self.per_group else PUBLIC

    def sees(self, place: Place, one: Entry) -> bool:
        """Its own scope and public, and of public nothing that is for another person alone."""
        return one.scope in (self.own(place), PUBLIC) and one.only_for in ("", place.human)

    def alive(self) -> list[Entry]:
        """All that stands in the files."""
        return [one for one in self.entries if one.state == "alive"]

    def waiting(self) -> list[Entry]:
        """What is not read yet."""
        return [one for one in self.entries if one.state == "waiting"]

    def seen(self, place: Place) -> list[Entry]:
        """What a place sees of what stands in the files."""
        return [one for one in self.alive() if self.sees(place, one)]

    def words(self, place: Place) -> set[str]:
        """All words that may be shown in a place. A turn that waits is told where it would be when
        it is read, but for one of a place that is paused now."""
        told = [o for o in self.waiting() if self.sees(place, o) and not self.is_paused(o.where)]
        unread = [one for one in told if not self.is_corrected(one.scope, one)]
        rules = {self.rules.get(self.own(place) or PUBLIC, "")}
        return {one.words for one in (*self.seen(place), *unread)} | self.published | rules

    def on_pages(self, place: Place) -> set[str]:
        """What may stand on the pages that a place may read."""
        return self.pages.get(self.own(place) or PUBLIC, set())

    def is_paused(self, place: Place) -> bool:
        """It is off the record."""
        return place.line in self.paused

    def known_scopes(self) -> set[str]:
        """Those that the map names or that have a folder."""
        return self.folders | set(self.scope_map.values())

    def find(self, place: Place, memory_id: str, state: State = "alive") -> Entry | None:
        """What an id means in a place, its own scope first."""
        found = [
            one
            for one in self.entries
            if (one.memory_id, one.state) == (memory_id, state) and self.sees(place, one)
        ]
        return min(found, key=lambda one: one.scope != self.own(place), default=None)

    def name(self, scope: str) -> str:
        """What files and reports call a scope."""
        return self.names.get(scope, scope)

    def is_corrected(self, scope: str, said: Entry) -> bool:
        """It was taken back in this scope since it was said."""
        return any(
            (one.scope, one.words) == (scope, said.words) and one.at >= said.said
            for one in self.corrections
        )

    def same(self, new: Entry) -> list[Entry]:
        """What the same account has said there in the same words, and just as openly or more."""
        known = [
            one
            for one in self.alive()
            if (one.scope, one.words, one.who.account, one.is_task)
            == (new.scope, new.words, new.who.account, new.is_task)
        ]
        alike = [one for one in known if one.only_for == new.only_for]
        return alike or [one for one in known if not one.only_for]

    def _refusal(self, place: Place) -> str:
        """Why nothing that is said in a place is kept."""
        if self.is_paused(place):
            return "off the record"
        return "read only" if self.own(place) is None else ""

    def _add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        self.folders.add(entry.scope)
        return entry

    def _said(self, place: Place, who: Person, words: str) -> Entry:
        return Entry(self.own(place) or "", words, who, place, self.now)

    def tell(
        self, place: Place, who: Person, words: str, *, heard: bool
    ) -> tuple[str, list[Entry]]:
        """The answer, and which entries may be meant by it. ``heard``: a reader of turns learned it
        at once; else a tool stores it."""
        if no := self._refusal(place):
            return no, []
        new = replace(self._said(place, who, words), active=not heard)
        known = self.same(new)
        return ("stronger", known) if known else ("stored", [self._add(new)])

    def overhear(self, place: Place, who: Person, words: str) -> str:
        """A turn that waits."""
        if no := self._refusal(place):
            return no
        turn = replace(self._said(place, who, words), active=False, state="waiting")
        self.entries.append(turn)
        return "waits"

    def read(self) -> None:
        """All turns that may be read are read, and what was said in them is learned."""
        for one in self.waiting():
            if one.where.line not in self.paused:
                known = self.is_corrected(one.scope, one) or self.same(one)
                one.state = "gone" if known else "alive"
                self.folders.add(one.scope)

    def add_task(self, place: Place, who: Person, words: str) -> str:
        """A title that the scope has already is that task, whoever says it."""
        if no := self._refusal(place):
            return no
        known = self._task(self.own(place), words)
        if known is None:
            self._add(replace(self._said(place, who, words), is_task=True))
            return "added"
        return self._amend(known, place, "reopened", is_done=False)

    def do_task(self, place: Place, words: str) -> str:
        """Every speaker of a scope may say that a task of it is done."""
        if no := self._refusal(place):
            return no
        known = self._task(self.own(place), words)
        if known is None:
            return "elsewhere" if self._task(PUBLIC, words) else "unknown"
        return self._amend(known, place, "done", is_done=True)

    def _task(self, scope: str | None, words: str) -> Entry | None:
        found = (o for o in self.alive() if o.is_task and (o.scope, o.words) == (scope, words))
        return next(found, None)

    def _amend(self, entry: Entry, place: Place, answer: str, *, is_done: bool) -> str:
        if entry.is_done == is_done:
            return "unchanged"
        was, entry.is_done = replace(entry), is_done
        self._did("edit", None, place, was, entry)  # the bot's deed: nobody's last one
        return answer

    # What is taken back

    def _did(self, kind: Kind, who: Person | None, place: Place, was: Entry, now: Entry) -> None:
        by = who.account if who else ""
        self.deeds.append(Deed(kind, by, place.umo, was, now, now.scope, now.version))

    def _correct(self, kind: Kind, entry: Entry) -> None:
        self.corrections.append(Correction(kind, entry.scope, entry.words, self.now, entry))

    def _withdraw(self, kind: Kind, scope: str, entry: Entry) -> None:
        gone = [o for o in self.corrections if (o.kind, o.scope, o.entry) == (kind, scope, entry)]
        self.corrections = [one for one in self.corrections if one not in gone]

    def visible(self, place: Place) -> tuple[str, ...]:
        """The scopes that a place sees."""
        return (self.own(place) or PUBLIC, PUBLIC)

    def governs(self, place: Place, who: Person, scope: str) -> bool:
        """An admin changes what others said in a place's own scope, and from the private chat of
        the same account all that is seen there."""
        near = (self.own(place), PUBLIC if place.account == who.account else None)
        return who.admin and scope in near

    def _may(self, place: Place, who: Person, entry: Entry) -> bool:
        mine = who.human == entry.who.human and entry.scope in self.visible(place)
        return mine or self.governs(place, who, entry.scope)

    def forget(self, place: Place, who: Person, memory_id: str, *, for_good: bool = False) -> str:
        """Its speaker wherever it is seen, or an admin."""
        entry = self.find(place, memory_id)
        if entry is None and for_good:
            entry = self.find(place, memory_id, "archived")
        if entry is None:
            return "not visible"
        if not self._may(place, who, entry):
            return "not allowed"
        if entry.state == "alive":
            self._correct("forget", entry)
            self._did("forget", who, place, replace(entry), entry)
        entry.state = "gone" if for_good else "archived"
        if for_good:
            self.purged.add(entry.words)
            self.deeds = [d for d in self.deeds if (d.entry, d.target) != (entry, entry.scope)]
        return "purged" if for_good else "forgotten"

    def forget_many(self, place: Place, who: Person, ids: list[str]) -> list[str]:
        """Several as one deed."""
        answers = [self.forget(place, who, memory_id) for memory_id in ids]
        if answers.count("forgotten") > 1:
            for deed in self.deeds[-answers.count("forgotten") :]:
                deed.number = self.now
        return answers

    def _for_admin(self, place: Place, who: Person, memory_id: str) -> Entry | str:
        entry = self.find(place, memory_id)
        if entry is None:
            return "not visible"
        return entry if self.governs(place, who, entry.scope) else "not allowed"

    def edit(self, place: Place, who: Person, memory_id: str, words: str) -> str:
        """Admins only."""
        entry = self._for_admin(place, who, memory_id)
        if isinstance(entry, str):
            return entry
        self._correct("edit", entry)
        was, entry.words = replace(entry), words
        self._did("edit", who, place, was, entry)
        return "edited"

    def move(self, place: Place, who: Person, memory_id: str, target: str) -> str:
        """Admins only, to a scope that there is."""
        entry = self._for_admin(place, who, memory_id)
        if isinstance(entry, str):
            return entry
        if target not in self.known_scopes():
            return "unknown scope"
        if target != entry.scope:
            self._correct("move", entry)
            was, entry.scope = replace(entry), target
            self.folders.add(target)
            self._did("move", who, place, was, entry)
        return "moved"

    def undo(self, place: Place, who: Person) -> tuple[str, Deed | None]:
        """The last that this person did in this place and that can still be undone."""
        for deed in reversed(self.deeds):
            if (deed.by, deed.umo) == (who.account, place.umo):
                if deed.number:
                    together = [one for one in self.deeds if one.number == deed.number]
                    able = [one for one in together if self._can_undo(one, place, who)]
                    if able and deed.source in self.visible(place):
                        answers = [self._back(one) for one in able]
                        self.deeds = [one for one in self.deeds if one not in together]
                        return answers[0], deed
                    continue
                if deed.kind == "bring" and self._may_bring(place, who, deed.target):
                    return "brought back", deed
                if deed.source in self.visible(place) and self._can_undo(deed, place, who):
                    return self._back(deed), deed
        return "not visible", None

    def _can_undo(self, deed: Deed, place: Place, who: Person) -> bool:
        entry = deed.entry
        if deed.kind == "forget":
            last = [o for o in self.deeds if (o.entry, o.kind) == (entry, "forget")][-1]
            left = entry.state == "archived" and entry.scope == deed.source and last is deed
            return left and self.sees(place, entry) and self._may(place, who, entry)
        stands = entry.state == "alive" and entry.scope == deed.target
        seen = deed.kind == "move" or self.sees(place, entry)
        may = self.governs(place, who, deed.source)
        return stands and seen and may and entry.version == deed.after

    def _back(self, deed: Deed) -> str:
        self.deeds.remove(deed)
        self._withdraw(deed.kind, deed.source, deed.entry)
        match deed.kind:
            case "forget":
                deed.entry.state = "alive"
                return "restored"
            case "edit":
                deed.entry.words, deed.entry.is_done, deed.entry.marks = deed.was.version
            case _:
                deed.entry.scope = deed.source
        return "undone"

    def restore(self, place: Place, who: Person, memory_id: str) -> str:
        """What was done last to this entry, by whomever."""
        here = self.visible(place)
        noted = [o for o in self.deeds if o.entry.memory_id == memory_id and o.source in here]
        last = noted[-1] if noted else None
        if last is not None and last.kind != "forget":
            if last.kind == "move" and not who.admin:
                return "not visible"
            if last.entry.state == "alive" and last.entry.scope == last.target:
                if self._can_undo(last, place, who):
                    return self._back(last)
                seen = last.kind == "move" or self.sees(place, last.entry)
                refused = seen and not self.governs(place, who, last.source)
                return "not allowed" if refused else "not visible"
        entry = self.find(place, memory_id, "archived")
        if entry is None:
            return "not visible"
        if not self._may(place, who, entry):
            return "not allowed"
        entry.state = "alive"
        self._withdraw("forget", entry.scope, entry)
        if last is not None and last.kind == "forget":
            self.deeds.remove(last)
        return "restored"

    def pause(self, place: Place, who: Person, *, on: bool) -> str:
        """The person of a private chat may; in a group an admin."""
        if not (who.admin or place.human):
            return "not allowed"
        (self.paused.add if on else self.paused.discard)(place.line)
        return "paused" if on else "resumed"

    def by_hand(self, what: str, entry: Entry, words: str = "", target: str = "") -> None:
        """A person changes a file: the edit wins, and what is gone from a file is forgotten."""
        match what:
            case "edit":
                self._correct("edit", entry)
                entry.words = words
            case "delete":
                self._correct("forget", entry)
                entry.state = "archived"
            case "move":
                self._correct("move", entry)
                entry.scope = target
                self.folders.add(target)
            case _:
                self._add(replace(entry, scope=target, memory_id="", marks=0))

    def writes(self, scope: str, words: str, memory_id: str = "") -> None:
        """A person writes an entry into a file: nobody is known to have said it."""
        self._add(Entry(scope, words, NOBODY, ROOM, self.now, memory_id=memory_id))

    def take_in(self, place: Place, exported: Iterable[Entry]) -> str:
        """An export is read into the own scope of a place, as drafts are: nothing comes twice, and
        nothing that was taken back since."""
        own = self.own(place)
        if own is None or self._refusal(place):
            return self._refusal(place)
        for one in exported:
            new = replace(one, scope=own, is_done=False, marks=0, state="alive", memory_id="")
            there = [o for o in self.alive() if (o.memory_id, o.scope) == (one.memory_id, own)]
            stands = one.words in [o.words for o in there]
            if not (stands or self.is_corrected(own, one)):
                for same in (known := self.same(new)):
                    same.active = same.active or new.active
                if not known:
                    self._add(new)
        return "taken in"

    def has_its_own(self, place: Place) -> bool:
        """A private chat that is the only place with its scope by the map."""
        own = self.own(place)
        keys = [key for key, name in self.scope_map.items() if name == own]
        return bool(place.human) and own not in (None, PUBLIC) and keys in ([], [place.umo])

    def _may_bring(self, place: Place, who: Person, target: str) -> bool:
        own = self.has_its_own(place) and target == self.own(place)
        return who.admin or (own and who.account == place.account)

    def left_behind(self, place: Place) -> list[Entry]:
        """What belongs to a place and stands in a former scope of its own."""
        own, mine = self.own(place), (f"dm of {place.human}", f"group {place.line}")
        left = [one for one in self.alive() if one.scope in mine and own not in (None, one.scope)]
        if self.has_its_own(place):
            public = [one for one in self.alive() if one.scope == PUBLIC and one.where == place]
            left += [one for one in public if not one.only_for]
        return left

    def bring(self, place: Place, who: Person, stands: Stands) -> str:
        """What a place left behind in a scope of its own, and what was said in a private chat while
        it was public, is where it belongs now, or there still; ``stands`` tells of an entry whether
        it is in a scope."""
        own, mine = self.own(place), (f"dm of {place.human}", f"group {place.line}")
        if not self._may_bring(place, who, own or ""):
            return "not allowed"
        left = self.left_behind(place)
        for one in left:
            self._bring(place, who, one, own or "", stands)
            carried = [o for o in self.corrections if o.scope in mine and o.entry is one]
            self.corrections += [replace(one, scope=own or "") for one in carried]
        return "brought"

    def bring_all(self, place: Place, who: Person, name: str, stands: Stands) -> str:
        """An admin brings what stands in a scope that the map gives to nobody."""
        own = self.own(place)
        if not self._may_bring(place, who, own or ""):
            return "not allowed"
        if name == own:
            return "brought"
        if not who.admin or name not in self.known_scopes():
            return "unknown scope"
        if name in self.scope_map.values() or own in (None, PUBLIC):
            return "not left"
        self._bring_scope(place, who, name, own or "", stands)
        return "brought"

    def rename(self, place: Place, who: Person, old: str, new: str, stands: Stands) -> str:
        """An admin gives a scope the name of another one, or a new one. What the map says goes
        along, and then nobody undoes it."""
        moved = {key: new for key, name in self.scope_map.items() if name == old}
        if old not in self.known_scopes() or not (moved or new in self.known_scopes()):
            return "unknown scope"
        if not who.admin:
            return "not allowed"
        self.scope_map = {**self.scope_map, **moved}
        self._bring_scope(place, None if moved else who, old, new, stands)
        return "renamed"

    def _bring_scope(
        self, place: Place, who: Person | None, old: str, new: str, stands: Stands
    ) -> None:
        self.folders.add(new)
        for one in [o for o in self.entries if o.scope == old and o.state in ("alive", "waiting")]:
            self._bring(place, who, one, new, stands)
        carried = [one for one in self.corrections if one.scope == old]
        self.corrections += [replace(one, scope=new) for one in carried]

    def _bring(
        self, place: Place, who: Person | None, one: Entry, target: str, stands: Stands
    ) -> None:
        was = replace(one)
        if one.state == "waiting" or stands(target, one):
            one.scope = target
            self.folders.add(target)
        if who is not None:
            self._did("bring", who, place, was, one)
            self.deeds[-1].target = target

    def bring_back(self, last: Deed, stands: Stands) -> None:
        """All that went the same way goes back, as far as it is as it was brought."""
        way = (last.kind, last.source, last.target)
        for deed in [o for o in self.deeds if (o.kind, o.source, o.target) == way]:
            self.deeds.remove(deed)
            waits = deed.entry.state == "waiting"
            if waits or (deed.entry.state == "alive" and stands(deed.source, deed.entry)):
                deed.entry.scope = deed.source

    def sleep(self) -> None:
        """The night writes the pages of each scope, of what all of its readers see."""
        for scope in self.folders:
            told = {o.words for o in self.alive() if o.scope == scope and not o.only_for}
            self.pages[scope] = told
