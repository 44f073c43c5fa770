"""Deeds of the kill table: what people do with memories, one by one and as files of lines."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from astrbot_plugin_scoped_memory.llm_memory import (
    Exported,
    MemoryDraft,
    MemoryKind,
    TaskAction,
    TaskChange,
    TaskReport,
)
from astrbot_plugin_scoped_memory.tests.fakes.words import NoWords
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
)
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import (
    Facts,
    id_of,
    whole_files,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    person,
    private,
    running,
)


class Remember(Deed):
    """New things, and one again."""

    in_steps = True
    SAID = ((TENT, FAMILY), ("门禁周一换密码", WORK), (PEANUTS, FAMILY), (KEY, SQUARE))

    async def act(self, rig: Rig, tell: Tell) -> None:
        for words, where in self.SAID:
            draft = MemoryDraft(words, actor=person(10001))
            await rig.engine.service.remember(draft, conversation_id=where)
            tell(words)


class Forget(Deed):
    for_good = False

    async def act(self, rig: Rig, tell: Tell) -> None:
        memory_id = id_of(rig.root, PEANUTS)
        await rig.engine.service.forget(
            memory_id, conversation_id=FAMILY, actor=ADMIN, for_good=self.for_good
        )


class ForgetMany(Deed):
    """Of two files, as one deed: whatever a kill left of it, one undo brings all of it back."""

    in_steps = True
    words = (PEANUTS, KEY, "奶奶做了体检")

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        """By the machine's clock, as what is appended: it tells what was forgotten since."""
        return running(root, follow=False, words=NoWords(), clock=lambda: datetime.now(UTC))

    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        await rig.remember(self.words[-1], FAMILY, kind=MemoryKind.EVENT)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.restore(conversation_id=FAMILY, actor=ADMIN)
        assert set(self.words) <= {*await rig.newest(FAMILY)}
        ids = [id_of(rig.root, words) for words in self.words]
        await rig.engine.service.forget_many(ids, conversation_id=FAMILY, actor=ADMIN)


class Purge(Forget):
    in_steps = True
    for_good = True

    def unlike(self, found: Facts, start: Facts, whole: Facts) -> list[str]:
        left = [f"not purged: {fact}" for fact in found if fact[2] == PEANUTS]
        return super().unlike(found, start, whole) + left


class ForgetAndImport(Forget):
    """What was forgotten does not come back with an older export either."""

    in_steps = True

    async def prepare(self, root: Path) -> None:
        await super().prepare(root)
        put_import(root, PEANUTS)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await super().act(rig, tell)
        await rig.engine.service.import_("in.jsonl", conversation_id=FAMILY, actor=ADMIN)


def put_import(root: Path, *words: str) -> None:
    """A file that says these words."""
    lines: list[dict[str, Any]] = [{"type": "header", "format": "scoped-memory", "version": 1}]
    lines += [{"type": "memory", "scope": "家人", "judgment": one} for one in words]
    (root / "imports").mkdir(exist_ok=True)
    text = "\n".join(json.dumps(line) for line in lines)
    (root / "imports" / "in.jsonl").write_text(f"{text}\n", "utf-8")


class Edit(Deed):
    NEW = "奶奶对花生和核桃过敏"

    async def act(self, rig: Rig, tell: Tell) -> None:
        if not id_of(rig.root, self.NEW):
            memory_id = id_of(rig.root, PEANUTS)
            await rig.engine.service.edit(memory_id, self.NEW, conversation_id=FAMILY, actor=ADMIN)


class Move(Deed):
    async def act(self, rig: Rig, tell: Tell) -> None:
        memory_id = id_of(rig.root, PEANUTS)
        await rig.engine.service.move(memory_id, "公司", conversation_id=FAMILY, actor=ADMIN)


class Undo(Deed):
    """Of what was done before."""

    def __init__(self, done: Deed) -> None:
        self._done = done
        self.in_steps = done.in_steps

    @property
    def name(self) -> str:
        return f"Undo{self._done.name}"

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        return self._done.engine(root)

    async def before(self, rig: Rig) -> None:
        await self._done.before(rig)
        await self._done.act(rig, lambda *_: None)

    async def act(self, rig: Rig, tell: Tell) -> None:
        words = self._done.words if isinstance(self._done, ForgetMany) else (PEANUTS,)
        if not {*words} <= {*await rig.newest(FAMILY)}:
            await rig.engine.service.restore(conversation_id=FAMILY, actor=ADMIN)


class TaskDone(Deed):
    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        await self._change(rig, "add", "浇花", "交房租")

    async def act(self, rig: Rig, tell: Tell) -> None:
        await self._change(rig, "done", "浇花")

    async def _change(self, rig: Rig, action: TaskAction, *titles: str) -> None:
        change = TaskChange(action, titles)
        await rig.engine.service.update_tasks(change, conversation_id=FAMILY, actor=person(10001))

    async def facts(self, rig: Rig) -> Facts:
        change = TaskChange("list")
        report = await rig.engine.service.update_tasks(
            change, conversation_id=FAMILY, actor=person(10001)
        )
        assert isinstance(report, TaskReport), report
        home = rig.root / "memory/scopes/家人"
        done = sum(one.read_text("utf-8").count("[x]") for one in home.glob("TASKS.md"))
        tasks = Counter(("open", "家人", one.memory.judgment) for one in report.open)
        return await super().facts(rig) + tasks + Counter({("done", "家人", "tasks"): done})


class TaskAdded(TaskDone):
    async def before(self, rig: Rig) -> None:
        await Deed.before(self, rig)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await self._change(rig, "add", "浇花")


class Backup(Deed):
    """The whole store in a file; asked again there are two, and each is whole."""

    folder = "exports"

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.back_up()

    async def facts(self, rig: Rig) -> Facts:
        return await super().facts(rig) + whole_files(rig.root / self.folder)


class Export(Backup):
    async def act(self, rig: Rig, tell: Tell) -> None:
        outcome = await rig.engine.service.export(conversation_id=FAMILY, actor=ADMIN)
        assert isinstance(outcome, Exported), outcome


class Import(Deed):
    in_steps = True

    async def prepare(self, root: Path) -> None:
        await super().prepare(root)
        put_import(root, TENT, PEANUTS, *(f"第{n}号柜子放着工具{n}" for n in range(5)))

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.import_("in.jsonl", conversation_id=WORK, actor=ADMIN)


class PauseConversation(Deed):
    places = (FAMILY, private(5), SQUARE)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.pause(conversation_id=private(5), actor=person(5))


class ResumeConversation(PauseConversation):
    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        await PauseConversation.act(self, rig, lambda *_: None)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.service.resume(conversation_id=private(5), actor=person(5))


class NeverLearn(Deed):
    async def act(self, rig: Rig, tell: Tell) -> None:
        service = rig.engine.service
        await service.never_learn(["体重", "工资"], conversation_id=FAMILY, actor=ADMIN)


class TakesInHandEdits(Opening):
    """A person edited one line, deleted another, and wrote a third, while the bot was away: the
    files are the truth, wherever the bot is killed in taking them in."""

    async def prepare(self, root: Path) -> None:
        await super().prepare(root)
        for path in (root / "memory" / "scopes" / "家人").rglob("*.md"):
            text = path.read_text("utf-8")
            path.write_text(text.replace(PEANUTS, "奶奶对核桃过敏"), "utf-8")
        new = root / "memory" / "scopes" / "公司" / "entities.md"
        new.parent.mkdir(exist_ok=True)
        new.write_text("## 门禁周一换密码\n", "utf-8")
        for path in (root / "memory" / "scopes" / "public").rglob("*.md"):
            path.unlink()

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.engine.reconcile()


MEMORY_DEEDS: list[Deed] = [
    Remember(),
    Forget(),
    ForgetMany(),
    ForgetAndImport(),
    Purge(),
    Edit(),
    Move(),
    Undo(Forget()),
    Undo(ForgetMany()),
    Undo(Edit()),
    Undo(Move()),
    TaskAdded(),
    TaskDone(),
    Backup(),
    Export(),
    Import(),
    PauseConversation(),
    NeverLearn(),
    ResumeConversation(),
    TakesInHandEdits(),
]
