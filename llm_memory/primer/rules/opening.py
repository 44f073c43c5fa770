"""What a conversation is told as it begins or returns, beside the memories of that turn. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ...models.recall import Hit
from ...text.hit_line import CLOSE, OPEN, hit_line, hit_lines
from ...text.normalising import estimate_tokens
from ...text.safe_text import safe, safe_line, safe_pointer, shown_name
from ...texts import Texts
from ..models import Primer, PrimerPart, PrimerSection


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
