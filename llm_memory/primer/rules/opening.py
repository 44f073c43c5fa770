"""What a conversation is told as it begins or returns, beside the memories of that turn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...models.recall import Hit
from ...text.hit_line import CLOSE, OPEN, hit_line, hit_lines
from ...text.normalising import estimate_tokens
from ...text.safe_text import safe, safe_line, safe_pointer, shown_name
from ...texts import Texts
from ..models import Primer, PrimerPart, PrimerSection
from .primer import markdown_line


@dataclass(frozen=True, slots=True)
class Written:
    """Renders a primer, line ends included, so that its tokens can be counted."""

    line: Callable[[Hit], str]
    heading: Callable[[PrimerPart, Sequence[str]], str]
    words: Callable[[str], str]


AS_MARKDOWN = Written(
    lambda hit: markdown_line(hit) + "\n", lambda part, names: "## 最近几天\n\n\n", str
)
"""A list item for each memory below a heading for each section."""


def as_told(texts: Texts, complete: Callable[[Hit], Hit] = lambda hit: hit) -> Written:
    """How a model is told each line. A heading begins a line, a memory's words never do: none of
    them can be taken for a heading. ``complete``: adds what is to be known of the speakers."""

    def heading(part: PrimerPart, names: Sequence[str]) -> str:
        who = texts.say("common.and").join(filter(None, map(shown_name, names)))
        return _heading(texts.say(f"primer.{part}", names=who)) + "\n"

    return Written(
        line=lambda hit: f"- {hit_line(complete(hit), texts)}\n",
        heading=heading,
        words=lambda text: f"- {safe(text)}\n",
    )


def opening(primer: Primer, hits: Sequence[Hit], texts: Texts, left_out: int = 0) -> str:
    """The primer and the memories that were recalled, between the same delimiters. What the primer
    tells already is not told twice."""
    written = as_told(texts)
    lines = [OPEN, _preamble(texts, returns=primer.away is not None)]
    for section in primer.sections:
        if section.part is PrimerPart.CONSTITUTION:
            lines += _constitution(section, texts)
            continue
        lines.append(written.heading(section.part, section.names).rstrip("\n"))
        lines += [written.words(text).rstrip("\n") for text in section.words]
        lines += [written.line(hit).rstrip("\n") for hit in section.hits]
    if more := [hit for hit in hits if (hit.scope_name, hit.memory_id) not in primer.shown]:
        lines.append(_heading(texts.say("primer.recalled")))
        lines += hit_lines(more, texts, left_out)
    return "\n".join([*lines, CLOSE])


def frame_tokens(texts: Texts) -> int:
    """What a primer after a pause costs before it says anything; the constitution's words are
    counted by themselves."""
    recalled = _heading(texts.say("primer.recalled"))
    frame = [OPEN, _preamble(texts, returns=True), recalled, CLOSE]
    return estimate_tokens("\n".join(frame) + "\n")


def _constitution(section: PrimerSection, texts: Texts) -> list[str]:
    lines = [_heading(texts.say(f"primer.{section.part}")), *map(safe_line, section.words)]
    if section.pointer:
        lines.append(texts.say("primer.more", pointer=safe_pointer(section.pointer)))
    return lines


def _preamble(texts: Texts, *, returns: bool) -> str:
    vouched = (PrimerPart.CONSTITUTION, PrimerPart.RULES, PrimerPart.OWNER)
    named = {part.value: texts.say(f"primer.{part}") for part in vouched}
    return texts.say("primer.preamble" if returns else "primer.opening", **named)


def _heading(text: str) -> str:
    return f"## {text}"
