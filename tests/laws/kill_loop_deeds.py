"""Deeds of the kill table: what the bot does with what it heard, and at night."""

from __future__ import annotations

import json
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory import (
    Feedback,
    MemoryDraft,
    Ticket,
    Turn,
)
from astrbot_plugin_scoped_memory.llm_memory.models.turns import Contradiction
from astrbot_plugin_scoped_memory.tests.fakes.chat import Call, ScriptedChat
from astrbot_plugin_scoped_memory.tests.fakes.words import NoWords
from astrbot_plugin_scoped_memory.tests.laws.kill_deed import (
    FAMILY,
    KEY,
    PEANUTS,
    SQUARE,
    WORK,
    Deed,
    Tell,
)
from astrbot_plugin_scoped_memory.tests.laws.kill_facts import (
    Facts,
    differences,
    id_of,
    whole_files,
)
from astrbot_plugin_scoped_memory.tests.support.engines import (
    Rig,
    Ticker,
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


class Observe(Deed):
    """Turns wait to be read; whoever says them again goes on behind those that do."""

    in_steps = True
    TURNS = (("外婆下周三来", FAMILY), ("发票要盖两个章", WORK), ("阳台的花要换盆", FAMILY))

    async def act(self, rig: Rig, tell: Tell) -> None:
        heard = (await rig.engine.status()).loop.queue.waiting
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


class ReflectOnPrivateTalk(Reflect):
    """What was learned in a chat of one's own under a public scope is its person's alone, also
    where half of it was written."""

    torn = True
    OWN = private(5)
    LESSON = "第4号钥匙缝在大衣的里子里，只有我知道它在那儿"

    async def before(self, rig: Rig) -> None:
        await rig.remember(KEY, SQUARE)
        outcome = await rig.engine.service.observe(
            Turn(person(5), self.LESSON, "好的"), conversation_id=self.OWN
        )
        assert isinstance(outcome, Ticket), outcome

    async def act(self, rig: Rig, tell: Tell) -> None:
        await reflect(rig, self.OWN)

    async def facts(self, rig: Rig) -> Facts:
        found = await super().facts(rig)
        for where in (self.OWN, SQUARE):
            for one in await rig.engine.service.newest(conversation_id=where):
                found["seen", where.umo, one.memory.judgment] += 1
        return found


class GiveFeedback(Deed):
    """What another reader found in a turn: a new memory, and one that another takes the place
    of."""

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
        report = await rig.engine.sleep.run_once("nightly")
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


LOOP_DEEDS: list[Deed] = [
    Observe(),
    Reflect(),
    ReflectOnPrivateTalk(),
    GiveFeedback(),
    Night(),
]
