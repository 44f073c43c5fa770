"""What a record should not say, and that a plain decision is none of it."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.decisions.rules.not_written import (
    account_in,
    objections,
    read_reference,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Provenance
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import Reference
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 23, 12, 40, tzinfo=UTC)
TEAM = Scope.parse("后端组")


def memory(judgment: str) -> Memory:
    """Of 小明 in a group."""
    said = Provenance("小明", "aiocqhttp:10001", "aiocqhttp:GroupMessage:777")
    return Memory("m-aaaa", judgment, NOW, provenance=said)


def codes(judgment: str, scope: Scope = TEAM) -> list[str]:
    return [code for code, _ in objections(memory(judgment), scope)]


@pytest.mark.parametrize(
    ("judgment", "found"),
    [
        ("检索面用 PostgreSQL，连接池已经有了", []),
        ("Search runs on PostgreSQL", []),
        ("从 2027 年 5 月 1 日起只支持 Python 3.12", []),
        ("接口超过 2 秒就算超时", []),
        ("We release on the first Monday of a quarter", []),
        ("用 PostgreSQL 还是 SQLite？", ["dispute"]),
        ("存储用哪个待定", ["dispute"]),
        ("Storage: TBD", ["dispute"]),
        ("暂时用 SQLite", ["stale"]),
        ("We use SQLite for now", ["stale"]),
        ("小明说检索面用 PostgreSQL", ["names_speaker"]),
        ("后端组的检索面用 PostgreSQL", ["names_speaker"]),
    ],
)
def test_what_is_not_written_has_its_reason(judgment: str, found: list[str]) -> None:
    assert codes(judgment) == found


@pytest.mark.parametrize(
    ("person", "who", "judgment", "named"),
    [
        ("aiocqhttp:10001", "Ann", "We planned the manual", ""),
        ("aiocqhttp:10001", "Ann", "Ann's plan is taken", "Ann"),
        ("aiocqhttp:10001", "小明", "A小明B 的方案", "小明"),
        ("aiocqhttp:10001", "小明", "小\u200d明的方案", "小明"),
        ("webchat:astrbot", "站长", "The bots run on AstrBot", "astrbot"),
        ("mcp:agent", "cursor", "Lists use cursor pagination, and the agent retries", ""),
        ("mcp:agent", "cursor", "后端组的列表用游标分页", "后端组"),
    ],
)
def test_a_name_is_told_from_a_word_that_holds_it(
    person: str, who: str, judgment: str, named: str
) -> None:
    said = Provenance(who, person, "mcp:project:lists" if person.startswith("mcp") else "")
    proposal = Memory("m-aaaa", judgment, NOW, provenance=said)
    against = objections(proposal, TEAM)
    assert [words for _, words in against] == ([named] if named else [])
    assert account_in(proposal) == ""


def test_the_name_of_the_public_scope_is_a_plain_word() -> None:
    assert codes("Use a public API", PUBLIC) == []


@pytest.mark.parametrize("words", ["群 777 里说的", "问 10001", "aiocqhttp:10001 定的"])
def test_an_account_is_found_and_a_number_that_is_none_is_not(words: str) -> None:
    assert bool(account_in(memory(words))) is ("10001" in words)
    assert account_in(memory("端口 100")) == ""


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("", ""),
        ("12", "#12"),
        ("#12", "#12"),
        ("o/r#12", "o/r#12"),
        ("https://example.org/i/12", "https://example.org/i/12"),
        ("#12\n## D-0001", None),
        ("see the wiki", None),
        ("javascript:alert(1)", None),
        ("https://x y", None),
    ],
)
def test_a_reference_is_a_number_or_an_address(given: str, read: str | None) -> None:
    found = read_reference(Reference(issue=given))
    assert (found.issue if found else None) == read
