"""Which words of a person become entries, and where their ids go."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.runtime.identifiers import make_id
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import made_at, render
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.new_entries import plain_lines, with_ids
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.topic_file import TopicFile, parse_file
from astrbot_plugin_scoped_memory.tests.house.source import ROOT

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, 8, tzinfo=UTC)


def parsed(text: str) -> TopicFile:
    return parse_file(text, fallback_time=NOW)


def adopted(text: str) -> TopicFile:
    """The file after all its words were given ids."""
    file = parsed(text)
    ids = {line: f"m-{number:06d}" for number, line in enumerate(plain_lines(file))}
    return parsed(with_ids(file, ids))


def said(text: str) -> list[tuple[str, str]]:
    """Words and reasoning of each entry after that."""
    return [(e.memory.judgment, e.memory.reasoning) for e in adopted(text).entries]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("## 备用钥匙在门卫那里\n找老王。\n\n- 白天\n- 晚上",
         [("备用钥匙在门卫那里", "找老王。\n\n- 白天\n- 晚上")]),
        ("## 饮食\n\n- 草莓\n- 葡萄", [("草莓", ""), ("葡萄", "")]),
        ("# 标题\n一段话，\n两行。\n\n又一段。", [("一段话，\n两行。", ""), ("又一段。", "")]),
        ("1. 第一\n2) 第二\n* 第三\n+ 第四",
         [("第一", ""), ("第二", ""), ("第三", ""), ("第四", "")]),
        ("- 女儿爱吃草莓，\n  不爱吃葡萄\n  - 酸的都不爱\n\n  医生说的\n- 弟弟爱吃鱼",
         [("女儿爱吃草莓，\n不爱吃葡萄", "- 酸的都不爱\n\n医生说的"), ("弟弟爱吃鱼", "")]),
        ("- [ ] 买牛奶", [("[ ] 买牛奶", "")]),
        ("> 引用\n\n<!-- 注\n\n释 -->\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n"
         "```\n- x\n## y\n```",
         []),
        ("---\ntitle: x\n---\n\n话", [("话", "")]),
        ("# 只有标题\n### 小标题", []),
        ("## 已有的 ^m-known\n> 强度 7\n\n- 后加的", [("已有的", ""), ("后加的", "")]),
        ("## 已有的 ^m-known\n> 强度 7\n\n理由\n\n- 理由的一部分",
         [("已有的", "理由\n\n- 理由的一部分")]),
        ("", []), ("\n\n  \n", []), ("-\n*\n##\n", []),
    ],
)  # fmt: skip
def test_words_without_an_id(text: str, expected: list[tuple[str, str]]) -> None:
    assert said(text) == expected


words = st.text(alphabet="一二三abc #->|*.1`~^\\\t", min_size=0, max_size=8)


@given(st.lists(words, max_size=12).map("\n".join), st.booleans())
def test_ids_are_added_once_and_no_word_is_touched(text: str, windows: bool) -> None:
    text = text.replace("\n", "\r\n") if windows else text
    file = parsed(text)
    ids = {line: f"m-{number:06d}" for number, line in enumerate(plain_lines(file))}
    named = with_ids(file, ids)
    stripped = [re.sub(r" ?\^m-\d{6}(?=\r?$)", "", line) for line in named.split("\n")]
    assert [line.rstrip() for line in stripped] == [line.rstrip() for line in text.split("\n")]
    again = parsed(named)
    assert {entry.memory.memory_id for entry in again.entries} == set(ids.values())
    assert plain_lines(again) == ()


@pytest.mark.parametrize("form", ["- 草莓", "  2. 草莓\n     很甜", "草莓\n很甜", "## 草莓\n很甜"])
def test_an_entry_of_any_form_is_rewritten_in_its_place(form: str) -> None:
    file = adopted(f"前言 ^m-first\n\n{form}\n\n# 其他\n- 葡萄")
    (_, entry, last) = file.entries
    stronger = replace(entry.memory, strength=77, extra=("色：红",))
    again = parsed(file.with_replaced(entry, stronger))
    assert [e.memory for e in again.entries] == [file.entries[0].memory, stronger, last.memory]
    changed = replace(entry.memory, judgment="# 不是标题\n- 不是列表 ^m-none")
    again = parsed(file.with_replaced(entry, changed))
    assert [e.memory for e in again.entries] == [file.entries[0].memory, changed, last.memory]
    again = parsed(file.without(entry))
    assert [e.memory for e in again.entries] == [file.entries[0].memory, last.memory]


def test_what_a_person_wrote_stays_byte_by_byte_where_only_the_strength_changes() -> None:
    text = "## 草莓 ^m-key1\n> 标签：水果\n\n```\n# 代码\n```\n>  引用\n\n尾"
    file = parsed(text)
    (entry,) = file.entries
    written = file.with_replaced(entry, replace(entry.memory, strength=55))
    assert written.startswith("## 草莓 ^m-key1\n")
    assert written.endswith("\n\n```\n# 代码\n```\n>  引用\n\n尾")


def test_a_reasoning_that_begins_with_a_list_stays_a_reasoning() -> None:
    for reasoning in ("- 甲\n- 乙", "1. 甲", "* 甲", "-", "2) 甲"):
        memory = Memory("m-key1", "x", NOW, reasoning=reasoning)
        file = parsed(render(memory))
        assert [e.memory for e in file.entries] == [memory]
        assert plain_lines(file) == ()


def test_an_id_of_ours_tells_its_time_and_one_of_a_persons_does_not() -> None:
    moment = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)
    made = make_id("m", moment)
    assert made_at(made) == moment
    assert parsed(f"- 草莓 ^{made}").entries[0].memory.created_at == moment
    for typed in ("m-key1", "m-0000000000000000", "m-zzzzzzzzzzzzzzzz", "m-aaaaaaaaaaaaaaal"):
        assert made_at(typed) is None
        assert parsed(f"- 草莓 ^{typed}").entries[0].memory.created_at == NOW


def examples() -> list[str]:
    """What vault.md shows of writing by hand."""
    page = (ROOT / "docs" / "vault.md").read_text("utf-8")
    return re.findall(r"^```md\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def test_the_example_for_people_says_what_they_would_think() -> None:
    (example,) = (one for one in examples() if "备用钥匙在门卫那里" in one)
    (item,) = (one for one in examples() if "女儿爱吃草莓 ^m-" in one)
    assert said(example) == [
        ("备用钥匙在门卫那里", "找姓王的那位拿，要说门牌号。"),
        ("女儿爱吃草莓", ""),
        ("爸爸不吃香菜，\n汤里也不要", ""),
        ("弟弟在学小提琴，每周六上课。", ""),
    ]
    (entry,) = parsed(item).entries
    assert (entry.memory.judgment, entry.memory.strength) == ("女儿爱吃草莓", 55)
    assert plain_lines(parsed(item)) == ()
