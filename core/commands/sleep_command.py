"""``/memory sleep``: the nightly consolidation now, how it goes, and what the last one did."""

from __future__ import annotations

from datetime import timedelta

from ...llm_memory import Actor, ConversationId, Postponed, SleepReport
from ...llm_memory.text.safe_text import safe
from ..plugin_context import PluginContext
from ..replies.loop_text import moment

_JUST_NOW = timedelta(minutes=10)
"""Asked again so soon after one, the admin wants to know how it went."""
_NOW = frozenset({"now", "again", "再来", "再来一次", "立即"})
_STATUS = frozenset({"status", "状态"})
_ERRORS = 5


class SleepCommand:
    """For admins: it tells of all scopes."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say

    async def sleep(self, _: ConversationId, actor: Actor, rest: str) -> str:
        """Nothing: begin one, or tell of the one that goes on or was just made. ``status``: tell of
        it. ``now``: begin one all the same."""
        if not actor.admin:
            return self._say("outcome.admins_only")
        word = rest.strip().lower()
        schedule = self._plugin.schedule
        if schedule.going:
            return self._going()
        if word in _STATUS:
            return self._last()
        if word not in _NOW and self._is_fresh(schedule.report):
            return self._last() + "\n" + self._say("sleep.again")
        return self._say("sleep.started" if schedule.ask() else "sleep.unready")

    def _is_fresh(self, report: SleepReport) -> bool:
        return report.ended is not None and self._plugin.clock() - report.ended < _JUST_NOW

    def _going(self) -> str:
        schedule = self._plugin.schedule
        if schedule.waiting is not Postponed.NO:
            return self._say("sleep.waiting", why=self._say(f"postponed.{schedule.waiting}"))
        return self._say("sleep.going", numbers=self._numbers(schedule.report))

    def _last(self) -> str:
        schedule = self._plugin.schedule
        report = schedule.report
        if report.ended is None:
            lines = [self._say("sleep.never")]
        else:
            numbers = self._numbers(report)
            lines = [self._say("sleep.last", time=moment(report.ended), numbers=numbers)]
            lines += [self._say("sleep.backup", name=report.backup)] if report.backup else []
            if report.unmerged:
                lines.append(self._say("sleep.unmerged", count=report.unmerged))
            if report.waiting:
                lines.append(self._say("sleep.weak", count=report.waiting))
            if report.left:
                lines.append(self._say("sleep.left", count=report.left))
            for error in report.errors[:_ERRORS]:
                lines.append(self._say("sleep.error", detail=safe(error)))
        if schedule.no_timer:
            lines.append(self._say("sleep.no_timer"))
        return "\n".join(lines)

    def _numbers(self, report: SleepReport) -> str:
        """What was done, and nothing that was not."""
        done = {
            "faded": report.faded,
            "raised": report.raised,
            "archived": report.archived,
            "merged": report.merged,
            "journals": report.journals,
            "later": report.postponed_days,
            "pages": report.pages,
            "purged": report.purged,
        }
        said = [self._say(f"sleep.{what}", count=count) for what, count in done.items() if count]
        return self._say("private.and").join(said) or self._say("sleep.nothing")
