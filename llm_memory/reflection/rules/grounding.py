"""What of a model's answer may stand: what people have said in the turns, as they said it. Pure.

A weak model gives the prompt's own example back, takes a question for a fact, the bot's words for a
person's, or changes a number. Such an item goes. What the model can put right it is asked for once
more, with the words that were said beside it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cache, partial
from typing import Final, Literal

from ...models.turns import QueuedTurn
from ...recall.rules.tell_once import claiming_nothing
from ...text.english import stem
from ...text.normalising import clean
from ...text.overlap import CHANGED, content, pieces
from ...text.scripts import fold
from ...text.stated import SENTENCE, Mood, read, supposes
from ...texts import Texts
from . import GROUNDING
from .figures import Evidence, figures, plain
from .guards import denials
from .prompt import Prompt, as_data, instructions, speakers
from .reply import Doubtful, NewMemory, ReflectionReply, Unreadable

_MADE_UP: Final = "made_up: the memories share nothing with the turns"
_OTHER_LANGUAGE: Final = "language: the memories are not in the language of the turns"
_SCRIPTS: Final = (
    re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{4}"),
    re.compile(r"(?:[A-Za-z']+\s){2}[A-Za-z]"),
)
"""So much of a script in a row is its language: more than a name."""
_BEHIND: Final = 3
"""So many Han characters, or words, behind a negation tell what is denied."""

type Fault = Literal["foreign", "unstated", "label", "figure", "denied", "unsure", "speaker"]
_FAR: Final = 1_000
"""Days."""
_STATED: Final[tuple[Mood, ...]] = ("stated",)
_WISHED: Final[tuple[Mood, ...]] = ("stated", "supposed", "asked")
_FINAL: Final[tuple[Fault, ...]] = ("foreign", "unstated")
"""Faults that no other words put right."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Words that a person said, or assented to."""

    text: str
    plain: str
    words: frozenset[str]
    turn: QueuedTurn

    @classmethod
    def of(cls, text: str, turn: QueuedTurn) -> Piece:
        """Returns words of a turn's person."""
        told = plain(text)
        return cls(text, told, content(told), turn)


@dataclass(frozen=True)
class Talk:
    """What was said in turns. ``elsewhere``: words that were only asked, supposed or joked, or that
    the bot alone said. ``names``: those of the speakers, by their labels."""

    turns: Sequence[QueuedTurn]
    pieces: Sequence[Piece]
    elsewhere: frozenset[str]
    evidence: Evidence
    names: dict[str, str]
    heard: str
    """All that was said in the turns, folded."""

    @classmethod
    def of(cls, turns: Sequence[QueuedTurn], known: str, moods: Collection[Mood]) -> Talk:
        """Reads the turns of one conversation, the oldest first. ``known``: what the model was
        shown beside them; ``moods``: what counts as said."""
        said, unsaid, answered = list[tuple[str, QueuedTurn]](), list[str](), list[str]()
        for before, turn in zip((None, *turns), turns, strict=False):
            assents = before is not None and GROUNDING["assent"].search(plain(turn.user_text))
            if before is not None:
                # What a person answers is told with the words of the question.
                asked = SENTENCE.findall(f"{before.user_text}\n{before.reply_text}")
                if not GROUNDING["refuses"].search(plain(turn.user_text)):
                    answered += [sentence for sentence in asked if sentence[-1:] in "?？"]
                own = before.user_text if before.person != turn.person else ""
                said += [(one, turn) for one in (before.reply_text, own) if assents]
            said = _corrected(said, turn)
            text, told = turn.user_text, plain(turn.user_text)
            if slip := GROUNDING["misspoke"].search(told):
                since = told[slip.start() :]
                text = _left(told[: slip.start()], since, turn.observed_at) + since
            for clause, mood in read(text):
                if mood in moods:
                    said.append((clause, turn))
                else:
                    unsaid.append(clause)
            unsaid.append(turn.reply_text)
        found = [
            Piece.of(clause, turn)
            for text, turn in said
            for clause in GROUNDING["clause"].findall(text)
        ]
        stated = frozenset[str]().union(*(one.words for one in found))
        elsewhere = content(plain("\n".join(unsaid))) - content(plain("\n".join(answered))) - stated
        names = {one.label: one.name for one in speakers(turns)}
        at = [(text, turn.observed_at) for text, turn in (*said, *(("", turn) for turn in turns))]
        heard = plain("\n".join(f"{one.who}\n{one.user_text}\n{one.reply_text}" for one in turns))
        evidence = Evidence.of(at, known)
        return cls(turns, found, elsewhere, evidence, names, heard)

    def put_right(self, new: NewMemory) -> NewMemory:
        """Returns an item with names for labels, and without a day that nobody named."""
        alone = [*self.names.values(), ""][0] if len(self.names) == 1 else ""
        turn = self.turns[new.turn - 1] if new.turn and 0 < new.turn <= len(self.turns) else None
        speaker = self.names.get(new.who) or (turn.who if turn else alone)
        reasoning = self._named(claiming_nothing(clean(new.reasoning)), speaker)
        return replace(
            new,
            judgment=self._named(new.judgment, speaker),
            reasoning="" if GROUNDING["label"].search(reasoning) else reasoning,
            asks=tuple(self._named(ask, speaker) for ask in new.asks),
            when=new.when if self._may_be(new.when) else "",
        )

    def _named(self, text: str, speaker: str) -> str:
        """Returns a text with names in place of the prompt's labels, unless people said these."""

        def put(match: re.Match[str]) -> str:
            if plain(match[0]).strip() in self.evidence.text:
                return match[0]
            if match["label"]:
                return self.names.get(match["label"]) or match[0]
            return (speaker or match[0]) if match["user"] else ""

        return GROUNDING["label"].sub(put, text).strip()

    def _may_be(self, when: str) -> bool:
        """Returns whether a day is one that was named or, where none was, one of these years."""
        try:
            day = date.fromisoformat(when[:10])
        except ValueError:
            return False
        near = all(abs((turn.observed_at.date() - day).days) < _FAR for turn in self.turns)
        return self.evidence.has_day(day) or (near and not self.evidence.names_days)

    def fault(self, text: str, old: str) -> tuple[Fault, str] | None:
        """Returns what is wrong with a memory, and in which of its words; None where it may stand.
        ``old``: what it corrects, empty for nothing."""
        bare = text
        for name in filter(None, self.names.values()):
            bare = bare.replace(name, " ")
        wanted, before = content(plain(bare)) or content(plain(text)), content(plain(old))
        said = before.union(*(one.words for one in self.pieces))
        if not wanted & (said | self.elsewhere) or self._is_of_prompt(text):
            return "foreign", ""
        clauses = GROUNDING["clause"].findall(text)
        unsaid = self.elsewhere - before
        if not wanted & said or 2 * len(wanted & unsaid) >= len(wanted):
            return "unstated", ""
        parts = ([word for word in content(plain(one)) if not word.isdecimal()] for one in clauses)
        if any(2 * len(unsaid.intersection(part)) > len(part) > 1 for part in parts):
            return "unstated", ""
        label = GROUNDING["label"].search(text)
        if label and plain(label[0]).strip() not in self.evidence.text:
            return "label", label[0]
        names = " ".join(self.names.values())
        if unnamed := self.evidence.unsaid(text, names, self.heard):
            return "figure", "、".join(unnamed)
        bent = ((self._bent(clause, text), clause) for clause in clauses)
        return next(((fault, clause) for fault, clause in bent if fault), None)

    def _bent(self, clause: str, text: str) -> Fault | None:
        """Returns what a clause of a text makes of the words that are nearest to it."""
        told, near = plain(clause), self.nearest(clause, text)
        heads = {head for head, *_ in _denials(told)}
        agreed = any(
            content(told) & one.words and heads & {head for head, *_ in _denials(one.plain)}
            for one in self.pieces
        )
        turned = [_turned(told, piece.plain) for piece in near]
        faults = [None if agreed and fault == "denied" else fault for fault in turned]
        denied = [o.plain for o, fault in zip(near, faults, strict=True) if fault == "denied"]
        heads = {head for text in (told, *denied) for head, *_ in _denials(text)}
        others = (_units(o.plain) for o in near if o.plain not in denied)
        if denied and not any(heads.intersection(units) for units in others):
            return "denied"
        if near and self._was_taken_back(told, near[0]):
            return "denied"
        if faults and all(faults):
            return faults[0]
        if near and (self._is_of_another(told, near) or _is_of_kin(text, near)):
            return "speaker"
        parties = [self._parties(piece.text, text, piece.turn.who) for piece in near]
        mine = self._parties(clause, text, "")
        exchanged = [
            _are_exchanged(told, mine, o.plain, p) for o, p in zip(near, parties, strict=True)
        ]
        return "speaker" if exchanged and all(exchanged) else None

    def _is_of_another(self, told: str, near: Sequence[Piece]) -> bool:
        """Returns whether a clause repeats what another speaker said of himself."""
        words = content(told) - content(plain(" ".join(self.names.values())))
        return any(name and plain(name) in told for name in self.names.values()) and all(
            GROUNDING["own"].search(one.plain)
            and plain(one.turn.who) not in told
            and 2 * len(words & one.words) > len(words)
            and not _denials(one.plain)
            for one in near
        )

    def _was_taken_back(self, told: str, since: Piece) -> bool:
        """Returns whether somebody said later that it is not so."""
        later, meant = self.pieces[self.pieces.index(since) + 1 :], _units(told)
        if CHANGED.search(told) or _denials(told):
            return False
        return any(
            one.turn is not since.turn
            and 3 * len(content(told) & one.words) >= len(one.words) > 0
            and (
                GROUNDING["called_off"].search(one.plain)
                or _denies(_denials(one.plain), told)
                or any(len(head) > 1 and head in meant for head, *_ in _denials(one.plain))
            )
            for one in later
        )

    def _parties(self, words: str, text: str, who: str) -> list[str]:
        """Returns who is named in words, in their order, of those whom a text names. ``who``: the
        speaker of the words, empty for nobody."""
        known = {name for name in GROUNDING["party"].findall(text) if plain(name) in self.heard}
        known |= {name for name in self.names.values() if name and name in text}
        places = {name: words.find(name) for name in known if name in words}
        own = GROUNDING["own"].search(plain(words)) if who else None
        if own and who in known:
            places.setdefault(who, own.start())
        return sorted(places, key=places.__getitem__)

    def nearest(self, clause: str, text: str) -> list[Piece]:
        """Returns what was said that shares the most words with a clause of a text: by whom the
        text is about, where that person said anything of it."""
        words = content(plain(clause))
        pairs = [pair for pair in pieces(plain(clause)) if len(pair) > 1 and not pair.isascii()]
        owner = min((n for n in self.names.values() if n and n in text), key=text.find, default="")
        near = [one for one in self.pieces if words & one.words]
        own = [one for one in near if one.turn.who == owner or (owner and owner in one.text)]
        alike = [
            len(words & one.words) + sum(pair in one.plain for pair in pairs) for one in own or near
        ]
        most = max(alike, default=0)
        return [one for one, count in zip(own or near, alike, strict=True) if count == most]

    def _is_of_prompt(self, text: str) -> bool:
        """Returns whether most of a text stands in the instructions, and in nothing that was
        said."""
        wanted, prompt = [piece for piece in pieces(text) if len(piece) > 1], _instructions()
        return 2 * sum(one in prompt and one not in self.heard for one in wanted) > len(wanted)


@cache
def _instructions() -> str:
    return fold(instructions())


def _is_of_kin(text: str, near: Sequence[Piece]) -> bool:
    """Returns whether a text leaves out whose matter it is: a speaker's wife's, and not his."""
    told = [(one, GROUNDING["my_kin"].search(one.plain)) for one in near]
    return not GROUNDING["kin"].search(plain(text)) and all(
        kin and one.turn.who in text and not GROUNDING["own"].search(one.plain, kin.end())
        for one, kin in told
    )


def _turned(told: str, said: str) -> Fault | None:
    """Returns what one text makes of another one on the same matter."""
    one, other = _denials(told), _denials(said)
    if not (one and other):
        text, denier = (said, told) if one else (told, said)
        implied = GROUNDING["implied"].finditer(text)
        plainly = all({*_units(match[0])} <= {*_units(denier)} for match in implied)
        if plainly and (_denies(one, said) or _denies(other, told)):
            return "denied"
    reported = GROUNDING["reported"].search(said)
    if reported and not content(said[: reported.start()]) & content(told):
        return None if GROUNDING["reports"].search(told) else "speaker"
    if GROUNDING["hedge"].search(told):
        return None
    if GROUNDING["past"].search(said) and not GROUNDING["over"].search(told):
        return "unsure"
    planned, done = GROUNDING["intended"].search(said), GROUNDING["completed"]
    undone = (
        planned
        and planned[0] not in told
        and not done.search(said[: planned.start()])
        and done.search(told)
    )
    return "unsure" if undone or GROUNDING["unsure"].search(said) else None


def _are_exchanged(told: str, mine: Sequence[str], said: str, theirs: Sequence[str]) -> bool:
    """Returns whether what one did is told of another one, or to whom it was done."""
    if len(mine) == len(theirs) == 1:
        pairs = ((told, mine[0]), (said, theirs[0]))
        begins = all(GROUNDING["joint"].sub("", text).startswith(plain(who)) for text, who in pairs)
        return begins and mine != theirs
    if len(mine) != 2 or {*mine} != {*theirs}:
        return False
    taking = [GROUNDING["takes"].search(text) is not None for text in (told, said)]
    giving = [
        taken or GROUNDING["gives"].search(text)
        for taken, text in zip(taking, (told, said), strict=True)
    ]
    return all(giving) and (list(mine) == list(theirs)) is (taking[0] is not taking[1])


def _corrected(
    said: list[tuple[str, QueuedTurn]], turn: QueuedTurn
) -> list[tuple[str, QueuedTurn]]:
    """Returns what was said, without the figures of the speaker's last turn for which this turn,
    which corrects it, has others."""
    before = next((one for _, one in reversed(said) if one.person == turn.person), None)
    if before is None or not GROUNDING["corrects"].search(plain(turn.user_text)):
        return said
    since = turn.user_text, turn.observed_at
    return [(_left(text, *since) if one is before else text, one) for text, one in said]


def _left(text: str, since: str, at: datetime) -> str:
    """Returns a text without the figures for which what was said since has others."""
    kinds = {one.kind for one in figures(since, at)}
    for one in figures(text, at):
        text = plain(text).replace(one.words, " ") if one.kind in kinds else text
    return text


def _denies(denials: Sequence[Sequence[str]], other: str) -> bool:
    """Returns whether a text affirms what is denied: the same, of the same."""
    units = _units(other)
    for head, *tail in denials:
        of = content(" ".join(tail))
        for place, unit in enumerate(units):
            behind = content(" ".join(units[place + 1 : place + 1 + 2 * _BEHIND])) or content(other)
            if unit == head and (not of or of & behind):
                return True
    return False


def _denials(text: str) -> list[list[str]]:
    """Returns what a text denies: of each negation the Han characters or words behind it."""
    found = map(_units, denials(text))
    return [units[: 1 + _BEHIND] for units in found if units]


def _units(text: str) -> list[str]:
    """Returns Han characters and stems of words."""
    units = re.findall("[\u4e00-\u9fff]|[a-z0-9]+", text)
    return [unit if len(unit) == 1 else stem(unit).removesuffix("e") for unit in units]


def grounded(
    reply: ReflectionReply, turns: Sequence[QueuedTurn], prompt: Prompt
) -> ReflectionReply | Doubtful[ReflectionReply] | Unreadable:
    """Returns the answer with the items that may stand; Doubtful where the model can put others
    right. Unreadable where it has items, and none of them comes from the turns, or is in a language
    of theirs."""
    shown = _shown(prompt)
    known = "\n".join(shown.values())
    talks = {moods: Talk.of(turns, known, moods) for moods in (_STATED, _WISHED)}

    def looked_at(new: NewMemory, old: str = "") -> tuple[NewMemory, tuple[Fault, str] | None]:
        new = talks[_STATED].put_right(new)
        wished = supposes(new.judgment) or GROUNDING["wished"].search(plain(new.judgment))
        return new, talks[_WISHED if wished else _STATED].fault(new.judgment, old)

    memories = [looked_at(new) for new in reply.new_memories]
    changes = [looked_at(one.new, shown.get(one.old_id, "")) for one in reply.contradictions]
    told = [*memories, *changes]
    if told and all(fault is not None and fault[0] == "foreign" for _, fault in told):
        return Unreadable(_MADE_UP, shown=False)
    spoken = _scripts("\n".join(f"{turn.user_text}\n{turn.reply_text}" for turn in turns))
    scripts = [_scripts(new.judgment) for new, _ in told]
    if spoken and told and all(one - spoken == one != set() for one in scripts):
        return Unreadable(_OTHER_LANGUAGE, shown=False)
    pairs = zip(reply.contradictions, changes, strict=True)
    left = replace(
        reply,
        new_memories=tuple(new for new, fault in memories if fault is None),
        contradictions=tuple(replace(o, new=new) for o, (new, fault) in pairs if fault is None),
    )
    wrong = [(new.judgment, *fault) for new, fault in told if fault and fault[0] not in _FINAL]
    words = [_complaint(talks[_STATED], prompt, text, words) for text, _, words in wrong]
    return Doubtful(left, "\n".join(words), partial(_joined, left)) if words else left


def _joined(first: ReflectionReply, second: ReflectionReply) -> ReflectionReply:
    """Returns what stands of an answer with what stands of the one that puts it right."""
    told = {new.judgment: new for new in (*first.new_memories, *second.new_memories)}
    olds = {(o.old_id, o.new.judgment): o for o in (*first.contradictions, *second.contradictions)}
    return replace(first, new_memories=tuple(told.values()), contradictions=tuple(olds.values()))


def _complaint(talk: Talk, prompt: Prompt, text: str, words: str) -> str:
    """Returns what the model is told of an item that it can put right: what was said beside it."""
    beside = " / ".join(piece.text.strip() for piece in talk.nearest(text, text)[:2])
    said = {"text": as_data(text), "words": as_data(words.strip()), "beside": as_data(beside)}
    return Texts.of(prompt.spoken).say("reader.not_said", **said)


def _shown(prompt: Prompt) -> dict[str, str]:
    """Returns the memories that the model was shown, by their ids."""
    lines = prompt.user.partition("<turns>")[0].splitlines()
    known = (json.loads(line) for line in lines if line.startswith("{"))
    return {str(one["id"]): str(one["text"]) for one in known}


def _scripts(text: str) -> frozenset[int]:
    return frozenset(number for number, run in enumerate(_SCRIPTS) if run.search(text))
