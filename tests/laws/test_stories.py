"""Stories that the machine of the laws plays step by step, each of which was told wrongly once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.tests.laws.cast import (
    AGENT,
    BOSS,
    BOSS_CHAT,
    GANG,
    GANG_AWAY,
    GANG_CHAT,
    GANG_TOO,
    LI,
    LI_CHAT,
    MEMBER,
    MING,
    OTHER_BOSS,
    PLACES,
    ROOM,
    SPLIT,
    Place,
    text,
)
from astrbot_plugin_scoped_memory.tests.laws.doors import Asking, decisions, injected
from astrbot_plugin_scoped_memory.tests.laws.living_bot import RUNGS
from astrbot_plugin_scoped_memory.tests.laws.test_machine import Life

pytestmark = pytest.mark.engine

type Step = Callable[[Life], None]
FAMILY = {ROOM.keys[0]: "家人", SPLIT.keys[0]: "公司", AGENT.keys[0]: "公司"}
FIRST, SECOND = 0, 1
"""Of the entries that live, in the order in which they came."""


def step(rule: Callable[..., None], *arguments: object, **named: object) -> Step:
    """One rule of the machine."""
    return lambda life: rule(life, *arguments, **named)


def forgets(who: object, where: object, number: int = FIRST, *, for_good: bool = False) -> Step:
    return step(Life.forgets, where=where, who=who, number=number, for_good=for_good)


def told(who: object, where: object, number: int) -> Step:
    return step(Life.tells, where=where, who=who, words=text(number))


def heard(who: object, where: object, number: int) -> Step:
    return step(Life.is_heard, where=where, who=who, words=text(number))


def overheard(who: object, where: object, number: int) -> Step:
    return step(Life.is_overheard, where=where, who=who, words=text(number))


def undone(who: object, where: object) -> Step:
    return step(Life.undoes, where=where, who=who)


def edited(who: object, where: object, number: int = FIRST) -> Step:
    return step(Life.edits, where=where, who=who, number=number)


def by_hand(what: str, number: int = FIRST, to: str = "public") -> Step:
    return step(Life.by_hand, number=number, what=what, to=to)


def remapped(per_peer: bool = False, **_: object) -> Step:
    return step(Life.is_remapped, scope_map=dict(FAMILY), per_peer=per_peer, per_group=False)


def older_ledger(*meanwhile: Step, lost: bool = False) -> Step:
    """These are done; then what the bot had noted of its files is ``lost``, or as it was before
    them, and nothing of what was done can be undone."""

    def done(life: Life) -> None:
        state = life.bot.root / "state"
        kept = {} if lost else {path: path.read_bytes() for path in state.glob("vault.sqlite*")}
        for one in meanwhile:
            one(life)
        life.bot.stop()
        for path in state.glob("vault.sqlite*"):
            path.unlink()
        for path, content in kept.items():
            path.write_bytes(content)
        life.bot.restart()
        life.model.deeds.clear()
        life.look(PLACES)

    return done


def has_a_file_renamed(life: Life) -> None:
    """By hand."""
    path = life.bot.files()[0].path
    path.rename(path.with_name("改名.md"))
    life.look(PLACES)


def has_a_constitution(name: str, number: int) -> Step:
    """By hand: a scope has rules of its own."""

    def done(life: Life) -> None:
        page = life.bot.root / "memory" / "scopes" / name / "CONSTITUTION.md"
        page.write_text(text(number), "utf-8")
        life.model.rules[name] = text(number)
        life.bot.run(life.bot.rig.engine.parts.note_book.refresh())
        life.look(PLACES)

    return done


def is_told(where: Place, *numbers: int) -> Step:
    """A talk opens there with the first of them, lists the others as decided, and recalls all."""

    def done(life: Life) -> None:
        at = Asking(life.bot, where, ())
        _, recalled, opening = map(repr, life.bot.run(injected(at)))
        listed = repr(life.bot.run(decisions(at)))
        assert text(numbers[0]) in opening
        assert all(text(number) in listed for number in numbers[1:])
        assert all(text(number) in recalled for number in numbers)

    return done


READ, NIGHT = step(Life.reads), step(Life.sleeps)
RESTART, LOST_INDEX = step(Life.restarts, lost=False), step(Life.restarts, lost=True)

STORIES: dict[str, list[Step]] = {
    "what is heard in private is its speaker's over a lost index, and nobody else forgets it": [
        heard(GANG, GANG_CHAT, 0),
        *(forgets(who, where) for who, where in ((BOSS, ROOM), (BOSS, BOSS_CHAT), (GANG, ROOM))),
        LOST_INDEX,
        forgets(GANG, GANG_AWAY),
        step(Life.restores, where=BOSS_CHAT, who=BOSS, number=3),
        step(Life.forgets, where=BOSS_CHAT, who=BOSS, number=3, for_good=True),
        undone(GANG, GANG_AWAY),
    ],
    "said openly or remembered on purpose it is everybody's": [
        heard(GANG, GANG_CHAT, 0),
        heard(GANG, ROOM, 0),
        heard(GANG, SPLIT, 0),
        heard(GANG, LI_CHAT, 1),
        told(GANG, GANG_CHAT, 1),
        heard(GANG, GANG_CHAT, 1),
    ],
    "a map that changes leaves old words where they are": [
        heard(GANG, GANG_CHAT, 0),
        step(Life.is_remapped_while_it_runs, where=GANG_CHAT, who=BOSS, name="家人"),
        heard(GANG, GANG_CHAT, 1),
        overheard(GANG, GANG_CHAT, 2),
        step(Life.is_remapped_while_it_runs, where=GANG_CHAT, who=BOSS, name=None),
        READ,
    ],
    "what is said off the record is nowhere": [
        told(MING, ROOM, 0),
        step(Life.pauses, where=ROOM, who=MING, on=True),
        step(Life.pauses, where=ROOM, who=BOSS, on=True),
        overheard(MING, ROOM, 1),
        told(MING, ROOM, 2),
        step(Life.tasks, where=ROOM, who=MING, words=text(8), done=False),
        step(Life.pauses, where=ROOM, who=BOSS, on=False),
        READ,
    ],
    "what is forgotten keeps nothing from being learned that has its form": [
        overheard(BOSS, ROOM, 1),
        told(BOSS, ROOM, 17),
        forgets(BOSS, ROOM),
        READ,
    ],
    "nor does what is purged": [
        overheard(BOSS, ROOM, 1),
        told(BOSS, ROOM, 17),
        forgets(BOSS, ROOM, for_good=True),
        READ,
    ],
    "a reader knows what was learned just before of the same person": [
        overheard(OTHER_BOSS, GANG_CHAT, 0),
        overheard(OTHER_BOSS, AGENT, 2),
        READ,
    ],
    "what is purged is in no file after the night": [
        told(MING, SPLIT, 0),
        told(MING, SPLIT, 1),
        NIGHT,
        forgets(BOSS, SPLIT, for_good=True),
        NIGHT,
    ],
    "what is said under two maps is read apart": [
        overheard(GANG, GANG_CHAT, 0),
        step(Life.is_remapped_while_it_runs, where=GANG_CHAT, who=BOSS, name="家人"),
        overheard(GANG, GANG_CHAT, 1),
        overheard(GANG, GANG_CHAT, 2),
        step(Life.is_remapped_while_it_runs, where=GANG_CHAT, who=BOSS, name="公司"),
        overheard(GANG, GANG_CHAT, 3),
        READ,
    ],
    "its speaker and an admin forget it and bring it back, and nobody else": [
        told(MING, ROOM, 0),
        told(LI, LI_CHAT, 1),
        *(forgets(who, ROOM, SECOND) for who in (LI, BOSS)),
        forgets(LI, ROOM),
        forgets(LI, ROOM, for_good=True),
        forgets(MING, SPLIT),
        forgets(MING, ROOM),
        step(Life.restores, where=ROOM, who=LI, number=3),
        step(Life.restores, where=SPLIT, who=BOSS, number=3),
        undone(MING, ROOM),
    ],
    "what was public stays its speaker's own under a new policy, and an admin's in private": [
        *(told(GANG, GANG_CHAT, number) for number in range(2)),
        remapped(per_peer=True),
        forgets(GANG, GANG_AWAY),
        undone(GANG, GANG_AWAY),
        *(forgets(who, where) for who, where in ((LI, LI_CHAT), (OTHER_BOSS, BOSS_CHAT))),
        forgets(BOSS, ROOM),
        forgets(GANG, ROOM, for_good=True),
        edited(BOSS, BOSS_CHAT),
        forgets(BOSS, BOSS_CHAT),
        step(Life.restores, where=LI_CHAT, who=LI, number=3),
        step(Life.restores, where=GANG_CHAT, who=GANG, number=3),
        step(Life.decides, where=BOSS_CHAT, who=BOSS, number=0, to=RecordFile.DECISIONS),
    ],
    "what was forgotten together comes back together, as far as it was left so": [
        *(told(MING, SPLIT, number) for number in range(3)),
        told(LI, SPLIT, 3),
        step(Life.forgets_several, where=SPLIT, who=MING, number=1),
        undone(MING, SPLIT),
        step(Life.forgets_several, where=SPLIT, who=BOSS, number=1),
        step(Life.restores, where=SPLIT, who=LI, number=3),
        step(Life.forgets, where=SPLIT, who=BOSS, number=7, for_good=True),
        undone(MING, SPLIT),
        undone(BOSS, SPLIT),
        NIGHT,
    ],
    "a wrong name in the map publishes nothing": [
        step(Life.is_remapped_while_it_runs, where=ROOM, who=BOSS, name="家 人"),
        told(MING, ROOM, 0),
        heard(MING, ROOM, 0),
        told(MING, LI_CHAT, 1),
    ],
    "an export that is read in again publishes nothing": [
        heard(GANG, GANG_CHAT, 0),
        overheard(GANG, GANG_CHAT, 1),
        step(Life.exports, where=GANG_CHAT, who=BOSS),
        forgets(GANG, GANG_CHAT),
        *(
            step(Life.imports, where=where, who=BOSS, number=0)
            for where in (LI_CHAT, ROOM, GANG_CHAT)
        ),
    ],
    "nights publish nothing of a private talk": [
        *(heard(GANG, GANG_CHAT, number) for number in range(3)),
        *(heard(LI, SPLIT, number) for number in range(3, 6)),
        *(heard(MING, MEMBER, number) for number in range(3)),
        NIGHT,
        forgets(LI, SPLIT, 4),
        NIGHT,
    ],
    "a place is told unasked what it may see alone": [
        step(Life.tasks, where=ROOM, who=BOSS, words=text(8), done=False),
        step(Life.tasks, where=SPLIT, who=BOSS, words=text(9), done=False),
        told(BOSS, SPLIT, 0),
    ],
    "what was said before it was taken back is not learned": [
        told(MING, ROOM, 0),
        overheard(MING, ROOM, 0),
        overheard(LI, ROOM, 1),
        forgets(MING, ROOM),
        READ,
        undone(MING, ROOM),
        overheard(MING, ROOM, 0),
        by_hand("edit"),
        READ,
    ],
    "the newest deed that cannot be undone is passed over": [
        told(MING, SPLIT, 0),
        told(MING, SPLIT, 1),
        forgets(BOSS, SPLIT),
        edited(BOSS, SPLIT),
        by_hand("edit"),
        undone(BOSS, SPLIT),
        undone(BOSS, SPLIT),
    ],
    "a purge leaves nothing to be undone": [
        told(MING, SPLIT, 0),
        told(MING, SPLIT, 1),
        forgets(BOSS, SPLIT),
        forgets(BOSS, SPLIT, for_good=True),
        undone(BOSS, SPLIT),
        NIGHT,
    ],
    "the bot's mark on a task is nobody's last deed": [
        told(MING, SPLIT, 0),
        step(Life.tasks, where=SPLIT, who=MING, words=text(8), done=False),
        forgets(MING, SPLIT),
        step(Life.tasks, where=SPLIT, who=MING, words=text(8), done=True),
        undone(MING, SPLIT),
        step(Life.restores, where=SPLIT, who=BOSS, number=SECOND),
    ],
    "my undo brings nothing back that another has forgotten": [
        told(MING, SPLIT, 0),
        edited(BOSS, SPLIT),
        forgets(MING, SPLIT),
        undone(BOSS, SPLIT),
        undone(MING, SPLIT),
        undone(BOSS, SPLIT),
    ],
    "what a policy left behind is brought, and goes back": [
        remapped(per_peer=True),
        heard(GANG, GANG_CHAT, 0),
        told(LI, LI_CHAT, 1),
        remapped(),
        step(Life.brings, where=GANG_CHAT, who=BOSS),
        step(Life.brings, where=LI_CHAT, who=OTHER_BOSS),
        undone(BOSS, GANG_CHAT),
        undone(OTHER_BOSS, LI_CHAT),
    ],
    "what was public in a private chat its person takes along, and puts back": [
        *(told(GANG, where, n) for n, where in enumerate((GANG_CHAT, GANG_AWAY, ROOM))),
        heard(GANG, GANG_CHAT, 3),
        told(LI, LI_CHAT, 4),
        remapped(per_peer=True),
        *(step(Life.brings, where=GANG_CHAT, who=who) for who in (LI, GANG_TOO, GANG)),
        step(Life.brings, where=ROOM, who=GANG),
        step(Life.brings, where=LI_CHAT, who=BOSS),
        undone(GANG, GANG_CHAT),
        step(Life.brings, where=GANG_AWAY, who=GANG_TOO),
        undone(GANG, GANG_CHAT),
    ],
    "a scope takes all that is its own along under another name": [
        *(told(MING, ROOM, number) for number in range(3)),
        overheard(LI, ROOM, 3),
        overheard(MING, ROOM, 1),
        forgets(MING, ROOM, SECOND),
        *(step(Life.renames, where=ROOM, who=who, old="家人", new="家") for who in (MING, BOSS)),
        READ,
        edited(BOSS, ROOM),
        undone(BOSS, ROOM),
        undone(MING, ROOM),
        step(Life.renames, where=SPLIT, who=BOSS, old="家", new="公司"),
        forgets(BOSS, SPLIT),
        RESTART,
    ],
    "what lies in a scope that nobody has is brought, and goes back": [
        *(told(MING, ROOM, number) for number in range(2)),
        step(Life.renames, where=ROOM, who=BOSS, old="家人", new="家"),
        by_hand("move", to="家人"),
        overheard(MING, ROOM, 2),
        *(step(Life.renames, where=ROOM, who=BOSS, old=old, new="家") for old in ("家人", "没有")),
        undone(BOSS, ROOM),
        READ,
        *(step(Life.brings_all, where=SPLIT, who=who, name="家人") for who in (MING, BOSS, BOSS)),
        *(step(Life.brings_all, where=SPLIT, who=BOSS, name=name) for name in ("家", "公司")),
        undone(BOSS, SPLIT),
        step(Life.brings_all, where=SPLIT, who=BOSS, name="家人"),
        step(Life.brings_all, where=SPLIT, who=BOSS, name="家人"),
        edited(BOSS, SPLIT),
        step(Life.brings_all, where=SPLIT, who=BOSS, name="家人"),
        undone(BOSS, SPLIT),
    ],
    "no day of private talk is brought to everybody": [
        remapped(per_peer=True),
        told(GANG, GANG_CHAT, 0),
        NIGHT,
        *(heard(GANG, GANG_CHAT, number) for number in (1, 2)),
        *(heard(GANG, GANG_AWAY, number) for number in (3, 4)),
        NIGHT,
        remapped(),
        step(Life.brings, where=GANG_CHAT, who=BOSS),
    ],
    "nothing that was said before revives what was corrected since": [
        *(told(MING, SPLIT, number) for number in range(4)),
        *(overheard(MING, SPLIT, number) for number in range(4)),
        forgets(MING, SPLIT),
        edited(BOSS, SPLIT),
        by_hand("delete", SECOND),
        step(Life.moves, where=SPLIT, who=BOSS, number=SECOND, to="public"),
        RESTART,
        READ,
        NIGHT,
        *(overheard(MING, SPLIT, number) for number in range(2)),
        READ,
    ],
    "a bot that has lost its notes on the files goes by what stands in them": [
        *(told(MING, SPLIT, number) for number in range(4)),
        forgets(MING, SPLIT),
        older_ledger(lost=True),
        by_hand("delete", SECOND),
        has_a_file_renamed,
        older_ledger(edited(BOSS, SPLIT), lost=True),
        step(Life.restores, where=SPLIT, who=MING, number=3),
    ],
    "so does one whose notes were put back from a copy": [
        *(told(MING, SPLIT, number) for number in range(6)),
        forgets(MING, SPLIT),
        older_ledger(
            undone(MING, SPLIT),
            *(forgets(MING, SPLIT, number) for number in (1, 2)),
            edited(BOSS, SPLIT, SECOND),
            step(Life.moves, where=SPLIT, who=BOSS, number=0, to="public"),
            told(MING, SPLIT, 6),
        ),
        by_hand("delete", SECOND),
    ],
    "decisions and a constitution of one scope are told in that scope alone": [
        *(told(MING, where, number) for number, where in enumerate((SPLIT, SPLIT, ROOM))),
        *(step(Life.decides, where=SPLIT, who=BOSS, number=number, to=None) for number in range(3)),
        has_a_constitution("公司", 3),
        is_told(SPLIT, 3, 0, 1),
        NIGHT,
        step(Life.exports, where=ROOM, who=BOSS),
        LOST_INDEX,
        step(Life.is_remapped_while_it_runs, where=ROOM, who=BOSS, name="公司"),
        is_told(ROOM, 3, 0, 1),
    ],
    "everything at once": [
        *(told(MING, ROOM, number) for number in range(6)),
        *(step(Life.many_things_at_once, where=ROOM, number=number) for number in (0, 2, 0)),
        NIGHT,
        step(Life.many_things_at_once, where=ROOM, number=1),
        undone(BOSS, ROOM),
        undone(OTHER_BOSS, ROOM),
    ],
}


@pytest.mark.parametrize("name", STORIES)
def test_story(name: str) -> None:
    for rung in (RUNGS[0], RUNGS[2]):
        life = Life()
        try:
            life.begin(scope_map=dict(FAMILY), rung=rung, per_peer=False, per_group=False)
            for one in STORIES[name]:
                one(life)
        finally:
            life.teardown()
