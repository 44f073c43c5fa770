"""How the memory loop is doing, in words, and as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from ...llm_memory import LoopStatus, Resting, Share
from ...llm_memory.text.safe_text import safe
from ..texts import Texts

_AUTO = "auto"
_ERROR = 200
_SHARES = 5
"""The most that are named in chat."""
_ID = 60


def moment(at: datetime) -> str:
    """A moment to the minute."""
    return f"{at:%Y-%m-%d %H:%M}"


def loop_lines(texts: Texts, status: LoopStatus) -> list[str]:
    """For admins: counts are of all conversations."""
    say, queue = texts.say, status.queue
    if queue.oldest is None:
        lines = [say("loop.queue_empty", dead=queue.dead)]
    else:
        oldest = moment(queue.oldest)
        waiting, dead = queue.waiting, queue.dead
        lines = [say("loop.queue", waiting=waiting, dead=dead, oldest=oldest)]
    if status.provider:
        name = "loop.reader_auto" if status.provider == _AUTO else "loop.reader"
        lines.append(say(name, provider=safe(status.provider)))
    if status.resting is not Resting.NO:
        lines.append(say("loop.resting", why=say(f"resting.{status.resting}")))
    if status.spent is not None:
        spent = status.spent
        lines.append(
            say(
                "loop.spent",
                calls=spent.calls,
                failed=spent.failed,
                tokens=spent.tokens,
                budget=status.budget,
            )
        )
    if status.unasked:
        lines.append(say("loop.unasked", count=status.unasked))
    lines += [_share_line(texts, share) for share in status.shares[:_SHARES]]
    if len(status.shares) > _SHARES:
        lines.append(say("loop.more_shares", count=len(status.shares) - _SHARES))
    if status.error:
        lines.append(say("loop.error", detail=safe(status.error)[:_ERROR]))
    if status.paused:
        lines.append(say("loop.paused", count=status.paused))
    return lines + _sleep_lines(texts, status)


def _share_line(texts: Texts, share: Share) -> str:
    say, party = texts.say, share.party
    reasons = [say(f"held.{share.held}")] if share.held else []
    if share.use.gave_way:
        reasons.append(say("held.gave_way", count=share.use.gave_way))
    return say(
        "loop.share",
        scope=safe(party.scope),
        speaker=safe(party.speaker)[:_ID],
        tokens=share.use.tokens,
        waiting=share.waiting,
        why=say("held.and").join(reasons),
    )


def _sleep_lines(texts: Texts, status: LoopStatus) -> list[str]:
    say, lines = texts.say, []
    if status.sleeping:
        lines.append(say("loop.sleeping"))
    elif status.slept_at is not None:
        lines.append(say("loop.slept", time=moment(status.slept_at)))
    if status.next_sleep is not None:
        lines.append(say("loop.next_sleep", time=moment(status.next_sleep)))
    return lines


def loop_json(status: LoopStatus) -> dict[str, Any]:
    """For the panel."""
    queue, spent = status.queue, status.spent
    return {
        "provider": status.provider,
        "resting": status.resting.value,
        "waiting": queue.waiting,
        "dead": queue.dead,
        "oldest": _iso(queue.oldest),
        "calls_today": spent.calls if spent else 0,
        "failed_today": spent.failed if spent else 0,
        "tokens_today": spent.tokens if spent else 0,
        "daily_tokens": status.budget,
        "error": status.error,
        "paused": status.paused,
        "unasked": status.unasked,
        "sleeping": status.sleeping,
        "slept_at": _iso(status.slept_at),
        "next_sleep": _iso(status.next_sleep),
        "shares": [
            {
                "scope": share.party.scope,
                "speaker": share.party.speaker,
                "tokens": share.use.tokens,
                "waiting": share.waiting,
                "gave_way": share.use.gave_way,
                "held": share.held.value,
            }
            for share in status.shares
        ],
    }


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
