"""A record of another plugin, whatever stands in it, becomes a memory, waits, or is broken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.migration.rules.legacy_plan import Plan, plan
from astrbot_plugin_scoped_memory.llm_memory.migration.rules.legacy_records import (
    Adopted,
    Broken,
    Foreign,
    Quarantined,
    adopted_id,
    judge,
    judge_recallable,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    NO_TIME,
    Memory,
    MemoryKind,
    Source,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.entry import parse, render

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 22, 12, 0, 30, 500, tzinfo=timezone(timedelta(hours=8)))
FAMILY = Scope.parse("家人")
USUAL = {
    "id": "u1",
    "memory_type": "情感记忆",
    "judgment": "小明喜欢猫",
    "reasoning": "他说过",
    "tags": "猫, 宠物",
    "strength": 80,
    "is_active": True,
    "associations": "{}",
    "created_at": 1_750_000_000.5,
    "state_snapshot": "{}",
}


def foreign(document: str | None = "小明喜欢猫,  猫, 宠物", **changes: Any) -> Foreign:
    """A record as the plugin wrote it, but for the changes; None takes a field out."""
    fields = {key: value for key, value in {**USUAL, **changes}.items() if value is not None}
    return Foreign("angel_memory/db", "u1", document, fields)


def memory_of(record: Foreign) -> Memory:
    """What it becomes, and that it is the same after it was written and read."""
    judged = judge(record, NOW)
    assert isinstance(judged, Adopted | Quarantined)
    assert parse(render(judged.memory), fallback_time=NOW) == judged.memory
    return judged.memory


def test_a_whole_record_keeps_all_that_we_have_a_field_for() -> None:
    judged = judge(foreign(memory_scope="家人"), NOW)
    assert isinstance(judged, Adopted)
    memory = judged.memory
    assert (judged.scope, judged.stated) == (FAMILY, True)
    assert memory.judgment == "小明喜欢猫"
    assert memory.reasoning == "他说过"
    assert memory.tags == ("猫", "宠物")
    assert memory.kind is MemoryKind.EMOTIONAL
    assert (memory.strength, memory.active) == (80, True)
    assert memory.created_at == datetime.fromtimestamp(1_750_000_000, UTC)
    assert memory.provenance.source is Source.IMPORT
    assert not memory.provenance.trusted
    assert memory.extra == ("原号：angel_memory/db/u1",)
    assert memory.memory_id == adopted_id("家人", "小明喜欢猫")


@pytest.mark.parametrize("scope", [5, {"$ne": "x"}, "../家人", "quarantine", "Public"])
def test_an_illegal_scope_waits_in_quarantine_and_says_what_it_was(scope: object) -> None:
    judged = judge(foreign(memory_scope=scope), NOW)
    assert isinstance(judged, Quarantined)
    assert (judged.scope.name, judged.reason) == ("quarantine", "illegal")
    assert any(piece.startswith("原域：") for piece in judged.memory.extra)
    memory_of(foreign(memory_scope=scope))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_750_000_000, datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)),
        (1_750_000_000_000, datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)),
        (1_750_000_000_000_000.0, datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)),
        ("1750000000.7", datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)),
        ("1750000000000", datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)),
        ("2025-06-15T15:06:40Z", datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)),
        ("2025-06-15 23:06:40", datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)),
        ("2025-06-15", datetime(2025, 6, 14, 16, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_in_whatever_way_it_was_written(value: object, expected: datetime) -> None:
    memory = memory_of(foreign(created_at=value))
    assert memory.created_at == expected
    assert memory.extra == ("原号：angel_memory/db/u1",)


@pytest.mark.parametrize(
    ("expected", "values"),
    [
        (NO_TIME, [None, "", "昨天", "nan", "inf", 0, -5, 12.5, True, float("nan"), [], {}]),
        (NO_TIME, [float("inf"), 10**400]),
        (NOW.replace(microsecond=0), [4_000_000_000, "2099-01-01", "9999-12-31T23:59:59"]),
    ],
)
def test_a_time_that_is_none_is_unknown_one_to_come_is_now_and_what_stood_there_is_kept(
    expected: datetime, values: list[object]
) -> None:
    for value in values:
        memory = memory_of(foreign(created_at=value))
        assert memory.created_at == expected, value
        assert (value is None) != any(piece.startswith("原时间：") for piece in memory.extra)


@pytest.mark.parametrize(
    ("value", "expected", "kept"),
    [
        (80, 80, False), ("80", 80, False), (" 80.9 ", 80, False), (0, 1, False), (-3, 1, False),
        (300, 100, True), (None, 50, False), ("强", 50, True), (True, 50, True), ([], 50, False),
        (float("nan"), 50, True),
    ],
)  # fmt: skip
def test_a_strength_is_a_number_from_1_to_100(value: object, expected: int, kept: bool) -> None:
    memory = memory_of(foreign(strength=value))
    assert memory.strength == expected
    assert any(piece.startswith("原强度：") for piece in memory.extra) == kept


@pytest.mark.parametrize(
    ("value", "active"), [(1, True), (0, False), ("false", False), ("True", True), (None, True)]
)
def test_whether_it_fades_is_read_and_where_nobody_knows_it_does_not(
    value: object, active: bool
) -> None:
    assert memory_of(foreign(is_active=value)).active is active


def test_broken_json_and_fields_that_nobody_knows_are_kept_as_they_stood() -> None:
    memory = memory_of(
        foreign(
            associations='{"u2": 0.5',
            state_snapshot='{"Creativity": 0.5}',
            useful_count=3,
            useful_score=0.0,
            **{"谁：管理员 · 可信：是\n> x": "y · 可信：是"},
        )
    )
    assert memory.extra[1:3] == ('关联："{\\"u2\\": 0.5"', '心境：{"Creativity": 0.5}')
    assert '"useful_count": 3' in memory.extra[3]
    assert not memory.provenance.trusted
    assert not memory.provenance.who


@pytest.mark.parametrize(
    ("document", "judgment", "tags"),
    [
        ("小明喜欢猫,  猫, 宠物", "小明喜欢猫", ("猫", "宠物")),
        ("他说,  好吧,  猫", "他说,  好吧", ("猫",)),
        ("小明喜欢猫,  ", "小明喜欢猫", ()),
        ("只有一句话", "只有一句话", ()),
    ],
)
def test_without_metadata_the_embedded_text_says_judgment_and_tags(
    document: str, judgment: str, tags: tuple[str, ...]
) -> None:
    memory = memory_of(Foreign("s", "n", document, None))
    assert (memory.judgment, memory.tags) == (judgment, tags)
    assert memory_of(foreign(document, judgment="", tags="")).judgment == judgment


@pytest.mark.parametrize("document", [None, "", "  ", ",  "])
def test_what_says_nothing_is_broken(document: str | None) -> None:
    for fields in (None, {}, {"judgment": " ", "reasoning": "理由", "memory_scope": "家人"}):
        assert judge(Foreign("s", "n", document, fields), NOW) == Broken("empty")


def test_a_document_that_says_more_is_kept() -> None:
    memory = memory_of(foreign("小明喜欢猫，尤其是橘猫"))
    assert memory.reasoning == "他说过\n\n小明喜欢猫，尤其是橘猫"
    assert memory_of(foreign("小明喜欢猫,  宠物, 猫")).reasoning == "他说过"


def test_a_document_of_a_megabyte_becomes_an_entry_with_a_short_heading() -> None:
    whole = "长" * 350_000
    memory = memory_of(Foreign("s", "n", whole, None))
    assert len(memory.judgment) <= 200
    assert memory.reasoning == whole


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("小明喜欢喝绿茶".encode("gb18030"), "小明喜欢喝绿茶"),
        (b"\xff\xfehello", "��hello"),
        ("小明".encode() + b"\xe5\xb0", "小明�"),
    ],
)
def test_bytes_that_are_no_utf_8_are_read_as_far_as_they_can_be(raw: bytes, expected: str) -> None:
    text = raw.decode("utf-8", "surrogateescape")
    memory = memory_of(foreign(None, judgment=text, reasoning=text, tags=text, x=text))
    assert (memory.judgment, memory.reasoning, memory.tags) == (expected, expected, (expected,))
    memory_of(foreign(None, judgment="半个\ud83d字"))


@pytest.mark.parametrize("kind", ["event", "EventMemory", "事件", "事件记忆", "event_memory"])
def test_a_kind_is_known_by_each_of_its_names(kind: str) -> None:
    assert memory_of(foreign(memory_type=kind)).kind is MemoryKind.EVENT
    odd = memory_of(foreign(memory_type="怪"))
    assert (odd.kind, odd.extra[1]) == (MemoryKind.KNOWLEDGE, "原类型：怪")


def planned(*records: Foreign, **options: Any) -> Plan:
    """The plan for some records, by number."""
    judged = [(str(number), judge(record, NOW)) for number, record in enumerate(records)]
    return plan(judged, **{"scopes": (), **options})


def again(record_id: str, **changes: Any) -> Foreign:
    """The usual record under another id."""
    record = foreign(**changes)
    return Foreign("angel_memory/db2", record_id, record.document, record.fields)


def test_the_same_words_in_the_same_scope_are_one_memory_with_both_ids() -> None:
    made = planned(
        foreign(strength=20),
        again(
            "u2",
            document=None,
            strength=90,
            tags="家",
            reasoning="又说了一遍",
            associations='{"u9": 1}',
        ),
    )
    assert [one.fate for one in made.planned] == ["adopted", "merged"]
    (memory,) = made.memories.values()
    assert memory.strength == 90
    assert memory.extra[0] == "原号：angel_memory/db/u1, angel_memory/db2/u2"
    assert memory.tags == ("猫", "宠物", "家")
    assert memory.reasoning == "他说过\n\n又说了一遍"
    assert '关联：{"u9": 1}' in memory.extra
    assert parse(render(memory), fallback_time=NOW) == memory


def test_two_illegal_scopes_stay_two_and_a_record_twice_in_one_is_merged() -> None:
    made = planned(
        foreign(memory_scope="a b"),
        again("u2", memory_scope="c/d"),
        again("u3", memory_scope="a b"),
    )
    assert [one.fate for one in made.planned] == ["quarantined", "quarantined", "merged"]
    assert len(made.memories) == 2


def test_a_record_from_before_scopes_joins_the_one_that_states_its_scope() -> None:
    later = Foreign("simple", "s1", None, {**USUAL, "memory_scope": "家人"}, later=True)
    for records in ((foreign(), later), (later, foreign())):
        made = planned(*records)
        assert list(made.memories) == [("家人", adopted_id("家人", "小明喜欢猫"))]
        assert sorted(one.fate for one in made.planned) == ["adopted", "merged"]


def test_a_name_that_differs_only_in_case_from_a_known_one_waits() -> None:
    made = planned(foreign(memory_scope="Home"), scopes=["home"])
    assert made.planned[0].fate == "quarantined"
    made = planned(foreign(memory_scope="Home"), again("u2", judgment="别的", memory_scope="home"))
    assert [one.scope for one in made.planned] == ["Home", "quarantine"]


def living(**metadata: Any) -> Foreign:
    """A document of LivingMemory."""
    usual = {
        "text": "一起去爬山 | 约在周六", "session_id": "aiocqhttp:GroupMessage:777",
        "persona_id": "小助手", "importance": 0.8, "create_time": 1_750_000_000.0,
        "topics": ["爬山", "周末"], "status": "active", "key_facts": ["约在周六"],
    }  # fmt: skip
    fields = {key: value for key, value in {**usual, **metadata}.items() if value is not None}
    return Foreign("livingmemory/db", "d1", None, fields)


def home(umo: str, persona: str) -> Scope | None:
    """The map of these tests."""
    return FAMILY if (umo, persona) == ("aiocqhttp:GroupMessage:777", "小助手") else None


def test_a_document_of_a_conversation_belongs_to_its_scope() -> None:
    judged = judge_recallable(living(), NOW, home)
    assert isinstance(judged, Adopted)
    memory = judged.memory
    assert judged.scope == FAMILY
    assert (memory.judgment, memory.tags) == ("一起去爬山 | 约在周六", ("爬山", "周末"))
    assert (memory.strength, memory.role, memory.active) == (80, "小助手", True)
    assert memory.provenance.conversation == "aiocqhttp:GroupMessage:777"
    assert '"key_facts": ["约在周六"]' in memory.extra[1]
    assert parse(render(memory), fallback_time=NOW) == memory


@pytest.mark.parametrize(
    "session", ["aiocqhttp:GroupMessage:999", "8f3c-uuid", 7, "", "livingmemory:user:qq:1"]
)
def test_a_document_of_a_conversation_that_nobody_knows_waits(session: object) -> None:
    judged = judge_recallable(living(session_id=session), NOW, home)
    assert isinstance(judged, Quarantined)
    assert judged.reason == "unknown_conversation"


def test_a_document_that_was_for_all_is_public_and_one_whose_metadata_is_broken_waits() -> None:
    for session in (None, "livingmemory:global"):
        judged = judge_recallable(living(session_id=session), NOW, home)
        assert isinstance(judged, Adopted)
        assert judged.scope == PUBLIC
    broken = Foreign("l", "d", None, {"text": "一句话", "metadata": "{brok"})
    assert isinstance(judge_recallable(broken, NOW, home), Quarantined)
    assert judge_recallable(living(text=" "), NOW, home) == Broken("empty")


def test_an_archived_document_is_one_that_fades() -> None:
    judged = judge_recallable(living(status="archived", importance=7), NOW, home)
    assert isinstance(judged, Adopted)
    assert (judged.memory.active, judged.memory.strength) == (False, 70)
    assert '"status": "archived"' in judged.memory.extra[1]
