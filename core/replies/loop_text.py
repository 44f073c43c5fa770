"""How the memory loop is doing, in words."""

from __future__ import annotations

import re
from datetime import datetime

from ...llm_memory import LoopStatus, Resting
from ...llm_memory.models.loop import UNMAPPED
from ...llm_memory.text.safe_text import safe
from ...llm_memory.texts import Texts

_AUTO = "auto"
_ERROR = 200
_UNREADABLE = frozenset({"too_long", "no_json", "several", "no_field", "wrong_type", "too_many"})
"""Codes of a model's answer, see rules/reply.py of reflection."""
_NAMED = 5
"""The most scopes that are named in chat."""


def moment(at: datetime) -> str:
    """A moment to the minute."""
    return f"{at:%Y-%m-%d %H:%M}"


def fault_words(texts: Texts, error: str) -> str:
    """Why turns were not read: what an owner can do something about is said in words."""
    code, _, detail = error.partition(":")
    status = re.search(r"\b[45]\d\d\b", detail)
    if code in _UNREADABLE:
        return texts.say("letters.odd_answer")
    if code == "failed" and status and (said := f"letters.status_{status[0]}"):
        return texts.say(said if texts.knows(said) else "letters.status", status=status[0])
    return safe(error)[:_ERROR]


def loop_lines(texts: Texts, status: LoopStatus) -> list[str]:
    """For admins: counts are of all conversations."""
    say, queue = texts.say, status.queue
    waiting, dead, lines = queue.waiting, queue.dead, list[str]()
    if queue.oldest is None:
        lines.append(say("loop.queue_empty", dead=dead))
    else:
        lines.append(say("loop.queue", waiting=waiting, dead=dead, oldest=moment(queue.oldest)))
    if status.provider:
        name = "loop.reader_auto" if status.provider == _AUTO else "loop.reader"
        lines.append(say(name, provider=safe(status.provider)))
    if status.resting is not Resting.NO:
        lines.append(say("loop.resting", why=say(f"resting.{status.resting}")))
    if (spent := status.spent) is not None:
        calls, failed, tokens, budget = spent.calls, spent.failed, spent.tokens, status.budget
        lines.append(say("loop.spent", calls=calls, failed=failed, tokens=tokens, budget=budget))
    lines += texts.counted({"loop.unasked": status.unasked})
    lines += _dropped_lines(texts, status)
    if status.error:
        lines.append(say("loop.error", detail=fault_words(texts, status.error)))
    lines += texts.counted({"loop.paused": status.paused})
    return lines + _sleep_lines(texts, status)


def _dropped_lines(texts: Texts, status: LoopStatus) -> list[str]:
    """What a full queue dropped today, the most first."""
    say = texts.say
    told = []
    for share in sorted(status.shares, key=lambda share: -share.dropped):
        name = say("loop.unmapped") if share.group == UNMAPPED else safe(share.group)
        told += [say("loop.dropped_of", scope=name, count=share.dropped)] if share.dropped else []
    whose = say("common.and").join(told[:_NAMED]) + ("…" if told[_NAMED:] else "")
    return [say("loop.dropped", whose=whose)] if told else []


def _sleep_lines(texts: Texts, status: LoopStatus) -> list[str]:
    say, lines = texts.say, []
    if status.sleeping:
        lines.append(say("loop.sleeping"))
    elif status.slept_at is not None:
        lines.append(say("loop.slept", time=moment(status.slept_at)))
    if status.next_sleep is not None:
        lines.append(say("loop.next_sleep", time=moment(status.next_sleep)))
    return lines
