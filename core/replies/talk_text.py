"""The talk that a memory came from, as the model reads it."""

from __future__ import annotations

from ...llm_memory.models.transcript import NoTalk, ShownTurn, Transcript
from ...llm_memory.text.safe_text import safe, shown_name
from ...llm_memory.texts import Texts


def talk_text(texts: Texts, found: Transcript | NoTalk) -> str:
    """The turns, each line standing back so that none looks like a line of ours; or why there is
    no talk."""
    if isinstance(found, NoTalk):
        return texts.say(f"talk.{found}")
    lines = [texts.say("talk.head")]
    for turn in found.turns:
        lines += [f"    {line}" for line in _turn_lines(texts, turn)]
    if found.alone:
        lines.append(texts.say("talk.alone"))
    return "\n".join(lines)


def _turn_lines(texts: Texts, turn: ShownTurn) -> list[str]:
    """What the person said, and what the bot answered; where nothing of it may be shown, that."""
    who = shown_name(turn.who) or texts.say("talk.somebody")
    time = f"[{turn.at:%Y-%m-%d %H:%M}] " if turn.at else ""
    mark = "→ " if turn.origin else ""
    said = safe(turn.said) or texts.say("talk.kept_back")
    lines = [f"{mark}{time}{texts.say('talk.said', who=who, text=said)}"]
    if turn.replied:
        lines.append(texts.say("talk.replied", text=safe(turn.replied)))
    return lines
