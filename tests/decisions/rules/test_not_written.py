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
MING, ANN = ("小明", "aiocqhttp:10001"), ("Ann", "aiocqhttp:10001")
OWNER, AGENT = ("站长", "webchat:astrbot"), ("cursor", "mcp:agent")


def of(judgment: str, who: tuple[str, str] = MING) -> Memory:
    where = "mcp:project:lists" if who is AGENT else "aiocqhttp:GroupMessage:777"
    return Memory("m-aaaa", judgment, NOW, provenance=Provenance(*who, where))


@pytest.mark.parametrize(
    ("who", "judgment", "found"),
    [
        (MING, "检索面用 PostgreSQL，连接池已经有了", ()),
        (MING, "从 2027 年 5 月 1 日起只支持 Python 3.12", ()),
        (MING, "接口超过 2 秒就算超时", ()),
        (MING, "We release on the first Monday of a quarter", ()),
        (MING, "用 PostgreSQL 还是 SQLite？", ("dispute", "？")),
        (MING, "Storage: TBD", ("dispute", "TBD")),
        (MING, "暂时用 SQLite", ("stale", "暂时")),
        (MING, "We use SQLite for now", ("stale", "for now")),
        (MING, "后端组的检索面用 PostgreSQL", ("names_speaker", "后端组")),
        (ANN, "We planned the manual", ()),
        (ANN, "Ann's plan is taken", ("names_speaker", "Ann")),
        (MING, "A小明B 的方案", ("names_speaker", "小明")),
        (MING, "小\u200d明的方案", ("names_speaker", "小明")),
        (OWNER, "The bots run on AstrBot", ("names_speaker", "astrbot")),
        (AGENT, "Lists use cursor pagination, and the agent retries", ()),
        (AGENT, "后端组的列表用游标分页", ("names_speaker", "后端组")),
    ],
)
def test_what_is_not_written_has_its_reason(
    who: tuple[str, str], judgment: str, found: tuple[str, ...]
) -> None:
    """And a name is told from a word that holds it."""
    memory = of(judgment, who)
    assert list(objections(memory, TEAM)) == ([found] if found else [])
    assert account_in(memory) == ""


def test_the_name_of_the_public_scope_is_a_plain_word() -> None:
    assert list(objections(of("Use a public API"), PUBLIC)) == []


@pytest.mark.parametrize("words", ["端口 100", "群 777 里说的", "问 10001", "aiocqhttp:10001 定的"])
def test_an_account_is_found_and_a_number_that_is_none_is_not(words: str) -> None:
    assert bool(account_in(of(words))) is ("10001" in words)


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("", ""),
        ("12", "#12"),
        ("#12", "#12"),
        ("o/r#12", "o/r#12"),
        ("https://example.org/i/12", "https://example.org/i/12"),
        ("#12\n## D-0001", None),
        ("1234567890", None),
        ("see the wiki", None),
        ("javascript:alert(1)", None),
        ("https://x y", None),
    ],
)
def test_a_reference_is_a_number_or_an_address(given: str, read: str | None) -> None:
    found = read_reference(Reference(issue=given))
    assert (found.issue if found else None) == read
