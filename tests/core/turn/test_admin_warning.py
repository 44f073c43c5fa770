"""What an admin is told once in chat: told again after a failed send, and nothing else with it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from astrbot_plugin_scoped_memory.core.turn.first_message import warn_admin
from astrbot_plugin_scoped_memory.tests.support.engines import ADAPTER, person, private, running
from astrbot_plugin_scoped_memory.tests.support.plugin import FakePlugin

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

ADMIN = person(9, "管理员", admin=True)
OLD, *NEW = (f"{ADAPTER}:GroupMessage:{number}" for number in (777, 7771, 7772, 7773))


@pytest.mark.parametrize("failure", [False, OSError("gone")])
@pytest.mark.parametrize("news", ["stranger", "successor", "both"])
async def test_a_failed_send_returns_what_it_held_alone(
    tmp_path: Path, news: str, failure: bool | OSError
) -> None:
    for day in range(3):
        async with running(tmp_path, {OLD: "家人"}, follow=False) as rig:
            plugin, sent = FakePlugin(rig), [""]

            async def send(_: str, chain: Any, day: int = day, sent: list[str] = sent) -> bool:
                sent.append(chain.get_plain_text())
                if day == 1 and isinstance(failure, OSError):
                    raise failure
                return day != 1

            plugin.astrbot.send_message = send
            service = rig.engine.service
            for new in NEW[: 1 if day == 0 or news == "stranger" else 2]:
                service.admin.rebinds.hold(new, OLD)
            await service.admin.rebinds.keep_holds()
            if day and news != "successor":
                await service.conversations.meet(private(5), person(5))
            for _ in range(2):
                await warn_admin(cast("Any", plugin), private(9), ADMIN)
            said = "".join(sent)
            stranger = plugin.texts.say("notice.strangers_in_public", count=1)
            times = 0 if day == 0 else 2 if day == 1 else 1
            assert said.count(stranger) == (times if news != "successor" else 0)
            held = [plugin.texts.say("notice.successor", key=new, former=OLD) for new in NEW]
            assert said.count(held[0]) == (day == 0)
            assert said.count(held[1]) == (times if news != "stranger" else 0)
