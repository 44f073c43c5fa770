"""``/memory backup`` and ``/memory restore``: one file with all memories, the scope map and the
settings, and out of it again."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path

from astrbot.api import logger

from ...llm_memory import (
    Actor,
    ConversationId,
    EnginePaths,
    ScopedMemoryError,
    TransferFault,
    find_backup,
    owned,
    restore_store,
)
from ...llm_memory.cli.paths import setting_defaults
from ...llm_memory.errors import TransferFailed
from ...llm_memory.models.transfer import StoreRestored
from ...llm_memory.text.safe_text import safe
from ...llm_memory.transfer.rules.carried_settings import to_put_back, with_changes
from ..host.panel_map import MAP_KEY, NotSaved
from ..plugin_context import PluginContext
from ..plugin_names import ROOT
from ..replies.outcome_text import error_text
from .transfer_commands import fault_text

_ANYWAY = {"anyway", "仍要"}
_SURE = {"confirm", "确认"}
_SHOWN = 10
_LINKS = "identity_links"
_VALUE = 60
_DETAIL = 200


class BackupCommands:
    """For admins: what a file holds is of all scopes."""

    def __init__(self, plugin: PluginContext) -> None:
        self._plugin = plugin
        self._say = plugin.texts.say

    async def backup(self, _: ConversationId, actor: Actor, __: str) -> str:
        """Write the file, and say where it is and what to do with it."""
        if not actor.admin:
            return self._say("outcome.admins_only")
        try:
            name, held = await self._plugin.back_up()
        except TransferFailed as error:
            return self._say("moving.no_backup", why=self._why(error))
        python, folder = shlex.quote(sys.executable), shlex.quote(str(ROOT))
        line = f"cd {folder} && {python} -m llm_memory restore"
        return self._say(
            "moving.backup", memories=held.memories, files=held.files, name=name, line=line
        )

    async def restore(self, _: ConversationId, actor: Actor, rest: str) -> str:
        """``<file>`` tells what would change; with ``confirm`` behind it, it is done. ``anyway``
        brings back what was corrected since, too."""
        if not actor.admin:
            return self._say("outcome.admins_only")
        words = rest.split()
        wishes: set[str] = set()
        while words and words[-1].lower() in _ANYWAY | _SURE:
            wishes.add(words.pop().lower())
        name, anyway = " ".join(words), bool(wishes & _ANYWAY)
        if not name:
            return self._say("moving.usage")
        paths = self._plugin.paths
        try:
            file = await asyncio.to_thread(find_backup, paths, name)
            plan = await asyncio.to_thread(restore_store, paths, file, anyway=anyway, dry=True)
        except TransferFailed as error:
            return self._say("moving.no_restore", why=self._why(error))
        changes = await self._changes(plan)
        if not plan.memories and not plan.files and not changes:
            return "\n".join([self._say("moving.nothing"), *self._beside(plan)])
        if not wishes & _SURE:
            again = " ".join([name, *([self._say("moving.word_anyway")] if anyway else [])])
            lines = [self._say("moving.plan", memories=plan.memories, known=plan.known)]
            lines += [self._say("moving.plan_files", count=plan.files)] if plan.files else []
            lines += await self._setting_lines(changes)
            return "\n".join([*lines, *self._beside(plan), self._say("moving.sure", name=again)])
        return await self._do(paths, file, anyway=anyway)

    async def _do(self, paths: EnginePaths, file: Path, *, anyway: bool) -> str:
        """As the command line does it: with nothing of ours open."""
        plugin, said = self._plugin, [self._say("moving.no_restore", why="-")]

        def put_back() -> StoreRestored:
            with owned(paths, version=plugin.version):
                return restore_store(paths, file, anyway=anyway)

        async def between() -> None:
            try:
                done = await asyncio.to_thread(put_back)
            except TransferFailed as error:
                said[:] = [self._say("moving.no_restore", why=self._why(error))]
                return
            except (ScopedMemoryError, OSError) as error:
                logger.exception(self._say("log.command_failed"))
                said[:] = [self._say("moving.no_restore", why=self._reason(error))]
                return
            said[:] = [self._say("moving.restored", memories=done.memories, files=done.files)]
            said.extend(self._beside(done))
            said.extend(await self._settings_put_back(done))

        await plugin.reopen(between)
        return "\n".join(said)

    async def _settings_put_back(self, done: StoreRestored) -> list[str]:
        panel = self._plugin.panel_map
        async with panel.changing:
            changes = await self._changes(done)
            if not changes:
                return []
            try:
                await panel.save_all(with_changes(panel.all(), changes))
            except NotSaved as error:
                why = safe(error.detail) or self._say("scope.overtaken")
                return [self._say("moving.no_settings", why=why)]
        return [self._say("moving.settings", names=self._say("status.and").join(changes))]

    async def _changes(self, plan: StoreRestored) -> dict[str, object]:
        defaults = await asyncio.to_thread(setting_defaults)
        return to_put_back(plan.settings, self._plugin.panel_map.all(), defaults)

    async def _setting_lines(self, changes: dict[str, object]) -> list[str]:
        now = self._plugin.panel_map.all()
        lines = []
        for name, value in changes.items():
            if not isinstance(value, dict):
                text = safe(json.dumps(value, ensure_ascii=False))[:_VALUE]
                lines.append(self._say("moving.plan_setting", name=name, value=text))
                continue
            group, _, inner = name.rpartition(".")
            table = now.get(group, {}) if group else now
            before = table.get(inner) if isinstance(table, dict) else None
            stands = before if isinstance(before, dict) else {}
            new = {str(key): str(one) for key, one in value.items() if key not in stands}
            if name == MAP_KEY:
                lines += await self._scope_lines(new)
            elif name == _LINKS:
                lines += self._link_lines(new, {str(key): str(one) for key, one in value.items()})
            else:
                shown = self._some([f"{key} → {one}" for key, one in new.items()])
                lines.append(self._say("moving.plan_table", name=name, new=shown))
        return lines

    async def _scope_lines(self, new: dict[str, str]) -> list[str]:
        """Every scope that the new entries of the map open, with what they open it to."""
        standing = (await self._plugin.status()).by_scope
        lines = []
        for scope in sorted(set(new.values()), key=lambda name: (name not in standing, name)):
            keys = [f"{key} → {scope}" for key, value in new.items() if value == scope]
            kind = "existing" if standing.get(scope) else "new"
            lines.append(
                self._say(
                    f"moving.plan_scope_{kind}",
                    scope=safe(scope)[:_VALUE],
                    count=len(keys),
                    keys=self._some(keys),
                    memories=standing.get(scope, 0),
                )
            )
        return lines

    def _link_lines(self, new: dict[str, str], all_of_them: dict[str, str]) -> list[str]:
        """Every person who would have more accounts."""
        lines = []
        for person in sorted(set(new.values())):
            ids = [one for one, name in all_of_them.items() if name == person]
            name, some = safe(person)[:_VALUE], self._some(ids)
            lines.append(self._say("moving.plan_link", person=name, count=len(ids), ids=some))
        return lines

    def _some(self, texts: list[str]) -> str:
        shown = self._say("held.and").join(texts[:_SHOWN])
        return safe(shown + ("…" if len(texts) > _SHOWN else ""))

    def _beside(self, done: StoreRestored) -> list[str]:
        """What is left as it is, and why."""
        lines = []
        if done.corrected:
            lines.append(self._say("moving.corrected", count=done.corrected))
        if done.differing:
            lines.append(self._say("moving.differing", count=len(done.differing)))
        if done.refused:
            lines.append(self._say("moving.refused", count=done.refused))
        if done.cut_short:
            lines.append(self._say("transfer.cut_short"))
        return lines

    def _why(self, error: TransferFailed) -> str:
        return fault_text(self._plugin.texts, TransferFault(error.code), error.detail)

    def _reason(self, error: ScopedMemoryError | OSError) -> str:
        if isinstance(error, ScopedMemoryError):
            return error_text(self._plugin.texts, error)
        return safe(str(error))[:_DETAIL]
