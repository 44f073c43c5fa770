"""A data folder as this version writes it, to be kept for all later ones: tests/data/<formats>/.

    python scripts/make_format_sample.py

Run once after a format number went up; what exists already is never written again. Beside the data
lies expected.json: what an engine has to find in it, and how this version writes.
"""

import asyncio
import json
import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import checkout

checkout.register()

from astrbot_plugin_scoped_memory.core import plugin_version  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory import (  # noqa: E402
    Actor,
    ConversationId,
    ConversationKind,
    DmScope,
    Engine,
    EnginePaths,
    EngineSettings,
    Feedback,
    Memory,
    MemoryDraft,
    MemoryKind,
    Provenance,
    Source,
    Stored,
    StoredMemory,
    Ticket,
    Turn,
    build_engine,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.storage.formats.store_formats import (  # noqa: E402
    STAMP,
    VAULT_FORMAT,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.loop_file import LOOP  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.storage.state_store import STATE  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import render  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import parse_file  # noqa: E402
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault  # noqa: E402

SAMPLES = checkout.ROOT / "tests" / "data"
ZONE = timezone(timedelta(hours=8))
NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
MAP = {
    "aiocqhttp:GroupMessage:777": "家人",
    "aiocqhttp:GroupMessage:888": "公司",
    "persona:cat": "猫",
}
SETTINGS = EngineSettings(scope_map=MAP, dm_scope=DmScope.PER_PEER)
FINGERPRINT = Fingerprint(model="lexical", dim=512, revision="1")
COLLECTION = "memories-sample"
EVERYTHING = Memory(
    memory_id="m-01kam00000000000",
    judgment="小明说：\\ 反斜杠，## 井号，^m-01kam00000000001 和 👨‍👩‍👧 都照写",
    created_at=datetime(2026, 11, 21, 18, 22, 5, tzinfo=ZONE),
    reasoning="第一段\n\n> 不是引用\n## 不是标题\n```\n代码\n```",
    tags=("健康", "a,b", "逗号，句点·"),
    kind=MemoryKind.EMOTIONAL,
    active=False,
    strength=100,
    provenance=Provenance(
        "张三·李四", "aiocqhttp:1001", "aiocqhttp:GroupMessage:777", Source.COMMAND, True
    ),
    role="cat",
    context="上一句：吃了吗",
    extra=("以后的字段：值",),
)
"""Each field with something that has to be escaped."""
BY_HAND = """\ufeff# 妈妈写的\r
\r
我自己的话，不是记忆。\r
\r
## 备用钥匙在门卫那里 ^m-key1\r
> 事件记忆 · 强度 70 · 2026-11-22T08:00+08:00 · 将来的字段：留着\r
> 谁：妈妈\r
> 标签：钥匙, 门卫\r
\r
在一楼。\r
"""


def folder_name() -> str:
    """One folder for each combination of numbers."""
    numbers = {
        "vault": VAULT_FORMAT,
        "state": STATE.format,
        "index": 1,  # of before the first release: none has a number now
        "loop": LOOP.format,
    }
    return "-".join(f"{what}-{number}" for what, number in numbers.items())


def conversation(kind: ConversationKind, number: int, persona: str = "") -> ConversationId:
    """A conversation on the account ``aiocqhttp``."""
    umo, account = f"aiocqhttp:{kind}:{number}", "aiocqhttp"
    if kind is ConversationKind.GROUP:
        return ConversationId(umo, account, account, kind, group=str(number), persona=persona)
    return ConversationId(umo, account, account, kind, peer=str(number), persona=persona)


class Clock:
    """A minute further at each look."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 21, 23, 50, tzinfo=ZONE)

    def __call__(self) -> datetime:
        self.now += timedelta(minutes=1)
        return self.now


async def live(engine: Engine) -> None:
    """A few days of a small bot."""
    service = engine.service
    family = conversation(ConversationKind.GROUP, 777)
    work = conversation(ConversationKind.GROUP, 888)
    everybody = conversation(ConversationKind.GROUP, 999)
    alone = conversation(ConversationKind.PRIVATE, 1002)
    cat = conversation(ConversationKind.GROUP, 555, persona="cat")
    mother = Actor("aiocqhttp:2001", "妈妈")
    admin = Actor("aiocqhttp:1001", "张三·李四", admin=True)
    said = [
        (family, MemoryDraft("奶奶对花生过敏", tags=("奶奶", "饮食"), actor=mother)),
        (family, MemoryDraft("周五前交房租", kind=MemoryKind.TASK, actor=mother)),
        (family, MemoryDraft("今天搬了家", kind=MemoryKind.EVENT, actor=mother)),
        (family, MemoryDraft("煤气表的卡在抽屉第二格", actor=mother)),
        (work, MemoryDraft("小王担任前端组长", reasoning="组会上宣布的", actor=admin)),
        (work, MemoryDraft("回答必须用中文", actor=admin)),
        (everybody, MemoryDraft("图书馆每周一闭馆", source=Source.COMMAND)),
        (alone, MemoryDraft("我的生日在五月", actor=Actor("aiocqhttp:1002", "小明"))),
        (cat, MemoryDraft("打印机卡纸时先抽出纸盒", kind=MemoryKind.SKILL)),
    ]
    stored: list[StoredMemory] = []
    for where, draft in said:
        await service.meet(where, draft.actor or admin)
        outcome = await service.remember(draft, conversation_id=where)
        assert isinstance(outcome, Stored), outcome
        stored.append(outcome.memory)
    again = await service.remember(said[0][1], conversation_id=family)
    assert isinstance(again, Stored) and again.how == "reinforced"
    await service.forget(stored[3].memory.memory_id, conversation_id=family, actor=mother)
    for number in (1, 2):
        turn = Turn(mother, f"奶奶能吃花生吗？（{number}）", "不能")
        ticket = await service.observe(turn, conversation_id=family)
        assert isinstance(ticket, Ticket)
        if number == 1:
            await service.feedback(Feedback((stored[0].memory.memory_id,)), ticket=ticket)


def write_by_hand(memory: Path) -> None:
    """What a person and a later version may have left in the tree."""
    family = memory / "scopes" / "家人"
    (family / "妈妈的笔记.md").write_bytes(BY_HAND.encode())
    entities = memory / "scopes" / "公司" / "entities.md"
    entities.write_text(entities.read_text("utf-8") + "\n" + render(EVERYTHING), encoding="utf-8")


def found_in(data: Path) -> dict[str, Any]:
    """What the folder holds, as this version reads it."""
    vault = MarkdownVault(data / "memory")
    return {
        "memories": sorted(
            (entry(stored) for scope in vault.scopes() for stored in vault.read(scope).memories),
            key=lambda found: (found["scope"], found["path"], found["memory"]["memory_id"]),
        ),
        "archived": sorted(
            archived.memory.memory_id
            for path in (data / "memory" / "scopes").glob("*/archive/**/*.md")
            for archived in parse_file(path.read_text("utf-8"), fallback_time=NO_TIME).entries
        ),
        "tables": tables(data / "state" / "state.sqlite"),
        "loop": tables(data / "state" / "loop.sqlite"),
    }


def entry(stored: StoredMemory) -> dict[str, Any]:
    """A memory as plain values."""
    memory = stored.memory
    origin = memory.provenance
    return {
        "scope": stored.scope.name,
        "path": stored.path,
        "memory": {
            "memory_id": memory.memory_id,
            "judgment": memory.judgment,
            "created_at": memory.created_at.isoformat(),
            "reasoning": memory.reasoning,
            "tags": list(memory.tags),
            "kind": memory.kind.value,
            "active": memory.active,
            "strength": memory.strength,
            "who": origin.who,
            "person": origin.person,
            "conversation": origin.conversation,
            "source": origin.source.value,
            "trusted": origin.trusted,
            "role": memory.role,
            "context": memory.context,
            "extra": list(memory.extra),
        },
    }


def tables(path: Path) -> dict[str, list[list[Any]]]:
    """Every row of a file by table; of ``meta`` only what a format is."""
    with closing(sqlite3.connect(path)) as connection:
        query = "SELECT name FROM sqlite_master WHERE type = 'table'"
        names = [row[0] for row in connection.execute(query)]
        content = {
            name: sorted(list(row) for row in connection.execute(f"SELECT * FROM {name}"))  # noqa: S608
            for name in sorted(names)
            if not name.startswith("sqlite_")
        }
    content["meta"] = [row for row in content["meta"] if row[0] == "format"]
    return content


def schema(path: Path) -> list[str]:
    """The text of every table and index."""
    query = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name"
    with closing(sqlite3.connect(path)) as connection:
        return [str(sql) for (sql,) in connection.execute(query)]


def written_now(folder: Path) -> dict[str, Any]:
    """How the present code writes each of the formats; ``folder`` is a scratch place."""
    asyncio.run(_open_and_close(build_engine(EnginePaths.under(folder), SETTINGS)))
    stamp = json.loads((folder / "memory" / STAMP).read_text("utf-8"))
    return {
        "formats": {
            "vault": stamp["format"],
            "state": STATE.format,
            "loop": LOOP.format,
        },
        "entry": render(EVERYTHING),
        "schema": schema(folder / "state" / "state.sqlite"),
        "loop_schema": schema(folder / "state" / "loop.sqlite"),
    }


async def _open_and_close(engine: Engine) -> None:
    await engine.open()
    await engine.close()


async def _live(engine: Engine) -> None:
    await engine.open()
    await live(engine)
    await engine.close()


def make(target: Path, scratch: Path) -> None:
    """Write the sample to ``target``, which must not exist."""
    data = target / "data"
    paths = EnginePaths.under(data)
    asyncio.run(_live(build_engine(paths, SETTINGS, clock=Clock(), version=plugin_version())))
    write_by_hand(paths.memory)
    caches = [paths.index / "words.sqlite", paths.index / "dictionary.bin"]
    for left in [*data.rglob("owner.lock"), *data.rglob("*.sqlite-*"), *caches]:
        left.unlink()
    expected = {"written": written_now(scratch), **found_in(data)}
    text = json.dumps(expected, ensure_ascii=False, indent=1) + "\n"
    (target / "expected.json").write_text(text, encoding="utf-8", newline="\n")


def main() -> None:
    """Make the folder of the present numbers."""
    target = SAMPLES / folder_name()
    if target.exists():
        sys.exit(f"{target.name} exists. Raise the number of what changed, then run this again.")
    with tempfile.TemporaryDirectory() as scratch:
        make(target, Path(scratch))
    print(target.relative_to(checkout.ROOT))


if __name__ == "__main__":
    main()
