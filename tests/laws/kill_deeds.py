"""Deeds that are acknowledged, to be cut off at any moment: what people and the bot do with
memories."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    Exported,
    Feedback,
    MemoryDraft,
    TaskAction,
    TaskChange,
    TaskReport,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Contradiction
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.lexical_index import NoWords
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import (
    LIVING,
    Facts,
    cut_off,
    differences,
    facts_of,
    holds,
    id_of,
    whole_files,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
    group,
    person,
    private,
    running,
)
from astrbot_plugin_scoped_memory.tests.support.nights import (
    NIGHT,
    OneDirection,
    find_useful,
    find_useless,
    passive,
    plant,
    strengths,
)
from astrbot_plugin_scoped_memory.tests.support.reflecting import reflect, with_loop

FAMILY, WORK, SQUARE = group(777), group(888), group(999)
ADMIN = person(9, "站长", admin=True)
PEANUTS, KEY, TENT = "奶奶对花生过敏", "备用钥匙在花盆下面", "帐篷在阁楼里"

type Tell = Callable[..., None]


class Heard(Protocol):
    """Somebody who is told what was acknowledged."""

    def acknowledge(self, *facts: str) -> None: ...


type Window = Callable[[], AbstractContextManager[Heard]]
"""Opened around what may be cut off."""


class Deed:
    """What stands before it, the deed, and what is to be looked at afterwards.

    ``act`` may be asked again after it was cut off, over what that left: as a person does, it looks
    first whether there is anything left to do.
    """

    in_steps = False
    """It may be cut off between parts that are each done or not done."""
    torn = False
    """What it appends may be cut off in the middle."""
    places: tuple[ConversationId, ...] = (FAMILY, WORK, SQUARE)

    @property
    def name(self) -> str:
        return type(self).__name__

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        """Without indexes: they can be made again, and another law holds them."""
        return running(root, follow=False, words=NoWords(), clock=Ticker())

    async def prepare(self, root: Path) -> None:
        """Leave a folder over which the deed can be done."""
        async with self.engine(root) as rig:
            await self.before(rig)

    async def before(self, rig: Rig) -> None:
        """What was said before."""
        await rig.remember(PEANUTS, FAMILY)
        await rig.remember(KEY, FAMILY)
        await rig.remember(TENT, SQUARE)

    async def act(self, rig: Rig, tell: Tell) -> None:
        """Do it, and ``tell`` what was acknowledged before all of it is."""
        raise NotImplementedError

    async def facts(self, rig: Rig) -> Facts:
        """What is to be compared."""
        return await facts_of(rig, self.places)

    async def play(self, root: Path, window: Window) -> tuple[Facts, Facts]:
        """Do it undisturbed over a prepared folder: the facts before and after."""
        async with self.engine(root) as rig:
            start = await self.facts(rig)
            with window() as heard:
                await self.act(rig, heard.acknowledge)
            return start, await self.facts(rig)

    def cut_off(self, found: Facts, start: Facts, whole: Facts) -> list[str]:
        """What is not as a kill may leave it."""
        if self.in_steps:
            return cut_off(found, start, whole)
        return differences(found, start) and differences(found, whole)

    def unlike(self, found: Facts, start: Facts, whole: Facts) -> list[str]:
        """What is not as if it had never been cut off, once it was done again."""
        return differences(found, whole)


class Opening(Deed):
    """What an engine does by itself when it opens."""

    in_steps = True

    async def act(self, rig: Rig, tell: Tell) -> None:
        pass

    async def play(self, root: Path, window: Window) -> tuple[Facts, Facts]:
        with window():
            async with self.engine(root) as rig:
                start = await self.facts(rig)
                await self.act(rig, lambda *_: None)
                return start, await self.facts(rig)


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


class Purge(Forget):
    in_steps = True
    for_good = True

    async def facts(self, rig: Rig) -> Facts:
        return await super().facts(rig) + holds(rig.root, PEANUTS)


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

    @property
    def name(self) -> str:
        return f"Undo{self._done.name}"

    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        await self._done.act(rig, lambda *_: None)

    async def act(self, rig: Rig, tell: Tell) -> None:
        if not (await self.facts(rig))[LIVING, "家人", PEANUTS]:
            await rig.engine.service.restore(conversation_id=FAMILY, actor=ADMIN)


class TaskDone(Deed):
    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        await self._change(rig, TaskAction.ADD, "浇花", "交房租")

    async def act(self, rig: Rig, tell: Tell) -> None:
        await self._change(rig, TaskAction.DONE, "浇花")

    async def _change(self, rig: Rig, action: TaskAction, *titles: str) -> None:
        change = TaskChange(action, titles)
        await rig.engine.service.update_tasks(change, conversation_id=FAMILY, actor=person(10001))

    async def facts(self, rig: Rig) -> Facts:
        change = TaskChange(TaskAction.LIST)
        report = await rig.engine.service.update_tasks(
            change, conversation_id=FAMILY, actor=person(10001)
        )
        assert isinstance(report, TaskReport), report
        tasks = Counter(("open", "家人", one.memory.judgment) for one in report.open)
        return await super().facts(rig) + tasks + Counter({("done", "家人", "tasks"): report.done})


class TaskAdded(TaskDone):
    async def before(self, rig: Rig) -> None:
        await Deed.before(self, rig)

    async def act(self, rig: Rig, tell: Tell) -> None:
        await self._change(rig, TaskAction.ADD, "浇花")


class Observe(Deed):
    """Turns wait to be read; whoever says them again goes on behind those that do."""

    in_steps = True
    TURNS = (("外婆下周三来", FAMILY), ("发票要盖两个章", WORK), ("阳台的花要换盆", FAMILY))

    async def act(self, rig: Rig, tell: Tell) -> None:
        heard = (await rig.engine.status()).queue
        for number, (words, where) in enumerate(self.TURNS[heard:], heard + 1):
            turn = Turn(person(5), words, "好的")
            outcome = await rig.engine.service.observe(turn, conversation_id=where)
            assert isinstance(outcome, Ticket), outcome
            tell(f"waiting {number}")


MOVED = "第1号钥匙换到盒子里了"
LESSONS = ((FAMILY, "第2号钥匙放在柜子里"), (WORK, "第3号钥匙放在抽屉里"), (FAMILY, MOVED))
FIRST = "第1号钥匙放在抽屉里"


def read(call: Call) -> str:
    """The reader of turns: a memory a turn; a contradiction where the old one is shown to it."""
    known = {line["text"]: line["id"] for line in _lines(call.prompt, "known")}
    new, contradictions = [], []
    for line in _lines(call.prompt, "turns"):
        memory = {"judgment": line["said"], "turn": line["turn"], "who": line["who"]}
        if line["said"] == MOVED and FIRST in known:
            contradictions.append({"old_id": known[FIRST], "new": memory})
        else:
            new.append(memory)
    answer = {"new_memories": new, "contradictions": contradictions}
    return json.dumps(answer, ensure_ascii=False)


def _lines(prompt: str, mark: str) -> list[dict[str, str]]:
    text = prompt.partition(f"<{mark}>")[2].partition(f"</{mark}>")[0]
    return [json.loads(line) for line in text.strip().split("\n") if line]


class Reflect(Deed):
    """A model reads what waits; one turn takes the place of a memory."""

    in_steps = True

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        settings = with_loop(after_turns=1, retry_seconds=(0.0,))
        chat = ScriptedChat(otherwise=read)
        return running(
            root, follow=False, words=NoWords(), clock=Ticker(), chat=chat, settings=settings
        )

    async def before(self, rig: Rig) -> None:
        first = await rig.remember(FIRST, FAMILY, person(5))
        for where, words in LESSONS:
            recalled = (first.memory.memory.memory_id,) if words == MOVED else ()
            turn = Turn(person(5), words, "好的", recalled)
            outcome = await rig.engine.service.observe(turn, conversation_id=where)
            assert isinstance(outcome, Ticket), outcome

    async def act(self, rig: Rig, tell: Tell) -> None:
        for where in (FAMILY, WORK):
            await reflect(rig, where)


class FeedBack(Deed):
    """What another reader found in a turn: a new memory, and one that it takes the place of."""

    in_steps = True

    async def before(self, rig: Rig) -> None:
        await super().before(rig)
        turn = Turn(person(10001), "奶奶能吃花生了，她还爱喝豆浆", "好的")
        ticket = await rig.engine.service.observe(turn, conversation_id=FAMILY)
        assert isinstance(ticket, Ticket), ticket
        (rig.root / "ticket").write_text(ticket.ticket_id, "utf-8")

    async def act(self, rig: Rig, tell: Tell) -> None:
        ticket = Ticket((rig.root / "ticket").read_text("utf-8"))
        actor = person(10001)
        better = MemoryDraft("奶奶能吃花生了", actor=actor)
        feedback = Feedback(
            useful_ids=(id_of(rig.root, KEY),),
            drafts=(MemoryDraft("奶奶爱喝豆浆", actor=actor),),
            contradictions=(Contradiction(id_of(rig.root, PEANUTS), better, ticket.ticket_id),),
        )
        await rig.engine.service.feedback(feedback, ticket=ticket)


class Night(Deed):
    """Some fade, some leave, some say one thing, one has a day's journal. A kill weighs nothing
    twice, and leaves the strength of ten memories at most as it was."""

    in_steps = True
    KEPT_AT_MOST = 10

    def engine(self, root: Path) -> AbstractAsyncContextManager[Rig]:
        chat, embedder = ScriptedChat(otherwise="这一天过得很好。"), OneDirection("乌龙茶")
        return running(root, embedder=embedder, words=NoWords(), clock=Ticker(NIGHT), chat=chat)

    async def prepare(self, root: Path) -> None:
        for place, scope in enumerate(("家人", "公司")):
            first = 1000 * place
            fading = [passive(first + n, f"第{n}件小事", strength=10 * n + 9) for n in range(8)]
            kept = [passive(first + 100 + n, f"第{n}件大事", strength=60) for n in range(4)]
            twice = [
                passive(first + 200, "小明喜欢喝乌龙茶", strength=70),
                passive(first + 201, "小明爱喝乌龙茶", strength=30),
            ]
            plant(root, scope, "patterns.md", fading)
            plant(root, scope, "journal/2026-10-01.md", kept)
            plant(root, scope, "preferences.md", twice)
            find_useless(root, scope, *fading, times=2)
            find_useful(root, scope, *kept[:2])

    async def act(self, rig: Rig, tell: Tell) -> None:
        await rig.until_indexed()
        report = await rig.engine.loop.sleep.run_once("nightly")
        assert not report.errors, report.errors

    async def facts(self, rig: Rig) -> Facts:
        found = await super().facts(rig) + whole_files(rig.root / "backups" / "daily")
        for scope in ("家人", "公司"):
            for memory_id, strength in strengths(rig.root, scope).items():
                found["strength", scope, f"{memory_id} {strength}"] = 1
        return found

    def unlike(self, found: Facts, start: Facts, whole: Facts) -> list[str]:
        unweighed = [fact for fact in found - whole if fact[0] == "strength" and fact in start]
        if len(unweighed) > self.KEPT_AT_MOST:
            return [f"not weighed: {unweighed}"]
        names = {fact[2].split()[0] for fact in unweighed}
        odd = differences(found, whole)
        return [one for one in odd if " strength " not in one or one.split()[-2] not in names]


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


DEEDS: list[Deed] = [
    Remember(),
    Forget(),
    ForgetAndImport(),
    Purge(),
    Edit(),
    Move(),
    Undo(Forget()),
    Undo(Edit()),
    Undo(Move()),
    TaskAdded(),
    TaskDone(),
    Observe(),
    Reflect(),
    FeedBack(),
    Night(),
    Backup(),
    Export(),
    Import(),
    PauseConversation(),
    ResumeConversation(),
    TakesInHandEdits(),
]
