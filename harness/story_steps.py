"""The steps of the story: a family, a company, an unmapped group and an unmapped stranger."""

from .places import Person, Place, group, private
from .script import JsonObject, ModelRequest, call
from .story import Step, Story

MOTHER = Person(2001, "妈妈")
FATHER = Person(1002, "爸爸")
STRANGER = Person(1001, "小李")
COLLEAGUE = Person(3001, "老王")
READER = Person(4001, "阿读")

FAMILY = group(777)
COMPANY = group(888)
READERS = group(999)
FATHER_CHAT = private(FATHER)
STRANGER_CHAT = private(STRANGER)
OUTSIDE = ((COMPANY, COLLEAGUE), (READERS, READER), (STRANGER_CHAT, STRANGER))
"""Of the family."""

CONFIG: JsonObject = {"embedding": "auto", "reflection_provider": "auto"}
"""As an owner has it: the bot of the story has the bundled model, and learns from what is said in
passing."""

SCOPE_MAP = {FAMILY.umo: "家人", FATHER_CHAT.umo: "家人", COMPANY.umo: "公司"}

PEANUTS = "奶奶对花生过敏"
LIBRARY = "图书馆每周一闭馆"
RELEASE = "公司每周五下午三点发版本"
OUTING = "团建定在十月十二号去千岛湖"
CAFE = "路口的咖啡店早上八点开门"
IN_PASSING = "超市人真多，排队排得我直喝燕麦奶，别的奶我都喝不惯"
OATS = "妈妈只喝得惯燕麦奶"

MAY_I = "给奶奶做饭，菜里能放花生吗"
IS_IT_OPEN = "图书馆周一开门吗"
WHEN_RELEASE = "公司每周五几点发版本"
WHERE_OUTING = "团建定在几号去哪里"
WHICH_MILK = "妈妈喝得惯什么奶"
LOOK_UP = "翻翻你的记忆里有没有奶奶和花生的事"


def rehearse(story: Story) -> None:
    """Teaches the scripted model its lines."""
    model = story.rig.model
    for judgment in (PEANUTS, LIBRARY, RELEASE, OUTING, CAFE):
        arguments = {
            "judgment": judgment,
            "reasoning": "对方亲口说的，并且要求记住。",
            "strength": 80,
        }
        remember = call("core_memory_remember", arguments)
        model.on(f"{judgment}，记住", remember, then="好的，记住了。")
    model.on(MAY_I, then=_peanut_advice)
    learned = {"judgment": OATS, "tags": ["饮食"], "kind": "knowledge", "turn": 1, "who": "s1"}
    model.on_reflection(IN_PASSING, {"new_memories": [learned]})
    model.on(
        LOOK_UP,
        call("core_memory_recall", {"query": "奶奶 花生", "limit": 5}),
        then=lambda request: "查到了。" if PEANUTS in request.everything else "没有查到。",
    )


def _peanut_advice(request: ModelRequest) -> str:
    known = any(PEANUTS in part for part in request.injected)
    return "别放，奶奶对花生过敏。" if known else "可以，放一点更香。"


async def owner_maps(story: Story) -> None:
    await story.rig.panel.map_scopes(SCOPE_MAP)
    for umo, scope in SCOPE_MAP.items():
        story.tell(f"    {umo} → {scope}")
    saved = (await story.rig.panel.config())["conversation_scope_map"]
    story.check("面板存下了这三条映射", holds=saved == SCOPE_MAP)


async def stored(story: Story, place: Place, person: Person, fact: str, scope: str) -> None:
    """Somebody wants it remembered, and it is there and nowhere else."""
    turn = await story.say(place, person, f"{fact}，记住")
    story.check("core_memory_remember 回答 ok", holds=_ok(turn.tool_results))
    story.check_stored(fact, scope)


async def told(story: Story, place: Place, person: Person, question: str, fact: str) -> None:
    """Whoever asks this is told it before the model is called."""
    asked = await story.say(place, person, question)
    story.check(f"已注入「{fact}」", holds=fact in asked.injected)


async def untold(story: Story, place: Place, person: Person, question: str, fact: str) -> None:
    """Whoever asks this is not."""
    asked = await story.say(place, person, question)
    story.check(f"没有「{fact}」", holds=fact not in asked.first.everything)


async def family_remembers(story: Story) -> None:
    await stored(story, FAMILY, MOTHER, PEANUTS, "家人")


async def bot_is_killed(story: Story) -> None:
    await story.rig.crash()
    story.check("kill -9 之后机器人重新启动", holds=story.rig.bot.running)
    story.check_stored(PEANUTS, "家人")


async def father_asks(story: Story) -> None:
    turn = await story.say(FATHER_CHAT, FATHER, MAY_I)
    story.check("这条记忆在调用模型之前已注入", holds=PEANUTS in turn.injected)
    story.check("用户的原话仍是第一段", holds=turn.first.user_text == MAY_I)
    story.check("机器人据此回答", holds="别放" in turn.reply)


async def others_ask(story: Story) -> None:
    for place, person in OUTSIDE:
        await untold(story, place, person, MAY_I, PEANUTS)
        recalled = await story.say(place, person, LOOK_UP)
        story.check("core_memory_recall 回答了", holds=_ok(recalled.tool_results))
        leaked = any(PEANUTS in request.everything for request in recalled.requests)
        story.check("core_memory_recall 也查不到", holds=not leaked)


async def public_is_everywhere(story: Story) -> None:
    await stored(story, READERS, READER, LIBRARY, "public")
    for place, person in ((FAMILY, MOTHER), (FATHER_CHAT, FATHER), *OUTSIDE):
        await told(story, place, person, IS_IT_OPEN, LIBRARY)


async def company_remembers(story: Story) -> None:
    await stored(story, COMPANY, COLLEAGUE, RELEASE, "公司")


async def readers_are_mapped(story: Story) -> None:
    await story.rig.panel.map_scopes({**SCOPE_MAP, READERS.umo: "公司"})
    story.tell(f"    面板：{READERS.umo} → 公司")
    await told(story, READERS, READER, WHEN_RELEASE, RELEASE)
    await told(story, READERS, READER, IS_IT_OPEN, LIBRARY)
    await untold(story, READERS, READER, MAY_I, PEANUTS)
    await stored(story, READERS, READER, OUTING, "公司")
    story.check_stored(LIBRARY, "public")
    await untold(story, STRANGER_CHAT, STRANGER, WHERE_OUTING, OUTING)


async def mapping_is_removed(story: Story) -> None:
    await story.rig.panel.map_scopes(SCOPE_MAP)
    story.tell(f"    面板：删掉 {READERS.umo} 这一条")
    for words, scope in (
        (PEANUTS, "家人"),
        (LIBRARY, "public"),
        (RELEASE, "公司"),
        (OUTING, "公司"),
    ):
        story.check_stored(words, scope)
    asked = await story.say(READERS, READER, WHEN_RELEASE)
    story.check("不再注入公司的记忆", holds=RELEASE not in asked.injected)
    await told(story, READERS, READER, IS_IT_OPEN, LIBRARY)
    await told(story, COMPANY, COLLEAGUE, WHERE_OUTING, OUTING)
    await stored(story, READERS, READER, CAFE, "public")


async def family_mentions(story: Story) -> None:
    turn = await story.say(FAMILY, MOTHER, IN_PASSING)
    story.check("模型没有调用任何工具", holds=turn.tool_results == [])
    await story.command(FAMILY, MOTHER, "/memory reflect")
    story.check_stored(OATS, "家人")
    await told(story, FATHER_CHAT, FATHER, WHICH_MILK, OATS)
    await untold(story, COMPANY, COLLEAGUE, WHICH_MILK, "燕麦奶")
    readings = [one.everything for one in story.rig.model.readings if IN_PASSING in one.everything]
    alone = len(readings) == 1 and RELEASE not in readings[0]
    story.check("读聊天的调用里只有这个会话的话", holds=alone)


async def status_tells(story: Story) -> None:
    status = await story.rig.panel.ready()
    story.tell(f"    版本 {status['version']}，向量来源 {status['embedder']}")
    by_scope = status["memories"]["by_scope"]
    story.tell(f"    记忆 {status['memories']['total']} 条：{by_scope}")
    story.check("各记忆域的条数", holds=by_scope == {"家人": 2, "公司": 2, "public": 2})


STEPS: tuple[tuple[str, Step], ...] = (
    ("主人在面板里填写会话 → 记忆域", owner_maps),
    ("家人群里说了一件要记住的事", family_remembers),
    ("机器人被 kill -9，然后重启", bot_is_killed),
    ("同一记忆域的私聊里问起", father_asks),
    ("记忆域之外：公司群、未映射的群、陌生人", others_ask),
    ("未映射的群里说的是公共记忆，处处可见", public_is_everywhere),
    ("公司群记下自己的事", company_remembers),
    ("主人把群 999 映射到公司，下一条消息起生效", readers_are_mapped),
    ("删掉这一条映射：什么也不丢，又回到公共", mapping_is_removed),
    ("家人群里顺口一提，没有人要它记", family_mentions),
    ("状态接口", status_tells),
)


def _ok(tool_results: list[str]) -> bool:
    return bool(tool_results) and all(text.split()[:1] == ["ok"] for text in tool_results)
