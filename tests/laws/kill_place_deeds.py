"""Deeds of the kill table: which scope a place has, and what comes into it from elsewhere."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    DmScope,
    GroupScope,
)
from astrbot_plugin_scoped_memory.llm_memory.migration.legacy_stores import PluginStores
from astrbot_plugin_scoped_memory.llm_memory.migration.ports import ForeignRecord, Value
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.tests.fakes.foreign_collection import InMemoryForeign
from astrbot_plugin_scoped_memory.tests.laws.kill_deed import (
    ADMIN,
    FAMILY,
    KEY,
    PEANUTS,
    SQUARE,
    TENT,
    WORK,
    Deed,
    Opening,
    Tell,
    opened,
)
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import (
    Facts,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    ADAPTER,
    MAP,
    QUICK,
    Rig,
    person,
    private,
)
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import ANGEL, make_simple, photograph
from astrbot_plugin_scoped_memory.tests.support.migrating import fields, legacy

SAMPLES = Path(__file__).resolve().parents[1] / "data"
SMALL = replace(QUICK, migration_batch=5)


class ConfirmMap(Deed):
    """The map was lost, and an admin says that it is meant so."""

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        return opened(root, {})

    async def prepare(self, root: Path) -> None:
        async with opened(root) as rig:
            await self.before(rig)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.confirm_map(actor=ADMIN)


class Mapped(Deed):
    """``map.json`` is the owner's, as AstrBot keeps it."""

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        return opened(root, self.map_of(root))

    def map_of(self, root: Path) -> dict[str, object]:
        path = root / "map.json"
        return dict(json.loads(path.read_text("utf-8"))) if path.exists() else dict(MAP)

    def save(self, root: Path, scope_map: Mapping[str, object]) -> None:
        beside = root / "map.json.new"
        beside.write_text(json.dumps(scope_map), "utf-8")
        beside.replace(root / "map.json")


class ChangeMap(Mapped):
    """An admin gives a conversation another scope."""

    in_steps = True

    async def act(self, rig: Rig, tell: Tell) -> None:
        changed = self.map_of(rig.root) | {SQUARE.map_key: "广场"}
        self.save(rig.root, changed)
        await rig.engine.service.change_map(changed, conversation_id=SQUARE, actor=ADMIN)


def on(account: str, where: ConversationId) -> ConversationId:
    """The same conversation of another bot account."""
    return replace(where, umo=f"{account}:{where.umo.partition(':')[2]}", account=account)


class Rebind(Mapped):
    """A bot account goes on under another name, with the map, the pauses, and the scopes that a
    policy derived."""

    in_steps = True
    places = tuple(on(name, one) for name in (ADAPTER, "qq2") for one in (FAMILY, WORK, SQUARE))

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        return self._engine(root, accounts=frozenset({"qq2"}))

    def _engine(self, root: Path, **options: Any) -> AbstractAsyncContextManager[Rig]:
        settings = replace(QUICK, group_scope=GroupScope.PER_GROUP)
        return opened(root, self.map_of(root), settings=settings, **options)

    async def prepare(self, root: Path) -> None:
        async with self._engine(root) as rig:
            for where, words in ((FAMILY, PEANUTS), (SQUARE, TENT), (SQUARE, KEY)):
                await rig.engine.service.meet(where, person(31))
                await rig.remember(words, where, person(31))
            await rig.engine.service.pause(conversation_id=WORK, actor=ADMIN)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await self._rebind(rig, ADAPTER, "qq2")

    async def _rebind(self, rig: Rig, old: str, new: str) -> None:
        service = rig.engine.service
        back = service.is_rebound(new, old)
        changed = await service.rebind(old, new, self.map_of(rig.root))
        if isinstance(changed, Refused):
            assert changed.reason in ("never_met", "account_lives")
            return
        self.save(rig.root, changed)
        await service.go_by(changed)
        if back:
            await service.apart(new, old)


class UndoRebind(Rebind):
    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        return self._engine(root, accounts=frozenset({"qq2", ADAPTER}))

    async def prepare(self, root: Path) -> None:
        await super().prepare(root)
        async with Rebind.engine(self, root) as rig:
            await Rebind.act(self, rig, lambda *_: None)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await self._rebind(rig, "qq2", ADAPTER)


class Bring(Deed):
    """Another policy names the scope of a private chat anew, and an admin brings along what was
    left behind."""

    in_steps = True
    places = (FAMILY, private(1), private(2))

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        return opened(root, settings=replace(QUICK, dm_scope=DmScope.PER_CHANNEL_PEER))

    async def prepare(self, root: Path) -> None:
        async with opened(root, settings=replace(QUICK, dm_scope=DmScope.PER_PEER)) as rig:
            said = ((1, "存折放在饼干盒里"), (1, KEY), (1, TENT), (2, PEANUTS))
            for number, words in said:
                where, who = private(number), person(number)
                await rig.engine.service.meet(where, who)
                await rig.remember(words, where, who)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.bring(conversation_id=private(1), actor=ADMIN)


class TakeBackBrought(Bring):
    async def prepare(self, root: Path) -> None:
        await super().prepare(root)
        async with self.engine(root) as rig:
            await Bring.act(self, rig, lambda *_: None)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.restore(conversation_id=private(1), actor=ADMIN)


class ConfirmDeletions(Deed):
    """Most of a scope is gone from the files, and an admin says that it is meant so."""

    in_steps = True

    async def prepare(self, root: Path) -> None:
        async with self.engine(root) as rig:
            for number in range(6):
                await rig.remember(f"奶奶喜欢第{number}种茶", FAMILY)
            await rig.engine.reconcile()
        (root / "memory" / "scopes" / "家人" / "preferences.md").unlink()

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.confirm_deletions(actor=ADMIN)


class Upgrade(Opening):
    """The folder of the first release is brought up to this one's formats."""

    async def prepare(self, root: Path) -> None:
        shutil.copytree(SAMPLES / "vault-1-state-1-index-1" / "data", root, dirs_exist_ok=True)


class Adopt(Deed):
    """Another plugin's memories, of which nothing is touched."""

    in_steps = True
    COUNT = 30

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        stores = PluginStores(root / "plugins", root / "state" / "adoption-copies")
        return opened(root, others=stores, settings=replace(SMALL, adopt_legacy=True))

    async def prepare(self, root: Path) -> None:
        rows = [
            {
                "id": f"s{number}",
                "judgment": f"外婆的第{number % 25}件事",
                "memory_scope": ("家人", "public")[number % 25 % 2],
            }
            for number in range(self.COUNT)
        ]
        rows.append({"id": "odd", "judgment": "别处的话", "memory_scope": "a b"})
        make_simple(root / "plugins" / ANGEL / "memory_center/index/simple_memory.db", rows)
        await super().prepare(root)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.migrations.run_once()

    async def facts(self, rig: Rig) -> Facts:
        theirs: Facts = Counter({("theirs", "", f"{photograph(rig.root / 'plugins')}"): 1})
        return await super().facts(rig) + theirs + told_of(rig.engine.migrations.status())


def told_of(status: Any) -> Facts:
    """A walk's state at rest, and its figures once it is done."""
    if status.state != "done":
        return Counter()
    return Counter({("walk", "", f"{status.tally}"): 1})


class FiledForeign(InMemoryForeign):
    """A collection in memory, each change of which is on the disk at once, as a server's is."""

    def __init__(self, path: Path, records: Mapping[str, Mapping[str, Any] | None]) -> None:
        super().__init__()
        self._path = path
        found = json.loads(path.read_text("utf-8")) if path.exists() else records
        for name, metadata in found.items():
            judgment = (metadata or {}).get("judgment")
            self.put(name, f"{judgment},  日常" if judgment else None, metadata)

    def change(
        self,
        record_ids: Sequence[str],
        decide: Callable[[Sequence[ForeignRecord]], Mapping[str, Mapping[str, Value | None]]],
    ) -> None:
        super().change(record_ids, decide)
        beside = self._path.with_suffix(".new")
        beside.write_text(
            json.dumps({name: one.metadata for name, one in self.records.items()}), "utf-8"
        )
        beside.replace(self._path)


class MigrateScopes(Deed):
    """A pre-scope plugin's collection: each record gets its scope, and comes into the vault."""

    in_steps = True
    RECORDS: ClassVar[dict[str, dict[str, Any] | None]] = {
        **legacy(16),
        "home": fields("奶奶的存折在衣柜里", memory_scope="家人"),
        "wild": fields("这是越界的密语", memory_scope="../x"),
        "again": fields("小明在第3号柜子放了工具3x", strength=90),
        "nothing": None,
    }

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        source = FiledForeign(root / "collection.json", self.RECORDS)
        return opened(root, legacy=source, settings=SMALL)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.migrations.run_once()

    async def facts(self, rig: Rig) -> Facts:
        path = rig.root / "collection.json"
        records = json.loads(path.read_text("utf-8")) if path.exists() else self.RECORDS
        stated: Facts = Counter()
        for name, metadata in records.items():
            scope = (metadata or {}).get("memory_scope", "")
            stated["record", scope, name] = 1
        return await super().facts(rig) + stated + told_of(rig.engine.migrations.status())


class TakeBackBatch(MigrateScopes):
    """All that a walk has brought leaves again."""

    async def prepare(self, root: Path) -> None:
        await super().prepare(root)
        async with self.engine(root) as rig:
            await rig.engine.migrations.run_once()

    async def act(self, rig: Rig, tell: Tell) -> None:
        (batch,) = rig.engine.migrations.status().batches
        await rig.engine.migrations.take_back(batch)


class GiveBackRecords(TakeBackBatch):
    """The other plugin's records get back what they held before."""

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.migrations.reverse()


PLACE_DEEDS: list[Deed] = [
    ConfirmMap(),
    ChangeMap(),
    ConfirmDeletions(),
    Bring(),
    TakeBackBrought(),
    Rebind(),
    UndoRebind(),
    Upgrade(),
    Adopt(),
    MigrateScopes(),
    TakeBackBatch(),
    GiveBackRecords(),
]
