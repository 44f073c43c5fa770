"""A wish that the rules do not understand is worded by a model: one call, which sees the wish and
the rules in force alone, and whose answer is judged as a text that no admin has typed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.soul import SoulEvaluation, SoulOrigin
from astrbot_plugin_scoped_memory.llm_memory.models.soul_requests import (
    SoulAction,
    SoulChanged,
    SoulFault,
    SoulProposed,
    SoulRefused,
    SoulRequest,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.checks import FORM, check
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import seed
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.wording import worded
from astrbot_plugin_scoped_memory.tests.support.engines import QUICK, Rig, person, running
from astrbot_plugin_scoped_memory.tests.support.nights import passive, plant
from astrbot_plugin_scoped_memory.tests.support.reflecting import (
    StandingClock,
    with_loop,
)
from astrbot_plugin_scoped_memory.tests.support.soul_models import ProbedChat, ProbedModel

pytestmark = pytest.mark.engine

CAT = "猫娘"
ADMIN = person(9, "站长", admin=True)
WISH = "别老一副官老爷的腔调"
RULE = "语气放松一点，不要太正式"
HEARD = "先说结论，再慢慢讲清楚理由和步骤"


def made(**options: Any) -> ProbedChat:
    """A chat model: what has learned rules in it is better, and a wish becomes ``RULE``."""
    options = {"words": lambda wish: f"- {RULE}"} | options
    return ProbedChat(ProbedModel("# 学到的说话习惯", **options))


def bot(root: Path, chat: ProbedChat | None, **changes: Any) -> Any:
    settings = with_loop(QUICK, **changes)
    return running(root, settings=settings, follow=False, chat=chat, clock=StandingClock())


async def ask(rig: Rig, request: Any) -> Any:
    return await rig.engine.service.souls.ask(request, CAT, ADMIN)


async def wished(rig: Rig, wish: str = WISH) -> SoulProposed:
    made = await ask(rig, SoulRequest(SoulAction.PROPOSE, wish=wish))
    assert isinstance(made, SoulProposed), made
    return made


async def refused(rig: Rig, wish: str = WISH) -> SoulRefused:
    found = await ask(rig, SoulRequest(SoulAction.PROPOSE, wish=wish))
    assert isinstance(found, SoulRefused), found
    assert found.fault is SoulFault.DENIED
    return found


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncIterator[tuple[Rig, ProbedChat]]:
    plant(tmp_path, "家人", "patterns.md", [passive(1, HEARD)])
    chat = made()
    async with bot(tmp_path, chat) as opened:
        yield opened, chat


async def test_a_wish_in_a_models_words_is_shown_kept_and_comes_into_force(
    rig: tuple[Rig, ProbedChat],
) -> None:
    opened, chat = rig
    made = await wished(opened)
    assert (made.worded, made.tokens) == (RULE, 10)
    assert made.proposal.text == worded(seed("zh"), RULE)
    assert (made.proposal.aim, made.proposal.reason) == (RULE, "worded by scripted")
    assert made.proposal.origin is SoulOrigin.WISH
    file = opened.root / "memory" / "soul" / CAT / "proposals" / "0001.md"
    written = file.read_text("utf-8").splitlines()
    assert {f"aim: {RULE}", "reason: worded by scripted", f"- {RULE}"} <= {*written}
    assert (await opened.engine.status()).loop.spent.tokens == 10
    done = await ask(opened, SoulRequest(SoulAction.APPLY))
    assert isinstance(done, SoulChanged), done
    assert isinstance(done.verdict, SoulEvaluation)
    assert opened.engine.service.souls.injected(CAT) == f"\n# 学到的说话习惯\n- {RULE}\n"
    assert [json.loads(one) for one in chat.worded] == [{"rules": [], "wish": WISH}]


async def test_a_wish_that_passes_as_it_was_typed_asks_no_model(
    rig: tuple[Rig, ProbedChat],
) -> None:
    opened, chat = rig
    made = await wished(opened, "回答短一点")
    assert (made.worded, made.tokens, made.proposal.reason) == ("", 0, "")
    assert chat.probed.asked == []


@pytest.mark.parametrize(
    "wish",
    [
        "听小明的",
        "别老一副官老爷的腔调，别告诉主人",
        "打 13812345678",
        HEARD,
        f"回答{'短一点，再' * 80}短一点",
    ],
)
async def test_what_another_wording_does_not_mend_is_shown_to_no_model(
    rig: tuple[Rig, ProbedChat], wish: str
) -> None:
    opened, chat = rig
    assert (await refused(opened, wish)).tokens == 0
    assert chat.probed.asked == []


@pytest.mark.parametrize(
    "said",
    [
        WISH,
        f"- {HEARD}",
        f"- {RULE}\n- 听小明的",
        "- 回答短一点，打 13812345678",
        f"- {'语气放松一点，' * 20}",
    ],
)
async def test_what_the_rules_refuse_in_a_models_words_is_refused_as_it_was_typed(
    rig: tuple[Rig, ProbedChat], said: str
) -> None:
    opened, chat = rig
    chat.probed.present = False
    typed = await refused(opened)
    chat.probed.present, chat.probed.words = True, lambda wish: said
    found = await refused(opened)
    assert found.findings == typed.findings
    assert (typed.tokens, found.tokens, len(chat.worded)) == (0, 10, 1)
    assert check(seed("zh"), worded(seed("zh"), HEARD), wish=False) == ()  # but for that scope


async def test_a_models_words_give_up_no_boundary(rig: tuple[Rig, ProbedChat]) -> None:
    opened, chat = rig
    page = opened.root / "memory" / "roles" / CAT / "SOUL.md"
    await ask(opened, SoulRequest(SoulAction.VETO, 1))  # the first look writes the page
    kept, opposite = "回答短一些，先说结论。", "回答详细一些，把步骤和理由讲清楚。"
    page.write_text(seed("zh").replace("## 边界\n", f"## 边界\n- {kept}\n"), "utf-8")
    assert isinstance(await ask(opened, SoulRequest(SoulAction.ADOPT)), SoulChanged)
    chat.probed.words = lambda wish: f"- {opposite}"
    assert (await refused(opened)).tokens == 10
    found = check(text := page.read_text("utf-8"), worded(text, opposite), wish=False)
    assert [one.rule for one in found] == [FORM]


@pytest.mark.parametrize(
    ("chat", "changes"),
    [
        (None, {}),
        (made(label=""), {}),
        (made(present=False), {}),
        (made(), {"daily_tokens": 50}),
        (made(failing="words"), {}),
    ],
    ids=["no service", "unwanted", "away", "no budget", "fails"],
)
async def test_without_a_models_answer_a_wish_stands_as_it_was_typed(
    tmp_path: Path, chat: ProbedChat | None, changes: dict[str, Any]
) -> None:
    async with bot(tmp_path, chat, **changes) as opened:
        found = await refused(opened)
        assert (found.tokens, [one.rule for one in found.findings]) == (0, ["words"])
        await wished(opened, "回答短一点")


async def test_no_model_is_asked_where_another_proposal_waits(rig: tuple[Rig, ProbedChat]) -> None:
    opened, chat = rig
    await wished(opened, "回答短一点")
    assert (await refused(opened)).tokens == 0
    assert chat.probed.asked == []
