"""What a conversation is told as it begins or returns, beside the memories of that turn: chosen and
ordered, cut to a token budget, and written. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from itertools import accumulate
from typing import Final

from ...catalogue.rules.closing import is_over
from ...catalogue.rules.tasks import is_done
from ...catalogue.rules.timeline import local_day
from ...models.conversation import Actor
from ...models.data_models import Memory, StoredMemory
from ...models.passages import NoteChunk
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
_HEEDED: Final = (PrimerPart.CONSTITUTION, PrimerPart.RULES, PrimerPart.OWNER)
"""The sections that are more than data."""
PREVIEW: Final = 160
"""Characters of a memory: a line must fit into its section's share."""
MOST_PEOPLE: Final = 5
_LEAST_NAME: Final = 2
COMMENT: Final = re.compile("<!--.*?(?:-->|\\Z)", re.DOTALL)


def is_rule(stored: StoredMemory) -> bool:
    """Returns whether an instruction is trusted and in force. Else it is no rule, whatever file it
    is in."""
    memory = stored.memory
    return memory.provenance.trusted and not memory.quoted and not is_over(memory)


def speakers(lately: Iterable[StoredMemory], familiar: AbstractSet[str]) -> list[Actor]:
    """Returns the familiar people who spoke last, by their last names, given what was said, the
    newest first."""
    names = dict[str, str]()
    for origin in (stored.memory.provenance for stored in lately):
        if origin.account in familiar and origin.who:
            names.setdefault(origin.account, origin.who)
    return [Actor(account, who) for account, who in names.items()][: MOST_PEOPLE - 1]


def sections_of(
    shown: Mapping[PrimerPart, Sequence[StoredMemory]],
    own: str,
    zone: tzinfo | None,
    owner: str = "",
    people: Sequence[Actor] = (),
) -> list[PrimerSection]:
    """Returns each section that has something to tell, in its order, best first: what is of the
    scope named ``own``, the newest day, the strongest, the newest. ``shown``: what may be, of
    people whatever may speak of them. ``owner``: a person's own text, without the bot's lines."""

    def rank(part: PrimerPart, stored: StoredMemory) -> tuple[bool, int, int, float]:
        memory, days = stored.memory, part is PrimerPart.DAYS
        day = local_day(stored, zone).toordinal() if days else 0
        return stored.scope.name != own, -day, -memory.strength, -memory.created_at.timestamp()

    fits: Mapping[PrimerPart, Callable[[StoredMemory], bool]] = {
        PrimerPart.PEOPLE: lambda stored: _speaks_of(people, stored.memory),
        PrimerPart.TASKS: lambda stored: not is_done(stored),
    }

    def hits(part: PrimerPart, most: int) -> tuple[Hit, ...]:
        entries = filter(fits.get(part), shown.get(part, ()))
        best = [Candidate(stored) for stored in sorted(entries, key=partial(rank, part))[:most]]
        return tuple(as_hit(one, PREVIEW) for one in merge_same_facts(best))

    names, words = {PrimerPart.PEOPLE: _names(people)}, {PrimerPart.OWNER: _lines(owner)}
    sections = [
        PrimerSection(part, hits(part, most), names.get(part, ()), words.get(part, ())[:most])
        for part, (_, most) in CAPS.items()
    ]
    return [one for one in sections if one.hits or one.names or one.words]


def _lines(owner: str) -> tuple[str, ...]:
    """Returns the owner's lines without the file's title and comments."""
    said = (line for line in COMMENT.sub("\n", owner).splitlines() if line.strip())
    return tuple(one_line(line)[:PREVIEW] for line in said if not line.startswith("# "))


def _names(people: Iterable[Actor]) -> tuple[str, ...]:
    names = dict.fromkeys(one_line(person.name) for person in people)
    return tuple(name for name in names if name and order_like(name) is None)


def _speaks_of(people: Iterable[Actor], memory: Memory) -> bool:
    """True where an entry names one of them, or is what he said about himself."""
    said, account = memory.judgment, memory.provenance.account
    named = any(len(one.name) >= _LEAST_NAME and one.name in said for one in people)
    own = any(one.person and one.person == account for one in people)
    return named or (own and says("first_person", said))


def fit(sections: Sequence[PrimerSection], token_budget: int, texts: Texts) -> list[PrimerSection]:
    """Returns what fits the budget, for the whole text, line ends included. An entry that does not
    fit is skipped. Empty if only names would be shown."""
    kept: list[PrimerSection] = []
    shares = sum(CAPS[section.part][0] for section in sections)
    spent = allowed = 0.0
    for section in sections:
        allowed += token_budget * CAPS[section.part][0] / shares
        head, *costs = map(_line_tokens, section_lines(section, texts))
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
    return kept if any(section.hits or section.words for section in kept) else []


def _line_tokens(line: str) -> int:
    return estimate_tokens(f"{line}\n")


def constitution(
    text: str, path: str = "", pieces: Iterable[NoteChunk] = ()
) -> PrimerSection | None:
    """Returns the section, its ``words`` being the file's lines without comments; None where nobody
    has written more than a title. Where the text is cut, behind a paragraph if one fits, the
    pointer opens that of the file's ``pieces`` with which it goes on, or names the file."""
    lines = COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text).rstrip().split("\n")
    if all(line.startswith("# ") or not line.strip() for line in lines):
        return None
    kept = [  # of several blank lines one
        (number, line.rstrip())
        for number, line in enumerate(lines)
        if line.strip() or (number and lines[number - 1].strip())
    ]
    words = tuple(line for _, line in kept)
    count = sum(cost <= MOST_TOKENS for cost in accumulate(map(_line_tokens, words)))
    if count == len(words):
        return PrimerSection(PrimerPart.CONSTITUTION, words=words)
    whole = next((end for end in range(count, 0, -1) if not words[end]), count)
    left_at = 1 + next(number for number, line in kept[whole:] if line)
    told = words[:whole] or (words[0][:MOST_TOKENS],)
    pointer = next((piece.pointer for piece in pieces if piece.last >= left_at), path)
    return PrimerSection(PrimerPart.CONSTITUTION, words=told, pointer=pointer)


def section_lines(section: PrimerSection, texts: Texts) -> list[str]:
    """The heading of a section, and a line for each of its memories or of the owner's words. A
    heading begins a line, a memory's words never do: none of them can be taken for a heading. The
    constitution stands there as it was written."""
    who = texts.say("common.and").join(filter(None, map(shown_name, section.names)))
    heading = f"## {texts.say(f'primer.{section.part}', names=who)}"
    if section.part is not PrimerPart.CONSTITUTION:
        words = [f"- {safe(text)}" for text in section.words]
        hits = [f"- {hit_line(hit, texts, pointing=False)}" for hit in section.hits]
        return [heading, *words, *hits]
    lines = [heading, *map(safe_line, section.words)]
    if section.pointer:
        lines.append(texts.say("primer.more", pointer=safe_pointer(section.pointer)))
    return lines


def opening(primer: Primer, hits: Sequence[Hit], texts: Texts, left_out: int = 0) -> str:
    """The primer and the memories that were recalled, between the same delimiters. What the primer
    tells already is not told twice."""
    parts = {section.part for section in primer.sections}
    lines = [OPEN, _preamble(parts, texts, after_pause=primer.away is not None)]
    for section in primer.sections:
        lines += section_lines(section, texts)
    if more := [hit for hit in hits if (hit.scope_name, hit.memory_id) not in primer.shown]:
        lines += [f"## {texts.say('primer.recalled')}", *hit_lines(more, texts, left_out)]
    return "\n".join([*lines, CLOSE])


def frame_tokens(texts: Texts) -> int:
    """What a primer after a pause costs at most before it says anything; the constitution's words
    are counted by themselves."""
    recalled = f"## {texts.say('primer.recalled')}"
    frame = [OPEN, _preamble(_HEEDED, texts, after_pause=True), recalled, CLOSE]
    return estimate_tokens("\n".join(frame) + "\n")


def _preamble(parts: Collection[PrimerPart], texts: Texts, *, after_pause: bool) -> str:
    """What the text is, and which of these parts of it are more than data."""
    heeded = "".join(
        texts.say(f"primer.heed_{part}", name=texts.say(f"primer.{part}"))
        for part in _HEEDED
        if part in parts
    )
    orders = heeded + texts.say("primer.no_other_orders" if heeded else "primer.no_orders")
    return texts.say("primer.preamble" if after_pause else "primer.opening", orders=orders)
