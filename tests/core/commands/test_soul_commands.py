"""``/memory soul``: what a persona has learned is seen by all, and decided on by admins."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.commands import slow_command
from astrbot_plugin_scoped_memory.core.commands.commands import Commands
from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.models.shelf import NO_PERSONA
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakeEvent, FakePlugin
from astrbot_plugin_scoped_memory.tests.support.reflecting import StandingClock

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

WISH = "回答短一点"
CHINESE = {
    "propose": "提议", "apply": "生效", "veto": "否决", "rollback": "退回", "diff": "改动",
    "log": "记录", "verify": "核对", "adopt": "收下", "discard": "丢弃",
}  # fmt: skip


class Desk:
    """Says the actions in one language. ``sent`` is what was told later."""

    def __init__(self, rig: Rig, language: str = "zh-CN", persona: str | None = "猫娘") -> None:
        self.plugin = FakePlugin(rig, language, persona)
        self.sent: list[tuple[str, str]] = []
        self.plugin.astrbot.send_message = self._send
        self._commands = Commands(cast("Any", self.plugin))
        self._chinese = language == LANGUAGES[0]

    async def _send(self, umo: str, chain: Any) -> bool:
        self.sent.append((umo, chain.get_plain_text()))
        return True

    async def __call__(self, action: str = "", rest: str = "", **more: Any) -> str:
        word = CHINESE.get(action, action) if self._chinese else action
        more = {"sender": "9", "name": "站长", "admin": True, **more}
        event = FakeEvent.in_group(777, f"memory soul {word} {rest}".strip(), **more)
        answer = await self._commands.answer(cast("Any", event), self._commands.soul)
        assert answer is not None
        return answer


def page(root: Path, role: str = "猫娘") -> Path:
    return root / "memory" / "roles" / role / "SOUL.md"


@pytest.mark.parametrize("language", LANGUAGES)
async def test_each_action_in_both_languages(tmp_path: Path, language: str) -> None:
    clock = StandingClock()
    async with running(tmp_path, clock=clock) as rig:
        souls, desk = rig.engine.service.souls, Desk(rig, language)
        assert (await desk()).endswith(("还没有学到说话习惯", "none yet"))
        proposed = await desk("propose", WISH)
        assert desk_hint(desk, "apply 2") not in proposed
        assert desk_hint(desk, "apply 1") in proposed
        assert souls.injected("猫娘") == ""
        assert WISH in await desk("diff")
        applied = await desk("apply")
        assert WISH in applied
        assert desk_hint(desk, "rollback") in applied
        assert WISH in souls.injected("猫娘")
        assert souls.injected("") == ""
        seen = await desk(admin=False, sender="10001")
        assert WISH in seen
        assert "4" in await desk("verify")
        assert len((await desk("log")).splitlines()) == 4
        await desk("rollback")
        assert souls.injected("猫娘") == ""
        clock.forward(days=1)
        other = "语气温柔一点"
        await desk("propose", other)
        assert other in await desk()
        assert other not in await desk(admin=False, sender="10001")
        await desk("veto")
        assert other not in await desk()
        edited = page(tmp_path).read_text("utf-8").replace("## 长短\n", f"## 长短\n\n- {WISH}\n")
        page(tmp_path).write_text(edited, "utf-8")
        assert desk_hint(desk, "adopt") in await desk()
        assert WISH in await desk("adopt")
        assert WISH in souls.injected("猫娘")
        page(tmp_path).write_text("别的\n", "utf-8")
        assert "discarded/" in await desk("discard")
        assert "别的" not in page(tmp_path).read_text("utf-8")


def desk_hint(desk: Desk, action: str) -> str:
    """What a person is told to write for it."""
    name, _, number = action.partition(" ")
    if desk.plugin.config.language == LANGUAGES[0]:
        return f"/记忆 人格 {CHINESE[name]} {number}".strip()
    return f"/memory soul {action}"


async def test_only_admins_do_more_than_look(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        for action in CHINESE:
            rest = WISH if action == "propose" else ""
            assert "管理员" in await desk(action, rest, admin=False, sender="10001")
        page(tmp_path).parent.mkdir(parents=True)
        page(tmp_path).write_text("# 猫娘\n\n说话爱用喵结尾。\n", "utf-8")
        for admin in (False, True):
            await desk(admin=admin)  # to look makes no first version of what is a note
        assert not (page(tmp_path).parent.parent.parent / "soul").exists()


async def test_an_unknown_persona_has_no_soul_and_none_has_its_own(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        said = await Desk(rig, persona=None)("propose", WISH)
        assert said == "暂时无法得知当前人格"
        assert not (tmp_path / "memory" / "soul").exists()
        await Desk(rig, persona="")("propose", WISH)
        assert page(tmp_path, NO_PERSONA).exists()
        assert not page(tmp_path).exists()


async def test_a_page_that_is_no_file_is_to_be_moved_away(tmp_path: Path) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        await desk("propose", WISH)
        await desk("apply")
        raw = page(tmp_path).read_bytes()
        page(tmp_path).unlink()
        page(tmp_path).mkdir()
        for action in ("adopt", "discard"):
            said = await desk(action)
            assert "roles/猫娘/SOUL.md" in said
            assert "移走" in said
        page(tmp_path).rmdir()
        assert await desk("adopt") == "没有人改过 SOUL.md"
        assert page(tmp_path).read_bytes() == raw


@pytest.mark.parametrize("number", ["#1", "第1版", "第 1 版", "１", "1号"])
async def test_a_number_may_be_written_as_people_do(tmp_path: Path, number: str) -> None:
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        await desk("propose", WISH)
        assert "从下一句话起用第 2 版" in await desk("apply", number)
        assert "同第 1 版" in await desk("rollback", number) + await desk("log")


async def test_what_a_model_takes_long_for_is_told_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_command, "_PATIENCE_SECONDS", 1e-9)
    async with running(tmp_path, clock=StandingClock()) as rig:
        desk = Desk(rig)
        assert "在后台" in await desk("propose", WISH)
        await until_true(lambda: len(desk.sent) == 1)
        assert "在后台" in await desk("apply")
        await until_true(lambda: len(desk.sent) == 2)
        assert {umo for umo, _ in desk.sent} == {FakeEvent.in_group(777).unified_msg_origin}
        (_, proposed), (_, applied) = desk.sent
        assert desk_hint(desk, "apply 1") in proposed
        assert WISH in applied
        desk.plugin.astrbot = SimpleNamespace()  # a platform that cannot send
        await desk("adopt")
        await desk.plugin.settled()
