"""The frame of a question is no content: the kind of thing asked for need not be said."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.lexical.lexical_index import SqliteLexicalIndex
from astrbot_plugin_scoped_memory.llm_memory.index.lexical.question import NOUN, Question
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_port import LexicalQuery, LexicalRecord
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.models.scope import Scope, ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.text.question_frames import without_frame
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit

TOKENIZER = Tokenizer()


def left(question: str, *, bare: bool = False) -> str:
    """What is asked about, without blanks."""
    return "".join(without_frame(question, TOKENIZER.cut, bare=bare).split())


@pytest.mark.parametrize(
    ("question", "gone"),
    [
        ("豆豆的狗粮是什么牌子", "什么牌子"),
        ("外婆家那只鹦鹉叫什么名字？", "什么名字"),
        ("堂哥现在在哪家公司上班", "哪家公司上班"),
        ("老周在哪儿工作", "哪儿工作"),
        ("我们坐的是哪趟车次", "哪趟车次"),
        ("阿秀她男朋友做什么工作的", "什么工作"),
        ("小区停电到几点", "几点"),
        ("瑜伽课星期几上", "星期几"),
        ("体检约在周几", "周几"),
        ("外公哪一天出院", "哪一天"),
        ("弟弟量了多高", "多高"),
        ("物业费交了多少钱", "多少钱"),
        ("绿萝多久浇一次", "多久|一次"),
        ("老师多大年纪", "多大年纪"),
        ("这是第几次搬家", "第几次"),
        ("表姐家有几个孩子", "几个孩子"),
        ("姑姑的生日是哪天", "生日|哪天"),
        ("新房子的地址是什么", "地址|什么"),
        ("门禁密码是什么", "密码|什么"),
        ("你知道隔壁奶奶的名字吗", "名字"),
        ("团长给小狗取了什么名", "取|什么名"),
        ("奶奶是哪里人", "哪里人"),
        ("大伯不能碰哪种调料", "哪种调料"),
        ("叔叔要的车是什么颜色的", "什么颜色"),
        ("下一场在哪个体育馆打", "哪个体育馆"),
        ("谁管仓库钥匙", "谁"),
    ],
)
def test_a_chinese_question_is_left_with_what_it_is_about(question: str, gone: str) -> None:
    kept = question
    for words in gone.split("|"):
        kept = kept.replace(words, "", 1)
    assert left(question) == kept


@pytest.mark.parametrize(
    "text",
    [
        "他改名字了吗",
        "她换工作了吗",
        "公司今天放假",
        "这家公司上班太远了",
        "车次改签以后要重新取票",
        "为什么上班迟到",
        "可可对虾过敏",
        "前几天下雨了",
        "好几次都没赶上",
        "几乎没人来",
        "帮我写几句祝福语",
        "推荐几首轻音乐",
        "展览开幕了吗",
        "the company called me yesterday",
        "I know the name of that street",
        "she named the boat after her mother",
        "what a lovely day",
        "Tell me what Kofi works as",
        "Is the train late?",
        "I like this kind of music",
        "What happened to the bike?",
    ],
)
def test_the_same_words_anywhere_else_are_content(text: str) -> None:
    assert left(text) == "".join(text.split())


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What is the name of Priya's cat?", "What is the of Priya's cat?"),
        ("Which company does Ines work for now?", "Which does Ines for now?"),
        ("Where does my cousin live these days?", "Where does my cousin these days?"),
        ("How many times did we paint the fence?", "How did we paint the fence?"),
        ("What kind of tea does Grandpa drink?", "What does Grandpa drink?"),
        ("what time does the ferry leave", "what does the ferry leave"),
        ("Do you know what time the ferry leaves?", "Do you know what the ferry leaves?"),
        ("Which train leaves at nine?", "Which leaves at nine?"),
        ("What's Lena's favourite colour?", "What's Lena's ?"),
        ("Who is Marek's dentist?", "Who is Marek's ?"),
        ("What is our canary called?", "What is our canary ?"),
        ("What did they name the boat?", "What did they the boat?"),
        ("How often should I water the fern?", "How should I water the fern?"),
        ("How old is the landlord's son?", "How is the landlord's son?"),
        ("What is the price of the season ticket?", "What is the of the season ticket?"),
        ("How many sugars does Ines take?", "How many does Ines take?"),
    ],
)
def test_an_english_question_is_left_with_what_it_is_about(question: str, kept: str) -> None:
    assert left(question) == "".join(kept.split())


def test_a_verb_behind_what_is_no_noun() -> None:
    assert left("小米对什么过敏") == "小米对过敏"
    assert left("什么让他生气了") == "让他生气了"
    assert left("什么时候出发") == "时候出发"


@given(st.text(max_size=60))
def test_nothing_but_blanks_takes_the_place_of_a_frame(text: str) -> None:
    blanked = without_frame(text, TOKENIZER.cut)
    assert len(blanked) == len(text)
    assert all(now in (was, " ") for was, now in zip(text, blanked, strict=True))
    some = without_frame(text, TOKENIZER.cut, bare=True)
    assert all(one in (was, now) for was, one, now in zip(text, some, blanked, strict=True))


def test_a_noun_that_narrows_is_asked_for_by_half() -> None:
    question = Question.read(TOKENIZER, "大伯不能碰哪种调料", "大伯不能碰哪种调料")
    assert question.frame["调料"] == NOUN
    assert "大伯" not in question.frame
    name = Question.read(TOKENIZER, "鹦鹉叫什么名字", "鹦鹉叫什么名字")
    assert set(name.frame.values()) == {0.0}


def test_where_nothing_else_is_asked_the_frame_is_what_is_asked() -> None:
    assert Question.read(TOKENIZER, "在哪家公司上班", "在哪家公司上班").frame == {}
    assert Question.read(TOKENIZER, "what time is it", "what time is it").frame == {}


def test_a_question_with_a_frame_is_answered_as_without(tmp_path: Path) -> None:
    index = SqliteLexicalIndex(tmp_path / "a.sqlite", Tokenizer())
    index.open()
    said = ["外婆的鹦鹉叫阿绿", "堂哥跳槽去了远帆科技", "Our canary is Biscuit"]
    said += [f"第{n}天 the cellar was swept 地下室打扫过了" for n in range(30)]
    index.write([LexicalRecord(Key("家", f"m-{n}"), "1", text) for n, text in enumerate(said)], [])

    def share(question: str, memory: int) -> float:
        query = LexicalQuery(question, question)
        found = index.search(query, ScopeFilter.reading_as(Scope.parse("家")), 9).found
        return {match.key.memory_id: match.coverage for match in found}[f"m-{memory}"]

    assert share("鹦鹉叫什么名字？", 0) == pytest.approx(share("鹦鹉叫什么？", 0))
    assert share("堂哥现在在哪家公司上班？", 1) == pytest.approx(share("堂哥现在在哪？", 1))
    assert share("What is the name of the canary?", 2) == pytest.approx(share("the canary?", 2))
    index.close()
