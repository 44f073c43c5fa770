"""Chooses and orders the memories of a primer, within a token budget. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo

from ...catalogue.rules.closing import holding
from ...catalogue.rules.tasks import is_done
from ...catalogue.rules.timeline import has_day, is_digest, local_day
from ...models.conversation import Actor
from ...models.data_models import UNDATED, Memory, Source, StoredMemory, shown_day
from ...models.passages import place_name
from ...models.recall import Hit
from ...models.scope import PUBLIC_NAME
from ...recall.patterns import says
from ...recall.rules.order import Candidate, as_hit
from ...recall.rules.tell_once import once
from ...remember.rules.gate import order_like
from ...text.normalising import estimate_tokens, one_line
from ...text.safe_text import shown_name
from ..models import Primer, PrimerPart, PrimerSection

SHARES = {
    PrimerPart.RULES: 0.25,
    PrimerPart.OWNER: 0.15,
    PrimerPart.PEOPLE: 0.15,
    PrimerPart.TASKS: 0.2,
    PrimerPart.DAYS: 0.25,
}
"""Each section's share of the budget; the constitution has one of its own. Unused tokens are given
to the others, in their order."""
PREVIEW = 160
"""Characters of a memory, 240 of a digest: a line must fit into its section's share."""
_PREVIEW_OF_A_DIGEST = 240
_MOST = {
    PrimerPart.RULES: 20,
    PrimerPart.OWNER: 30,
    PrimerPart.PEOPLE: 10,
    PrimerPart.TASKS: 20,
    PrimerPart.DAYS: 12,
}
_OF_A_PERSON = 3
_DAYS = 3
"""The newest days with entries, of each scope."""
MOST_PEOPLE = 5
_LEAST_NAME = 2
COMMENT = re.compile("<!--.*?(?:-->|\\Z)", re.DOTALL)
_TITLE = re.compile("# ")
_LONGEST_NAME = 32


@dataclass(frozen=True, slots=True)
class Material:
    """The candidates of each section, best first; see the functions below.

    ``owner``: the owner's own text. ``people``: the people that ``about`` describes.
    """

    rules: Sequence[StoredMemory] = ()
    owner: str = ""
    people: Sequence[Actor] = ()
    about: Sequence[StoredMemory] = ()
    tasks: Sequence[StoredMemory] = ()
    days: Sequence[StoredMemory] = ()


def may_be_shown(entries: Iterable[StoredMemory]) -> list[StoredMemory]:
    """Returns the entries without unvouched orders and without settled ones: recall finds those on
    request, but they are not shown unasked."""
    return [stored for stored in holding(entries) if not stored.memory.quoted]


@dataclass(frozen=True, slots=True)
class Participants:
    """The people that a primer is for, by id, and their conversation."""

    persons: Collection[str] = ()
    conversation: str = ""

    def may_be_shown(self, stored: StoredMemory) -> bool:
        """False for what a stranger told the bot in another conversation: recall finds it on
        request, but a primer does not show it.

        Of public a primer shows what was said by these people or in this conversation, what an
        admin vouches for, and what was written by hand or imported without a speaker.
        """
        if place_name(stored) != PUBLIC_NAME:
            return True
        origin = stored.memory.provenance
        if origin.vouched or stored.memory.speaker in self.persons:
            return True
        if origin.conversation and origin.conversation == self.conversation:
            return True
        unsigned = not (origin.person or origin.who or origin.conversation)
        return unsigned and origin.source is not Source.REFLECTION


def is_rule(stored: StoredMemory) -> bool:
    """Returns whether an instruction is trusted. Else it is no rule, whatever file it is in."""
    return stored.memory.provenance.trusted


def rules(entries: Iterable[StoredMemory]) -> list[StoredMemory]:
    """Returns the trusted instructions, the strongest first, then the newest."""
    own = sorted(filter(is_rule, may_be_shown(entries)), key=_strongest)
    return own[: _MOST[PrimerPart.RULES]]


def open_tasks(entries: Iterable[StoredMemory], own: str) -> list[StoredMemory]:
    """Returns the open tasks: those of the scope named ``own`` first, the strongest first, then the
    newest."""
    left = [stored for stored in may_be_shown(entries) if not is_done(stored)]
    left.sort(key=lambda stored: (stored.scope.name != own, *_strongest(stored)))
    return left[: _MOST[PrimerPart.TASKS]]


def last_days(entries: Iterable[StoredMemory], own: str, zone: tzinfo | None) -> list[StoredMemory]:
    """Returns the journal's last days with entries, the newest first, a day's digest before its
    entries; the scope named ``own`` before others."""
    by_scope: dict[str, dict[date, list[StoredMemory]]] = {}
    for stored in may_be_shown(entries):
        if not has_day(stored):
            continue
        days = by_scope.setdefault(stored.scope.name, {})
        days.setdefault(local_day(stored, zone), []).append(stored)
    chosen: list[StoredMemory] = []
    for name in sorted(by_scope, key=lambda scope: (scope != own, scope)):
        for day in sorted(by_scope[name], reverse=True)[:_DAYS]:
            chosen += sorted(by_scope[name][day], key=_digest_first)
    return chosen[: 4 * _MOST[PrimerPart.DAYS]]


def about_people(
    people: Sequence[Actor], entries: Iterable[StoredMemory], own: str
) -> list[StoredMemory]:
    """Returns entries that name these people, or that they said about themselves: a few for each
    person, the strongest first, in the order of the people."""
    known = sorted(may_be_shown(entries), key=lambda s: (s.scope.name != own, *_strongest(s)))
    chosen: dict[tuple[str, str], StoredMemory] = {}
    for person in people:
        of_this = [stored for stored in known if _speaks_of(person, stored.memory)]
        for stored in of_this[:_OF_A_PERSON]:
            chosen.setdefault((place_name(stored), stored.memory.memory_id), stored)
    return list(chosen.values())[: _MOST[PrimerPart.PEOPLE]]


def _speaks_of(person: Actor, memory: Memory) -> bool:
    if len(person.name) >= _LEAST_NAME and person.name in memory.judgment:
        return True
    own = bool(person.person) and memory.provenance.account == person.person
    return own and says("first_person", memory.judgment)


def _strongest(stored: StoredMemory) -> tuple[int, float]:
    return -stored.memory.strength, -stored.memory.created_at.timestamp()


def _digest_first(stored: StoredMemory) -> tuple[bool, int, float]:
    return (not is_digest(stored.memory), *_strongest(stored))


def make_primer(
    material: Material,
    *,
    token_budget: int,
    line: Callable[[Hit], str],
    heading: Callable[[PrimerPart, Sequence[str]], str],
    words: Callable[[str], str],
) -> Primer:
    """Returns what fits the budget: each section up to its share, then what is left, in their
    order. An entry that does not fit is skipped. Empty if only names would be shown.

    Args:
        token_budget: For the whole text, line ends included.
        line: Renders a memory, its line end included.
        heading: Renders a section's heading; that of the people has their names.
        words: Renders a line of the owner's.
    """
    built = [_Section.of(part, material, line, heading, words) for part in SHARES]
    left = token_budget
    for section in built:
        left -= section.fill(min(left, int(token_budget * SHARES[section.part])))
    for section in built:
        left -= section.fill(left)
    sections = tuple(section.section() for section in built if section.begun)
    if not any(section.hits or section.words for section in sections):
        return Primer()
    return Primer(sections, tokens=token_budget - left)


class _Section:
    """One section while it is being filled."""

    def __init__(self, part: PrimerPart, head: int, costs: Sequence[int]) -> None:
        self.part = part
        self.begun = False
        self.names: tuple[str, ...] = ()
        self.hits: Sequence[Hit] = ()
        self.words: Sequence[str] = ()
        self._head = head
        self._costs = costs
        self._taken: set[int] = set()

    @classmethod
    def of(
        cls,
        part: PrimerPart,
        material: Material,
        line: Callable[[Hit], str],
        heading: Callable[[PrimerPart, Sequence[str]], str],
        words: Callable[[str], str],
    ) -> _Section:
        names: tuple[str, ...] = ()
        if part is PrimerPart.OWNER:
            lines = _lines(material.owner)[: _MOST[part]]
            section = cls(part, _cost(heading(part, ())), [_cost(words(text)) for text in lines])
            section.words = lines
            return section
        if part is PrimerPart.PEOPLE:
            known = (one_line(person.name)[:_LONGEST_NAME] for person in material.people)
            plain = (name for name in known if name and order_like(name) is None)
            names = tuple(dict.fromkeys(plain))[:MOST_PEOPLE]
        hits = [_hit(*said) for said in once(_of_part(part, material))]
        costs = [_cost(line(hit)) for hit in hits]
        section = cls(part, _cost(heading(part, names)), costs)
        section.names = names
        section.hits = hits
        return section

    def fill(self, allowance: int) -> int:
        """Take what fits. Returns how much of the allowance was spent."""
        spent = 0 if self.begun else self._head
        if spent > allowance:
            return 0
        taken = [] if self.begun or not self.names else [-1]
        for place, cost in enumerate(self._costs):
            if place not in self._taken and spent + cost <= allowance:
                spent += cost
                taken.append(place)
        if not taken:
            return 0
        self.begun = True
        self._taken.update(taken)
        return spent

    def section(self) -> PrimerSection:
        """Returns what was taken, in its order."""
        kept = sorted(place for place in self._taken if place >= 0)
        hits = tuple(self.hits[place] for place in kept) if self.hits else ()
        words = tuple(self.words[place] for place in kept) if self.words else ()
        return PrimerSection(self.part, hits, self.names, words)


def _of_part(part: PrimerPart, material: Material) -> Sequence[StoredMemory]:
    return {
        PrimerPart.RULES: material.rules,
        PrimerPart.PEOPLE: material.about,
        PrimerPart.TASKS: material.tasks,
        PrimerPart.DAYS: material.days,
    }[part]


def _hit(stored: StoredMemory, *others: StoredMemory) -> Hit:
    limit = _PREVIEW_OF_A_DIGEST if is_digest(stored.memory) else PREVIEW
    also = tuple(Candidate(other, 0.0) for other in others)
    return as_hit(Candidate(stored, 0.0, also=also), limit)


def _cost(text: str) -> int:
    return estimate_tokens(text)


def _lines(text: str) -> list[str]:
    """Returns the owner's lines without the file's title and comments."""
    said = COMMENT.sub("\n", text).splitlines()
    return [one_line(line)[:PREVIEW] for line in said if line.strip() and not _TITLE.match(line)]


_TITLES = {
    PrimerPart.RULES: ("长期指示", "Standing instructions"),
    PrimerPart.PEOPLE: ("常来的人", "People"),
    PrimerPart.TASKS: ("待办", "Open tasks"),
    PrimerPart.DAYS: ("最近几天", "The last days"),
}
"""In Chinese and in English."""
_BRACKETS = str.maketrans("<>", "‹›")


def primer_markdown(primer: Primer, *, english: bool = False) -> str:
    """Returns the primer as Markdown for PRIMER.md: a level-2 heading for each section, a list item
    with date, speaker and pointer for each memory. A memory's words cannot open a comment, an entry
    or a tag."""
    lines: list[str] = []
    for section in primer.sections:
        if section.part is PrimerPart.OWNER:
            continue
        lines += [f"## {_TITLES[section.part][english]}", ""]
        if names := list(filter(None, map(shown_name, section.names))):
            lines += [(", " if english else "、").join(names), ""]
        vouched = section.part is PrimerPart.RULES
        lines += [markdown_line(hit, vouched=vouched, english=english) for hit in section.hits]
        lines += [""] if section.hits else []
    return "\n".join(lines).strip() + "\n" if lines else ""


def markdown_line(hit: Hit, *, vouched: bool = False, english: bool = False) -> str:
    """Returns a memory as a list item: as its speaker's words, unless it is vouched for."""
    names = dict.fromkeys(shown_name(one.who) for one in (hit, *hit.also))
    names.pop("", None)
    text, pointer = _plain(hit.preview), _plain(hit.pointer, mark=False)
    day = shown_day(hit.day, "undated" if english else UNDATED)
    if english:
        said = text if vouched else f'"{text}"'
        return f"- {day} {', '.join(names) or 'unknown'}: {said} ({pointer})"
    said = text if vouched else f"“{text}”"
    return f"- {day} {'、'.join(names) or '佚名'}：{said}（{pointer}）"


def _plain(text: str, *, mark: bool = True) -> str:
    line = one_line(text).translate(_BRACKETS)
    return line.replace("^m-", "＾m-").replace("#m-", "＃m-") if mark else line
