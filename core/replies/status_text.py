"""How the engine is doing, in words: the memory loop, old memories, notices."""

from __future__ import annotations

import re
from datetime import datetime

from ...llm_memory import LoopStatus, MigrationStatus, Notice, Resting
from ...llm_memory.catalogue.rules.soul_replies import persona_words
from ...llm_memory.models.scope import NO_PERSONA
from ...llm_memory.text.safe_text import cut, safe
from ...llm_memory.texts import Texts
from ..host.package_installer import bundled_model_for_here

_LONG = 200


def moment(at: datetime) -> str:
    """A moment to the minute."""
    return f"{at:%Y-%m-%d %H:%M}"


def fault_words(texts: Texts, error: str) -> str:
    """Why turns were not read: what an owner can do something about is said in words."""
    code, _, detail = error.partition(":")
    if code in ("unreadable", "empty"):
        return texts.say("letters.odd_answer")
    status = re.search(r"\b[45]\d\d\b", detail)
    what = status[0] if status else cut(detail.strip() or code)
    known = f"letters.{code}"
    return texts.say(known, status=what) if texts.knows(known) else cut(error, _LONG)


def loop_lines(texts: Texts, status: LoopStatus) -> list[str]:
    """For admins: counts are of all conversations."""
    say, spent = texts.say, status.spent
    reader = say("loop.each_its_own") if status.provider == "auto" else safe(status.provider)
    used = {"calls": spent.calls, "tokens": spent.tokens} if spent and spent.calls else {}
    lines = [
        say("loop.reader", provider=reader) if reader else "",
        *texts.counted("loop", waiting=status.queue.waiting, dead=status.queue.dead),
        resting_text(texts, status.resting),
        say("loop.spent", budget=status.budget, **used) if used and status.budget else "",
        *texts.counted("loop", dropped=sum(share.dropped for share in status.shares)),
        say("loop.error", detail=fault_words(texts, status.error)) if status.error else "",
        *texts.counted("loop", paused=status.paused, sleeping=status.sleeping),
        say("loop.slept", time=moment(status.slept_at)) if status.slept_at else "",
        say("loop.next_sleep", time=moment(status.next_sleep)) if status.next_sleep else "",
    ]
    return [line for line in lines if line]


def resting_text(texts: Texts, resting: Resting) -> str:
    """Why turns wait; empty where they do not."""
    return texts.say("loop.resting", why=texts.say(f"resting.{resting}")) if resting else ""


def state_text(texts: Texts, status: MigrationStatus) -> str:
    """Says how far they are, and why they do not get on where they do not."""
    if status.waiting and status.state == "running":
        known = (f"{group}.{status.waiting}" for group in ("cause", "migrate_cause"))
        code = next(filter(texts.knows, known), "")
        return texts.say("migrate.waiting", cause=texts.say(code) if code else status.waiting)
    rests = status.reversed and status.state == "idle"
    state = "reversed" if rests else status.state
    return texts.say(f"migrate.state_{state}", detail=cut(status.detail, _LONG))


def notice_text(texts: Texts, notice: Notice) -> str:
    """The notice in the owner's language."""
    params, say = dict(notice.params), texts.say
    groups = {"reason": "file", "cause": "cause"}.items()
    for name, of in groups:
        if texts.knows(code := f"{of}.{params.get(name)}"):
            params[name] = say(code)
    if notice.code == "embedder_failing":
        rung, code = (str(params[name]).partition(":")[0] for name in ("embedder", "detail"))
        if texts.knows(remedy := f"{rung}.{code}"):  # what the owner can do
            params["detail"] += say(remedy, name=bundled_model_for_here())
    if (role := params.get("role")) is not None:
        there = "there_without" if role == NO_PERSONA else "there"
        params |= {"who": persona_words(texts, role), "there": say(f"soul_view.{there}")}
    return say(f"notice.{notice.code}", **params)
