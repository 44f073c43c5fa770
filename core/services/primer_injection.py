"""What a returning conversation is told, as text beside the memories of its first turn."""

from __future__ import annotations

from collections.abc import Sequence

from ...llm_memory import Actor, ConversationId, Hit, Primer, PrimerPart, Written
from ...llm_memory.text.normalising import estimate_tokens
from ..plugin_context import PluginContext
from ..texts import Texts
from .deadline import in_time
from .injection_service import CLOSE, OPEN, hit_line, safe


def opening(primer: Primer, hits: Sequence[Hit], texts: Texts) -> str:
    """The primer and the memories that were recalled, between the same delimiters. What the primer
    tells already is not told twice."""
    written = as_written(texts)
    lines = [OPEN, _preamble(texts)]
    for section in primer.sections:
        lines.append(written.heading(section.part, section.names).rstrip("\n"))
        lines += [written.words(text).rstrip("\n") for text in section.words]
        lines += [written.line(hit).rstrip("\n") for hit in section.hits]
    more = not_told(primer, hits)
    if more:
        lines.append(_heading(texts.say("primer.recalled")))
        lines += [f"{n}. {hit_line(hit, texts)}" for n, hit in enumerate(more, start=1)]
    return "\n".join([*lines, CLOSE])


def not_told(primer: Primer, hits: Sequence[Hit]) -> list[Hit]:
    """The recalled memories that the primer does not show."""
    shown = primer.shown
    return [hit for hit in hits if (hit.scope_name, hit.memory_id) not in shown]


def as_written(texts: Texts) -> Written:
    """How each line is written. A heading begins a line, a memory's words never do: none of them
    can be taken for a heading."""

    def heading(part: PrimerPart, names: Sequence[str]) -> str:
        who = texts.say("private.and").join(safe(name) for name in names)
        return _heading(texts.say(f"primer.{part}", names=who)) + "\n"

    return Written(
        line=lambda hit: f"- {hit_line(hit, texts)}\n",
        heading=heading,
        words=lambda text: f"- {safe(text)}\n",
    )


def frame_tokens(texts: Texts) -> int:
    """What a primer costs before it says anything."""
    recalled = _heading(texts.say("primer.recalled"))
    return estimate_tokens("\n".join([OPEN, _preamble(texts), recalled, CLOSE]) + "\n")


def _preamble(texts: Texts) -> str:
    rules, owner = (texts.say(f"primer.{part}") for part in (PrimerPart.RULES, PrimerPart.OWNER))
    return texts.say("primer.preamble", rules=rules, owner=owner)


def _heading(text: str) -> str:
    return f"## {text}"


class PrimerInjection:
    """Asks for it beside the recall of a turn, within the same deadline."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin

    async def for_turn(self, conversation_id: ConversationId, actor: Actor) -> Primer:
        """What the conversation is told; nothing unless it comes back after a pause. Whatever goes
        wrong, the turn goes on without."""
        config, texts = self._plugin.config, self._plugin.texts
        loop = config.engine.loop
        unread = self._plugin.reads_prompt_only(conversation_id) and not config.inject_into_prompt
        if loop.prime_after_hours <= 0 or unread:
            return Primer()
        return await in_time(
            self._plugin,
            lambda: self._plugin.service.prime(
                conversation_id=conversation_id,
                actor=actor,
                written=as_written(texts),
                token_budget=loop.prime_tokens - frame_tokens(texts),
            ),
            lambda _: Primer(),
            late="log.prime_deadline",
            failed="log.prime_failed",
        )
