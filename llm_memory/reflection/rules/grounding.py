"""What of a model's answer may stand: what people have said in the turns, as they said it. Pure.

A weak model gives the prompt's own example back, takes a question for a fact, the bot's words for a
person's, or changes a number. Such an item goes. What the model can put right it is asked for once
more, with the words that were said beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache, cached_property, partial
from typing import Final, Literal

from ...models.turns import QueuedTurn
from ...recall.rules.tell_once import claiming_nothing
from ...text.english import stem
from ...text.normalising import clean
from ...text.overlap import content, pieces, says_changed
from ...text.scripts import fold, simplified
from ...text.stated import SENTENCE, Mood, read, supposes
from ...texts import Texts
from . import GROUNDING
from .figures import Evidence, figures, plain
from .prompt import Prompt, as_data, instructions, speakers
from .reply import Correction, Doubtful, NewMemory, ReflectionReply, Unreadable, day_of

_MADE_UP: Final = "made_up: the memories share nothing with the turns"

type Fault = Literal["foreign", "unstated", "label", "figure", "denied", "unsure", "speaker"]
type Each = Callable[[Sequence[Correction]], Iterator[Correction]]
_FAR: Final = 1_000
"""Days."""
_BEHIND: Final = 3
"""So many Han characters, or words, behind a negation tell what is denied."""
_STATED: Final[tuple[Mood, ...]] = ("stated",)
_WISHED: Final[tuple[Mood, ...]] = ("stated", "supposed", "asked")
_FINAL: Final[tuple[Fault, ...]] = ("foreign", "unstated")
"""Faults that no other words put right."""


@dataclass(frozen=True, eq=False)
class Words:
    """A clause of an item, or what a person said, or assented to, in a turn; in one script."""

    text: str
    turn: QueuedTurn | None = None

    @property
    def who(self) -> str:
        """The name of who said it, empty for nobody."""
        return simplified(self.turn.who) if self.turn else ""

    @cached_property
    def plain(self) -> str:
        return plain(self.text)

    @cached_property
    def content(self) -> frozenset[str]:
        return content(self.plain)

    @cached_property
    def units(self) -> list[str]:
        """Han characters and stems of words."""
        return _units(self.plain)

    @cached_property
    def denials(self) -> list[list[str]]:
        """What is denied: of each negation the units behind it."""
        found = map(_units, denials(self.plain))
        return [units[: 1 + _BEHIND] for units in found if units]

    def has(self, pattern: str) -> bool:
        """Returns whether a pattern is found."""
        return GROUNDING[pattern].search(self.plain) is not None

    def denies(self, other: Words) -> bool:
        """Returns whether the other words affirm what these deny: the same, of the same."""
        for head, *tail in self.denials:
            of, places = content(" ".join(tail)), range(len(other.units))
            behind = [
                content(" ".join(other.units[place + 1 : place + 1 + 2 * _BEHIND])) or other.content
                for place in places
                if other.units[place] == head
            ]
            if behind and (not of or any(map(of.intersection, behind))):
                return True
        return False


@dataclass(frozen=True)
class Talk:
    """What was said in turns. ``elsewhere``: words that were only asked, supposed or joked, or that
    the bot alone said. ``names``: those of the speakers, by their labels. ``heard``: all of it,
    plain."""

    turns: Sequence[QueuedTurn]
    said: Sequence[Words]
    elsewhere: frozenset[str]
    evidence: Evidence
    names: dict[str, str]
    heard: str

    @classmethod
    def of(cls, turns: Sequence[QueuedTurn], known: str, moods: Collection[Mood]) -> Talk:
        """Reads the turns of one conversation, the oldest first. ``known``: what the model was
        shown beside them; ``moods``: what counts as said."""
        said, unsaid = list[Words](), list[str]()
        for before, turn in zip((None, *turns), turns, strict=False):
            if before is not None and Words(turn.user_text).has("assent"):
                own = before.user_text if before.person != turn.person else ""
                said += [Words(simplified(one), turn) for one in (before.reply_text, own)]
            said = _corrected(said, turn)
            text, plainly = simplified(turn.user_text), plain(turn.user_text)
            if slip := GROUNDING["misspoke"].search(plainly):
                since = plainly[slip.start() :]
                text = _left(plainly[: slip.start()], since, turn.observed_at) + since
            meant = read(text)
            said += [Words(clause, turn) for clause, mood in meant if mood in moods]
            unsaid += [turn.reply_text, *(clause for clause, mood in meant if mood not in moods)]
        clauses = [Words(one, o.turn) for o in said for one in GROUNDING["clause"].findall(o.text)]
        # What a person answers is told with the words of the question.
        before_last = "\n".join(f"{one.user_text}\n{one.reply_text}" for one in turns[:-1])
        answered = (one for one in SENTENCE.findall(before_last) if one[-1:] in "?？")
        elsewhere = content(plain("\n".join(unsaid))) - content(plain("\n".join(answered)))
        at = [
            *((one.text, one.turn.observed_at) for one in said if one.turn is not None),
            *(("", turn.observed_at) for turn in turns),
        ]
        names = {one.label: one.actor.name for one in speakers(turns)}
        heard = plain("\n".join(f"{one.who}\n{one.user_text}\n{one.reply_text}" for one in turns))
        return cls(turns, clauses, elsewhere, Evidence.of(at, known), names, heard)

    @cached_property
    def stated(self) -> frozenset[str]:
        return frozenset[str]().union(*(one.content for one in self.said))

    @cached_property
    def speakers(self) -> list[str]:
        """The names of the speakers who have one."""
        return [simplified(name) for name in self.names.values() if name]

    def put_right(self, new: NewMemory) -> NewMemory:
        """Returns an item with names for labels, and without a day that nobody named."""
        alone = [*self.names.values(), ""][0] if len(self.names) == 1 else ""
        turn = self.turns[new.turn - 1] if new.turn and 0 < new.turn <= len(self.turns) else None
        speaker = self.names.get(new.who) or (turn.who if turn else alone)
        reasoning = self._named(claiming_nothing(clean(new.reasoning)), speaker)
        return replace(
            new,
            judgment=self._named(new.judgment, speaker),
            reasoning="" if GROUNDING["label"].search(simplified(reasoning)) else reasoning,
            asks=tuple(self._named(ask, speaker) for ask in new.asks),
            when=new.when if self._may_be(new.when) else "",
        )

    def _named(self, text: str, speaker: str) -> str:
        """Returns a text with names in place of the prompt's labels, unless people said these."""

        parts, end = list[str](), 0
        for match in GROUNDING["label"].finditer(simplified(text)):
            put = text[slice(*match.span())]
            if plain(put).strip() not in self.evidence.text:
                named = self.names.get(match["label"]) if match["label"] else speaker
                put = (named or put) if match["label"] or match["user"] else ""
            parts += [text[end : match.start()], put]
            end = match.end()
        return "".join([*parts, text[end:]]).strip()

    def _may_be(self, when: str) -> bool:
        """Returns whether a day is one that was named or, where none was, one of these years."""
        day = day_of(when)
        return day is not None and (
            self.evidence.has_day(day)
            or (
                not self.evidence.names_days
                and all(abs((turn.observed_at.date() - day).days) < _FAR for turn in self.turns)
            )
        )

    def fault(self, text: str, old: str) -> tuple[Fault, str] | None:
        """Returns what is wrong with a memory, and in which of its words; None where it may stand.
        ``old``: what it corrects, empty for nothing."""
        text = simplified(text)
        bare = re.sub("|".join(map(re.escape, self.speakers)) or "$^", " ", text)
        wanted = content(plain(bare)) or content(plain(text))
        said = self.stated | content(plain(old))
        unsaid = self.elsewhere - said
        if not wanted & (said | self.elsewhere) or self._is_of_prompt(text):
            return "foreign", ""
        clauses = [Words(clause) for clause in GROUNDING["clause"].findall(text)]
        parts = [{word for word in one.content if not word.isdecimal()} for one in clauses]
        if (
            not wanted & said
            or 2 * len(wanted & unsaid) >= len(wanted)
            or any(2 * len(unsaid & part) > len(part) > 1 for part in parts)
        ):
            return "unstated", ""
        label = GROUNDING["label"].search(text)
        if label and plain(label[0]).strip() not in self.evidence.text:
            return "label", label[0]
        if unnamed := self.evidence.unsaid(text, self.speakers, self.heard):
            return "figure", "、".join(unnamed)
        bent = ((self._bent(clause, text), clause.text) for clause in clauses)
        return next(((fault, clause) for fault, clause in bent if fault), None)

    def _bent(self, told: Words, text: str) -> Fault | None:
        """Returns what a clause of a text makes of the words that are nearest to it."""
        near = self.nearest(told, text)
        heads = {head for head, *_ in told.denials}
        agreed = any(
            told.content & one.content and heads.intersection(head for head, *_ in one.denials)
            for one in self.said
        )
        made = [_turned(told, one) for one in near]
        faults = [None if agreed and fault == "denied" else fault for fault in made]
        denied = [one for one, fault in zip(near, faults, strict=True) if fault == "denied"]
        heads = {head for one in (told, *denied) for head, *_ in one.denials}
        others = (one for one in near if one not in denied)
        if denied and not any(heads.intersection(one.units) for one in others):
            return "denied"
        if not near or self._was_taken_back(told, near[0]):
            return "denied" if near else None
        if all(faults):
            return faults[0]
        mine = self._parties(told, text)
        exchanged = all(_are_exchanged(told, mine, one, self._parties(one, text)) for one in near)
        # It leaves out whose matter it is: a speaker's wife's, and not his.
        kin = all(one.has("my_kin") and one.who in text for one in near)
        of_kin = kin and not Words(text).has("kin")
        another = exchanged or self._is_of_another(told, near) or of_kin
        return "speaker" if another else None

    def _is_of_another(self, told: Words, near: Sequence[Words]) -> bool:
        """Returns whether a clause repeats what another speaker said of himself."""
        words = told.content - content(plain(" ".join(self.speakers)))
        return any(plain(name) in told.plain for name in self.speakers) and all(
            one.has("own")
            and plain(one.who) not in told.plain
            and 2 * len(words & one.content) > len(words)
            and not one.denials
            for one in near
        )

    def _was_taken_back(self, told: Words, since: Words) -> bool:
        """Returns whether somebody said later that it is not so."""
        if says_changed(told.plain) or told.denials:
            return False
        return any(
            one.turn is not since.turn
            and 3 * len(told.content & one.content) >= len(one.content) > 0
            and (
                one.has("called_off")
                or any(len(head) > 1 and head in told.units for head, *_ in one.denials)
            )
            for one in self.said[self.said.index(since) + 1 :]
        )

    def _parties(self, words: Words, text: str) -> list[str]:
        """Returns who is named in words, or speaks in them of himself, in their order, of those
        whom a text names."""
        names = (*GROUNDING["party"].findall(text), *self.speakers)
        known = {name for name in names if name in text and plain(name) in self.heard}
        own = GROUNDING["own"].search(words.plain) if words.who in known else None
        places = {words.who: own.start()} if own else {}
        places |= {name: words.text.find(name) for name in known if name in words.text}
        return sorted(places, key=places.__getitem__)

    def nearest(self, told: Words, text: str) -> list[Words]:
        """Returns what was said that shares the most words with a clause of a text: by whom the
        text is about, where that person said anything of it."""
        owner = min((n for n in self.speakers if n in text), key=text.find, default="")
        near = [one for one in self.said if told.content & one.content]
        own = [one for one in near if one.who == owner or (owner and owner in one.text)]
        alike = {one: len(told.content & one.content) for one in own or near}
        most = max(alike.values(), default=0)
        return [one for one, count in alike.items() if count == most]

    def _is_of_prompt(self, text: str) -> bool:
        """Returns whether most of a text stands in the instructions, and in nothing that was
        said."""
        wanted = [piece for piece in pieces(text) if len(piece) > 1]
        unsaid = [piece for piece in wanted if piece not in self.heard]
        return 2 * sum(map(fold(instructions()).__contains__, unsaid)) > len(wanted)


def _turned(told: Words, said: Words) -> Fault | None:
    """Returns what a clause makes of words on the same matter."""
    if not (told.denials and said.denials) and (told.denies(said) or said.denies(told)):
        return "denied"
    if said.has("reported"):
        return None if told.has("reports") else "speaker"
    if told.has("hedge"):
        return None
    past = said.has("past") and not told.has("over")
    planned = said.has("undone") and not told.has("intended") and told.has("completed")
    return "unsure" if past or planned or said.has("unsure") else None


def _are_exchanged(told: Words, mine: Sequence[str], said: Words, theirs: Sequence[str]) -> bool:
    """Returns whether what one did is told of another one, or to whom it was done."""
    if len(mine) == len(theirs) == 1:
        pairs = ((told, mine[0]), (said, theirs[0]))
        begins = (GROUNDING["joint"].sub("", o.plain).startswith(plain(who)) for o, who in pairs)
        return mine != theirs and all(begins)
    if len(mine) != 2 or {*mine} != {*theirs}:
        return False
    taking = [one.has("takes") for one in (told, said)]
    giving = [one.has("takes") or one.has("gives") for one in (told, said)]
    return all(giving) and (mine == theirs) is (taking[0] is not taking[1])


def _corrected(said: list[Words], turn: QueuedTurn) -> list[Words]:
    """Returns what was said, without the figures of the speaker's last turn for which this turn,
    which corrects it, has others."""
    own = [one.turn for one in said if one.turn is not None and one.turn.person == turn.person]
    before = own[-1] if own and Words(turn.user_text).has("corrects") else None
    return [
        Words(_left(one.text, turn.user_text, turn.observed_at), before)
        if before is not None and one.turn is before
        else one
        for one in said
    ]


def _left(text: str, since: str, at: datetime) -> str:
    """Returns a text without the figures for which what was said since has others."""
    kinds = {one.kind for one in figures(since, at)}
    for one in figures(text, at):
        text = plain(text).replace(one.words, " ") if one.kind in kinds else text
    return text


def grounded(
    reply: ReflectionReply, turns: Sequence[QueuedTurn], prompt: Prompt, each: Each = iter
) -> ReflectionReply | Doubtful[ReflectionReply] | Unreadable:
    """Returns the answer with the items that may stand; Doubtful where the model can put others
    right. Unreadable where it has items, and none of them comes from the turns. ``each``: what
    items are gone through by."""
    talk = cache(partial(Talk.of, turns, "\n".join(prompt.shown.values())))

    def fault_of(one: Correction) -> tuple[Fault, str] | None:
        text = one.new.judgment
        moods = _WISHED if supposes(text) else _STATED
        return talk(moods).fault(text, prompt.shown.get(one.old_id, ""))

    given = (*(Correction("", new) for new in reply.new_memories), *reply.contradictions)
    told = [replace(one, new=talk(_STATED).put_right(one.new)) for one in given]
    items = [(one, fault_of(one)) for one in each(told)]
    if items and all(fault is not None and fault[0] == "foreign" for _, fault in items):
        return Unreadable(_MADE_UP, shown=False)
    stand = [one for one, fault in items if fault is None]
    left = replace(
        reply,
        new_memories=tuple(one.new for one in stand if not one.old_id),
        contradictions=tuple(one for one in stand if one.old_id),
    )
    words = [
        _complaint(talk(_STATED), prompt, one.new.judgment, fault[1])
        for one, fault in items
        if fault is not None and fault[0] not in _FINAL
    ]
    return Doubtful(left, "\n".join(words), partial(_joined, left)) if words else left


def _joined(first: ReflectionReply, second: ReflectionReply) -> ReflectionReply:
    """Returns what stands of an answer with what stands of the one that puts it right."""
    return replace(
        first,
        new_memories=first.new_memories + second.new_memories,
        contradictions=first.contradictions + second.contradictions,
    )


def _complaint(talk: Talk, prompt: Prompt, text: str, words: str) -> str:
    """Returns what the model is told of an item that it can put right: what was said beside it."""
    plain_text = simplified(text)
    beside = " / ".join(
        piece.text.strip() for piece in talk.nearest(Words(plain_text), plain_text)[:2]
    )
    said = {"text": as_data(text), "words": as_data(words.strip()), "beside": as_data(beside)}
    return Texts.of(prompt.spoken).say("reader.not_said", **said)


def denials(text: str) -> list[str]:
    """Returns what stands behind each negation of a text, as far as it tells what is denied."""
    told = plainly(text)
    return [told[one.end() :][: 20 * _BEHIND] for one in GROUNDING["denial"].finditer(told)]


def plainly(text: str) -> str:
    """Returns a text, plain, with each negation before what it denies, and none that denies
    nothing."""
    return GROUNDING["cannot"].sub(r"不\1\2", GROUNDING["no_denial"].sub(" ", plain(text)))


def _units(text: str) -> list[str]:
    """Returns Han characters and stems of words."""
    units = re.findall("[\u4e00-\u9fff]|[a-z0-9]+", text)
    return [unit if len(unit) == 1 else stem(unit).removesuffix("e") for unit in units]
