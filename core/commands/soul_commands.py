"""``/memory soul``: the manner that this conversation's persona has learned. Everybody sees what is
in force; admins decide what is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

from ...llm_memory.catalogue.rules.soul_replies import outcome_words, request_of, view_words
from ...llm_memory.models.soul import SoulEvolution
from ...llm_memory.models.soul_requests import (
    SoulAction,
    SoulProposed,
    SoulRefused,
    SoulRequest,
    SoulView,
)
from ...llm_memory.text.safe_text import cut
from ...llm_memory.texts import Spoken
from .call import Call

_ACTIONS: Final = {
    "提议": "propose", "生效": "apply", "应用": "apply", "否决": "veto", "撤销": "undo",
    "退回": "undo", "回滚": "undo", "rollback": "undo",
    "改动": "diff", "对比": "diff", "记录": "log", "日志": "log",
    "核对": "verify", "校验": "verify", "收下": "adopt", "采纳": "adopt", "丢弃": "discard",
    "放弃": "discard",
}  # fmt: skip
_SHOWN: Final = 40
"""Characters of what is not understood."""
_WISH: Final = 200
"""Characters of a wish that is refused."""
_LOG: Final = 10
"""Lines."""


async def soul(call: Call) -> str:
    """Show, or do what is asked and say what became of it."""
    word, rest = call.split()
    action = _ACTIONS.get(word, word.lower())
    request = request_of(action, rest)
    if request is None:
        if action in ("help", "帮助", "propose") and not rest:
            return call.say("soul.usage")
        said = cut(f"{word} {rest}", _SHOWN)
        return f"{call.say('soul.unclear', said=said)}\n{call.say('soul.usage')}"
    if not call.actor.admin and request.action is not SoulAction.SHOW:
        return call.say("outcome.admins_only")
    persona = call.where.persona
    if persona is None:
        return call.say("why.unknown_persona")
    outcome = await call.service.souls.ask(
        request, persona, call.actor, conversation=call.where.umo
    )
    texts, how = call.texts, partial(_how, call.texts.spoken)
    if isinstance(outcome, SoulView):
        off = call.plugin.config.engine.soul_evolution is SoulEvolution.OFF
        return view_words(texts, outcome, how, all_of_it=call.actor.admin, off=off)
    said = outcome_words(texts, outcome, how, most=_LOG)
    if (
        request.action is SoulAction.PROPOSE
        and isinstance(outcome, SoulRefused)
        and outcome.findings
    ):
        said = f"“{cut(request.wish, _WISH)}”\n{said}"
    if isinstance(outcome, SoulProposed):
        # What was wished for is shown, and in force after a yes.
        number, ask = outcome.proposal.number, call.service.souls.ask
        diff = await ask(SoulRequest(SoulAction.DIFF, number), persona, call.actor)
        said = f"{said}\n{outcome_words(texts, diff, how)}"
        return call.ask(said, partial(_apply, number=number), short=call.say("soul.deed"))
    return said


async def _apply(call: Call, *, number: int) -> str:
    return await soul(replace(call, rest=f"apply {number}"))


def _how(language: Spoken, action: str) -> str:
    name, _, number = action.partition(" ")
    if language == "en":
        return f"/memory soul {name} {number}".rstrip()
    word = next(zh for zh, en in _ACTIONS.items() if en == name)
    return f"/记忆 语气 {word} {number}".rstrip()
