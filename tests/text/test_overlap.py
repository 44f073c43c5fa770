"""Whole words: what forgets by a word forgets nothing that only has its letters. And what somebody
said of himself, as it is told to others."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.text.overlap import holds
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold
from astrbot_plugin_scoped_memory.llm_memory.text.third_person import third_person

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "words", "parts"),
    [
        (
            "Grandma is allergic to peanuts",
            ("peanut", "peanuts", "allergic"),
            ("pea", "all", "nut"),
        ),
        ("Mum's boxes are full of peas", ("mum", "box", "boxes", "pea"), ("ox", "ea")),
        ("all-purpose flour, ice-cream, an x-ray", ("x-ray", "flour"), ("all", "ice", "ray")),
        ("José sings naïve songs in the café", ("josé", "café"), ("jos", "na", "ve", "caf")),
        ("COVID-19, covid20, B112, 1,200 at 3.14", ("covid", "1,200"), ("200", "14", "112", "cov")),
        ("2026-11-21 的单号是 120263", ("2026", "120263"), ("1202", "263")),
        ("家里的wifi密码和KTV的会员卡", ("wifi", "ktv", "密码", "会员"), ("fi", "tv")),
        ("который час, кот спит", ("кот", "час"), ("кото", "сп")),
        ("snake_case", ("snake_case",), ("case", "snake")),
        ("แมวของฉันชอบปลา", ("แมว", "ปลา"), ()),
    ],
)
def test_only_whole_words_and_numbers_are_held(
    text: str, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    assert [one for one in words if not holds(fold(text), fold(one))] == []
    assert [one for one in parts if holds(fold(text), fold(one))] == []


DAD = {
    "我的车险12月20号到期": "爸爸的车险12月20号到期",
    "我周四带奶奶去复查，车我来开": "爸爸周四带奶奶去复查，车爸爸来开",
    "我們家的網費我每月交": "爸爸家的網費爸爸每月交",
    "我妈对虾过敏，我女儿不过敏": "爸爸的妈对虾过敏，爸爸的女儿不过敏",
    "俺不吃香菜，我国庆节不在家": "爸爸不吃香菜，爸爸国庆节不在家",
    "我最爱听《我和我的祖国》": "爸爸最爱听《我和我的祖国》",
    "同事总念叨“我不行”，我不爱听": "同事总念叨“我不行”，爸爸不爱听",
    "我明天要做自我介绍，我8:30到": "爸爸明天要做自我介绍，爸爸8:30到",
    "我说过请客，我不爱说话": "爸爸说过请客，爸爸不爱说话",
}
TOM = {
    "My car insurance ends on Dec 20": "Tom's car insurance ends on Dec 20",
    "I'm allergic to peanuts": "Tom is allergic to peanuts",
    "I don't eat coriander": "Tom doesn't eat coriander",
    "I really like black tea.": "Tom really likes black tea.",
    "I sold the old van and moved to Leeds": "Tom sold the old van and moved to Leeds",
    "The dentist is closed when I have time": "The dentist is closed when Tom has time",
    "The red bike is mine; call me at noon": "The red bike is Tom's; call Tom at noon",
    "I’ll bring the cake": "Tom will bring the cake",
}
KEPT = {
    "爸爸": (
        "奶奶对花生过敏",
        "他说我不去",
        "医生讲过，我得少吃盐",
        "备注：我下周不在",
        "我们周六去爬山",
        "我俩下周搬家",
        "咱家的网费我来交",
        "你答应给我留一份",
        "我是小明的爸爸",
        "这事“我来办",
        "自我介绍要短",
    ),
    "Tom": (
        "I sold my bike",
        "I like tea and hate coffee",
        "Ann says I can stay",
        "Mary and I are going",
        "World War I was long",
        "I read a lot",
        "You promised me a cake",
        "Me gusta el té",
        "We moved to my aunt's",
        "It is a coal mine",
    ),
}


@pytest.mark.parametrize(
    ("who", "text", "told"),
    [
        *[("爸爸", *pair) for pair in DAD.items()],
        *[("Tom", *pair) for pair in TOM.items()],
        *[(who, text, text) for who, texts in KEPT.items() for text in texts],
        ("", "我的车险12月20号到期", "我的车险12月20号到期"),
        ("[老板] 说过：", "我的车", "老板 说过的车"),
    ],
)
def test_the_first_person_is_the_speaker_where_no_word_is_bent(
    who: str, text: str, told: str
) -> None:
    assert third_person(text, who) == told
