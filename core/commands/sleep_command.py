"""``/memory sleep``: the nightly consolidation now, how it goes, and what the last one did."""

from __future__ import annotations

from datetime import timedelta

from ...llm_memory import Postponed, SleepReport
from ...llm_memory.text.safe_text import safe
from ..replies.loop_text import moment
from .call import Call, admin

_JUST_NOW = timedelta(minutes=10)
"""Asked again so soon after one, the admin wants to know how it went."""
_NOW = frozenset({"now", "again", "再来", "再来一次", "立即", "一下", "马上", "现在"})
_STATUS = frozenset({"status", "状态"})
_ERRORS = 5


@admin
async def sleep(call: Call) -> str:
    """Nothing: begin one, or tell of the one that goes on or was just made. ``status``: tell of it.
    ``now``: begin one all the same."""
    word, schedule = call.rest.strip().lower(), call.plugin.schedule
    if word and word not in _NOW | _STATUS:
        return call.unread_words(word)
    if schedule.going:
        if schedule.waiting is not Postponed.NO:
            return call.say("sleep.waiting", why=call.say(f"postponed.{schedule.waiting}"))
        return call.say("sleep.going", numbers=_numbers(call, schedule.report))
    if word in _STATUS:
        return _last(call)
    ended = schedule.report.ended
    if word not in _NOW and ended is not None and call.plugin.clock() - ended < _JUST_NOW:
        return _last(call) + "\n" + call.say("sleep.again")
    return call.say("sleep.started" if schedule.ask() else "sleep.unready")


def _last(call: Call) -> str:
    say, schedule = call.say, call.plugin.schedule
    report = schedule.report
    if report.ended is None:
        lines = [say("sleep.never")]
    else:
        numbers = _numbers(call, report)
        lines = [say("sleep.last", time=moment(report.ended), numbers=numbers)]
        lines += [say("sleep.backup", name=report.backup)] if report.backup else []
        lines += call.texts.counted(
            {
                "sleep.unmerged": report.unmerged,
                "sleep.weak": report.waiting,
                "sleep.left": report.left,
            }
        )
        lines += [say("sleep.error", detail=safe(error)) for error in report.errors[:_ERRORS]]
    if schedule.no_timer:
        lines.append(say("sleep.no_timer"))
    return "\n".join(lines)


def _numbers(call: Call, report: SleepReport) -> str:
    """What was done, and nothing that was not."""
    said = call.texts.counted(
        {
            "sleep.faded": report.faded,
            "sleep.raised": report.raised,
            "sleep.archived": report.archived,
            "sleep.merged": report.merged,
            "sleep.journals": report.journals,
            "sleep.later": report.postponed_days,
            "sleep.pages": report.pages,
            "sleep.purged": report.purged,
        }
    )
    return call.say("common.and").join(said) or call.say("sleep.nothing")
