"""Made-up memories in Chinese and English, the same ones for the same seed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import batched
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from astrbot_plugin_scoped_memory.llm_memory import Memory, Provenance, Source, StoredMemory
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SEED = 20_261_121
FAMILY = Scope.parse("family")
SHARES = ((PUBLIC, 0.5), (FAMILY, 0.3), (Scope.parse("work"), 0.15), (Scope.parse("club"), 0.05))
_FIRST = datetime(2024, 1, 1, 8, tzinfo=UTC)
_ENTRIES_A_FILE = 400

_ZH_WHO = """
奶奶 爷爷 小明 小红 老王 阿强 李医生 周老师 陈阿姨 表弟 房东 班长 林工 赵师傅 苏姐
""".split()  # noqa: SIM905
_ZH_WHAT = """
花生 猫毛 青霉素 自行车 相机 钢琴 望远镜 咖啡机 雨伞 护照 钥匙 充电器 火锅底料 绿萝
风筝 帐篷 吉他 电饭煲 滑板 手表 书架 棋盘 茶壶 冰箱 窗帘 拖鞋 口琴 打印机 台灯 行李箱
""".split()  # noqa: SIM905
_ZH_WHERE = """
杭州 青岛 厨房 阳台 地下室 图书馆 体育馆 公司前台 楼下超市 火车站 湖边 老家 学校 医院
菜市场 海边 三楼会议室 车库 咖啡馆 邮局
""".split()  # noqa: SIM905
_ZH_FORMS = (
    "{who}说{what}放在{where}了，编号是{number}",
    "{who}在{where}买了{what}，花了{number}元",
    "{who}对{what}过敏，第{number}次体检时查出来的",
    "下次去{where}要提醒{who}带上{what}，房间号{number}",
    "{who}答应{number}号之前把{what}送到{where}",
    "{who}不喜欢{where}的{what}，嫌它太旧，已经用了{number}天",
)
_ZH_QUESTIONS = ("{who}的{what}现在在哪里？", "{who}和{where}有什么关系", "谁提过{where}的{what}")
_EN_WHO = """
Maya Oliver Priya Tomas Grandma Hiro Leila Viktor Nadia Felix Ines Omar Greta Paulo
""".split()  # noqa: SIM905
_EN_WHAT = """
bicycle telescope peanuts violin passport umbrella backpack kettle skateboard lantern
camera aquarium tractor microscope accordion hammock printer compass thermos easel
""".split()  # noqa: SIM905
_EN_WHERE = """
Lisbon Kyoto Oslo Porto Bergen Chicago Naples Marseille Hamburg Dublin Quito Accra
""".split()  # noqa: SIM905
_EN_FORMS = (
    "{who} keeps the {what} in {where}, shelf {number}",
    "{who} is allergic to {what} and said so at {where}, file {number}",
    "{who} bought a {what} near {where} for {number} euros",
    "Remind {who} to bring the {what} to {where} by day {number}",
)
_EN_QUESTIONS = ("Where does {who} keep the {what}?", "What did {who} say about {where}?")


@dataclass(frozen=True, slots=True)
class Words:
    """What one language makes its sentences of."""

    who: Sequence[str]
    what: Sequence[str]
    where: Sequence[str]
    forms: Sequence[str]
    questions: Sequence[str]


_LANGUAGES = (
    Words(_ZH_WHO, _ZH_WHAT, _ZH_WHERE, _ZH_FORMS, _ZH_QUESTIONS),
    Words(_EN_WHO, _EN_WHAT, _EN_WHERE, _EN_FORMS, _EN_QUESTIONS),
)


def memories(count: int, *, seed: int = SEED) -> list[StoredMemory]:
    """``count`` memories over four scopes, half of them public, two in three Chinese."""
    chance = np.random.default_rng(seed)
    scopes = chance.choice(len(SHARES), size=count, p=[share for _, share in SHARES])
    return [_memory(number, SHARES[scopes[number]][0], chance) for number in range(count)]


def _memory(number: int, scope: Scope, chance: np.random.Generator) -> StoredMemory:
    text, who = _sentence(chance, number, lambda words: words.forms)
    at = _FIRST + timedelta(minutes=number)
    memory = Memory(
        memory_id=f"m-{number:010d}",
        judgment=text,
        created_at=at,
        reasoning="对方亲口说的，要求记住。",
        tags=("生活",),
        provenance=Provenance(who, "aiocqhttp:10001", "aiocqhttp:GroupMessage:777", Source.TOOL),
    )
    return StoredMemory(scope, f"journal/{at:%Y-%m-%d}.md", memory)


def questions(count: int, *, seed: int = SEED + 1) -> list[str]:
    """Questions about what the memories speak of."""
    chance = np.random.default_rng(seed)
    return [_sentence(chance, 0, lambda words: words.questions)[0] for _ in range(count)]


def _sentence(
    chance: np.random.Generator, number: int, forms: Callable[[Words], Sequence[str]]
) -> tuple[str, str]:
    """A sentence, and whom it is about."""
    words = _LANGUAGES[int(chance.random() > 2 / 3)]
    pick = {name: _one(chance, getattr(words, name)) for name in ("who", "what", "where")}
    return _one(chance, forms(words)).format(**pick, number=number), pick["who"]


def _one(chance: np.random.Generator, values: Sequence[str]) -> str:
    return values[int(chance.integers(len(values)))]


def write_vault(root: Path, stored: Sequence[StoredMemory]) -> None:
    """The memories as a vault's files, without the fsync of each that the engine would do."""
    by_scope: dict[str, list[StoredMemory]] = defaultdict(list)
    for one in stored:
        by_scope[one.scope.name].append(one)
    for scope, own in by_scope.items():
        for path, text in _files(own):
            target = root / "scopes" / scope / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")


def _files(stored: Sequence[StoredMemory]) -> Iterator[tuple[str, str]]:
    by_path: dict[str, list[str]] = defaultdict(list)
    for one in stored:
        by_path[one.path].append(render(one.memory))
    for path, entries in by_path.items():
        for part, some in enumerate(batched(entries, _ENTRIES_A_FILE), start=1):
            yield path if part == 1 else f"{path[:-3]}-{part}.md", "\n".join(some)
