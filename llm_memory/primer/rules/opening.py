"""What a conversation is told as it begins or returns, beside the memories of that turn: chosen and
ordered, cut to a token budget, and written. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import date, tzinfo
from itertools import accumulate, islice
from typing import Final

from ...catalogue.rules.closing import is_over
from ...catalogue.rules.tasks import is_done
from ...catalogue.rules.timeline import has_day, local_day
from ...models.conversation import Actor
from ...models.data_models import Memory, StoredMemory
from ...models.recall import Hit
from ...recall.patterns import says
from ...recall.rules.order import Candidate, as_hit
from ...recall.rules.tell_once import merge_same_facts
from ...remember.rules.gate import order_like
from ...text.hit_line import CLOSE, OPEN, hit_line, hit_lines
from ...text.normalising import estimate_tokens, one_line
from ...text.safe_text import safe, safe_line, safe_pointer, shown_name
from ...texts import Texts
from ..models import Primer, PrimerPart, PrimerSection

MOST_TOKENS: Final = 600
"""Of a constitution, beside the primer's own budget, which such a text would take from everything
else."""
CAPS: Final[Mapping[PrimerPart, tuple[float, int]]] = {
    PrimerPart.RULES: (0.25, 20),
    PrimerPart.OWNER: (0.15, 30),
    PrimerPart.PEOPLE: (0.15, 10),
    PrimerPart.TASKS: (0.2, 20),
    PrimerPart.DAYS: (0.25, 24),
}
"""A section's share of the budget, and its most lines; the constitution has a budget of its own.
The share of sections with nothing to tell is divided among the others, and what one of those leaves
goes to the next."""
PREVIEW: Final = 160
"""Characters of a memory: a line must fit into its section's share."""
_OF_A_PERSON: Final = 3
_DAYS: Final = 3
"""The newest days with entries, of each scope."""
MOST_PEOPLE: Final = 5
_LEAST_NAME: Final = 2
_LONGEST_NAME: Final = 32
COMMENT: Final = re.compile("<!--.*?(?:-->|\\Z)", re.DOTALL)


def is_rule(stored: StoredMemory) -> bool:
    """Returns whether an instruction is trusted and in force. Else it is no rule, whatever file it
    is in."""
    memory = stored.memory
    return memory.provenance.trusted and not memory.quoted and not is_over(memory)


def latest_speakers(lately: Iterable[StoredMemory], familiar: AbstractSet[str]) -> list[Actor]:
    """Returns the familiar people who spoke last, given what was said, the newest first."""
    people: dict[str, Actor] = {}
    for stored in lately:
        origin = stored.memory.provenance
        if origin.account in familiar and origin.who:
            people.setdefault(origin.account, Actor(origin.account, origin.who))
    return list(people.values())[: MOST_PEOPLE - 1]


def sections_of(
    shown: Mapping[PrimerPart, Sequence[StoredMemory]],
    own: str,
    zone: tzinfo | None,
    owner: str = "",
    people: Sequence[Actor] = (),
) -> list[PrimerSection]:
    """Returns each section that has something to tell, in its order, best first: what is of the
    scope named ``own``, the strongest, the newest.

    Args:
        shown: What may be shown of each section; of people whatever may speak of them.
        owner: The owner's own text, without the bot's lines.
        people: Those present.
    """

    def rank(stored: StoredMemory) -> tuple[bool, int, float]:
        memory = stored.memory
        return stored.scope.name != own, -memory.strength, -memory.created_at.timestamp()

    sections = []
    for part, (_, most) in CAPS.items():
        entries = sorted(shown.get(part, ()), key=rank)
        names, words = tuple[str, ...](), tuple[str, ...]()
        match part:
            case PrimerPart.OWNER:
                words = _lines(owner)[:most]
            case PrimerPart.PEOPLE:
                entries, names = _about(people, entries), _names(people)
            case PrimerPart.TASKS:
                entries = [stored for stored in entries if not is_done(stored)]
            case PrimerPart.DAYS:
                entries = _last_days(entries, zone)
        told = merge_same_facts([Candidate(stored) for stored in entries[:most]])
        hits = tuple(as_hit(one, PREVIEW) for one in told)
        sections += [PrimerSection(part, hits, names, words)] if hits or names or words else []
    return sections


def _lines(owner: str) -> tuple[str, ...]:
    """Returns the owner's lines without the file's title and comments."""
    said = (line for line in COMMENT.sub("\n", owner).splitlines() if line.strip())
    return tuple(one_line(line)[:PREVIEW] for line in said if not line.startswith("# "))


def _names(people: Iterable[Actor]) -> tuple[str, ...]:
    known = (one_line(person.name)[:_LONGEST_NAME] for person in people)
    plain = (name for name in known if name and order_like(name) is None)
    return tuple(dict.fromkeys(plain))[:MOST_PEOPLE]


def _last_days(entries: Iterable[StoredMemory], zone: tzinfo | None) -> list[StoredMemory]:
    """Returns the last days with entries of each scope, the newest first; else in their order."""
    by_scope: dict[str, dict[date, list[StoredMemory]]] = {}
    for stored in entries:
        if has_day(stored):
            days = by_scope.setdefault(stored.scope.name, {})
            days.setdefault(local_day(stored, zone), []).append(stored)
    return [
        stored
        for days in by_scope.values()
        for day in sorted(days, reverse=True)[:_DAYS]
        for stored in days[day]
    ]


def _about(people: Iterable[Actor], entries: Sequence[StoredMemory]) -> list[StoredMemory]:
    """Returns entries that name these people, or that they said about themselves: a few for each
    person, in the order of the people."""
    found: dict[int, StoredMemory] = {}
    for person in people:
        of_this = (stored for stored in entries if _speaks_of(person, stored.memory))
        found |= {id(stored): stored for stored in islice(of_this, _OF_A_PERSON)}
    return list(found.values())


def _speaks_of(person: Actor, memory: Memory) -> bool:
    if len(person.name) >= _LEAST_NAME and person.name in memory.judgment:
        return True
    own = bool(person.person) and memory.provenance.account == person.person
    return own and says("first_person", memory.judgment)


def fit(sections: Sequence[PrimerSection], token_budget: int, texts: Texts) -> Primer:
    """Returns what fits the budget, for the whole text, line ends included. An entry that does not
    fit is skipped. Empty if only names would be shown."""
    kept: list[PrimerSection] = []
    shares = sum(CAPS[section.part][0] for section in sections)
    spent = allowed = 0.0
    for section in sections:
        allowed += token_budget * CAPS[section.part][0] / shares
        head, *costs = (estimate_tokens(f"{line}\n") for line in section_lines(section, texts))
        cost, taken = spent + head, list[int]()
        for place, of_line in enumerate(costs):
            if cost + of_line <= allowed:
                cost += of_line
                taken.append(place)
        if taken or (section.names and cost <= allowed):
            hits = tuple(section.hits[place] for place in taken if section.hits)
            words = tuple(section.words[place] for place in taken if section.words)
            kept.append(replace(section, hits=hits, words=words))
            spent = cost
    if not any(section.hits or section.words for section in kept):
        return Primer()
    return Primer(tuple(kept), tokens=int(spent))


def constitution(text: str) -> PrimerSection | None:
    """Returns the section, its ``words`` being the file's lines without comments; None where nobody
    has written more than a title. ``left_at`` is set where the text is cut, behind a paragraph if
    one fits."""
    lines = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text).rstrip().split("\n")
    said = [number for number, line in enumerate(lines) if line.strip()]
    if all(lines[number].startswith("# ") for number in said):
        return None
    kept: list[tuple[int, str]] = []
    for number, line in enumerate(lines):  # of several blank lines one
        if line.strip() or (kept and kept[-1][1]):
            kept.append((number, line.rstrip()))
    words, left_at = tuple(line for _, line in kept), 0
    if estimate_tokens("\n".join(words)) > MOST_TOKENS:
        costs = accumulate(estimate_tokens(f"{line}\n") for line in words)
        count = sum(cost <= MOST_TOKENS for cost in costs)
        whole = next((end for end in range(count, 0, -1) if not words[end]), count)
        left_at = 1 + next(number for number, line in kept[whole:] if line)
        words = words[:whole] or (words[0][:MOST_TOKENS],)
    return PrimerSection(PrimerPart.CONSTITUTION, words=words, left_at=left_at)


def section_lines(section: PrimerSection, texts: Texts) -> list[str]:
    """The heading of a section, and a line for each of its memories or of the owner's words. A
    heading begins a line, a memory's words never do: none of them can be taken for a heading. The
    constitution stands there as it was written."""
    who = texts.say("common.and").join(filter(None, map(shown_name, section.names)))
    heading = f"## {texts.say(f'primer.{section.part}', names=who)}"
    if section.part is not PrimerPart.CONSTITUTION:
        words = [f"- {safe(text)}" for text in section.words]
        return [heading, *words, *(f"- {hit_line(hit, texts)}" for hit in section.hits)]
    lines = [heading, *map(safe_line, section.words)]
    if section.pointer:
        lines.append(texts.say("primer.more", pointer=safe_pointer(section.pointer)))
    return lines


def opening(primer: Primer, hits: Sequence[Hit], texts: Texts, left_out: int = 0) -> str:
    """The primer and the memories that were recalled, between the same delimiters. What the primer
    tells already is not told twice."""
    lines = [OPEN, _preamble(texts, returns=primer.away is not None)]
    for section in primer.sections:
        lines += section_lines(section, texts)
    if more := [hit for hit in hits if (hit.scope_name, hit.memory_id) not in primer.shown]:
        lines += [_recalled(texts), *hit_lines(more, texts, left_out)]
    return "\n".join([*lines, CLOSE])


def frame_tokens(texts: Texts) -> int:
    """What a primer after a pause costs before it says anything; the constitution's words are
    counted by themselves."""
    frame = [OPEN, _preamble(texts, returns=True), _recalled(texts), CLOSE]
    return estimate_tokens("\n".join(frame) + "\n")


def _preamble(texts: Texts, *, returns: bool) -> str:
    vouched = (PrimerPart.CONSTITUTION, PrimerPart.RULES, PrimerPart.OWNER)
    named = {part.value: texts.say(f"primer.{part}") for part in vouched}
    return texts.say("primer.preamble" if returns else "primer.opening", **named)


def _recalled(texts: Texts) -> str:
    return f"## {texts.say('primer.recalled')}"
