"""A scan finds what shares words with a question, and nothing where nothing is shared."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.lexical_port import LexicalQuery, LexicalRecord
from astrbot_plugin_scoped_memory.llm_memory.index.lexical_scan import LexicalScan
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.llm_memory.text.tokenizer import Tokenizer

pytestmark = pytest.mark.unit

MEMORIES = (
    "奶奶对花生过敏",
    "图书馆周一闭馆",
    "小明喜欢喝美式咖啡",
    "公司周五下午三点开周会",
    "服务器的端口是8443",
    "Anna prefers green tea over coffee",
)
LEAST = 0.36
SCAN = LexicalScan(Tokenizer(use_jieba=False))


def found(query: str, memories: tuple[str, ...] = MEMORIES) -> list[str]:
    """Memories that speak of much of the question, best first."""
    records = [LexicalRecord(Key("家", text), text, text) for text in memories]
    shares = SCAN.coverages(LexicalQuery(query, query), records)
    ranked = sorted(zip(shares, memories, strict=True), reverse=True)
    return [text for share, text in ranked if share >= LEAST]


@pytest.mark.parametrize(
    ("query", "memory"),
    [
        ("奶奶能吃花生吗", "奶奶对花生过敏"),
        ("图书馆哪天闭馆", "图书馆周一闭馆"),
        ("服务器用哪个端口", "服务器的端口是8443"),
        ("小明喜欢喝什么", "小明喜欢喝美式咖啡"),
        ("does Anna take coffee or TEA?", "Anna prefers green tea over coffee"),
    ],
)
def test_a_question_finds_its_memory(query: str, memory: str) -> None:
    assert found(query)[0] == memory


@pytest.mark.parametrize(
    "query", ["你好", "哈哈哈哈", "今天天气怎么样", "好的谢谢", "what's up", "👍", "", "？！"]
)
def test_small_talk_finds_nothing(query: str) -> None:
    assert found(query) == []


def test_what_stands_around_a_record_counts_too_and_nothing_asks_nothing() -> None:
    said = LexicalRecord(Key("家", "1"), "1", "是的，周五", context="周会是几点")
    (share,) = SCAN.coverages(LexicalQuery("周会是几点", "周会是几点"), [said])
    assert share > 0
    assert SCAN.coverages(LexicalQuery("周会", "周会"), []) == []
