"""No name and no words in a row that private places hold pass into a text that all scopes see."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    Provenance,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.passages import NoteChunk
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Place, Scope
from astrbot_plugin_scoped_memory.llm_memory.soul.private_words import (
    Told,
    repeated,
    told_anywhere,
)
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import manners, seed, with_rule

pytestmark = [pytest.mark.unit, pytest.mark.property]

SEED = seed("zh")
HAN = st.text("说话时要温和再慢讲清楚理由和步骤", min_size=8, max_size=30)
WORDS = st.lists(st.sampled_from(["be", "kind", "calm", "short", "clear"]), min_size=4, max_size=12)


def private(text: str = "", *names: str) -> Told:
    return Told(text, is_open=False, names=names)


def public(text: str = "", *names: str) -> Told:
    return Told(text, is_open=True, names=names)


def refused(rule: str, *told: Told, old: str = SEED) -> bool:
    return repeated(old, with_rule(old, rule), told) != ()


@given(
    HAN.map(lambda said: (said, "", 7)) | WORDS.map(lambda said: (said, " ", 3)),
    st.text(max_size=20),
    st.sampled_from(["", " ", "，", "、\u200b", "\n"]),
)
def test_eight_characters_or_four_words_in_a_row_are_refused(
    row: tuple[str | list[str], str, int], before: str, between: str
) -> None:
    said, blank, few = row
    told = private(f"{before} {(between + blank).join(said).upper()} {before}")
    assert refused(blank.join(said), told)
    assert not refused(blank.join(said[:few]), told)
    assert not refused(blank.join(said), told, public(blank.join(said)))


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        (private("", "小明"), "对小明温和一些"),
        (private("", "Kevin"), "be kind to KEVIN"),
        (private("", "阿 Ben"), "对阿ben温和一些"),
        (private("", "family-group"), "be kind in family group"),
        (private("", "陳小龍"), "像陈小龙一样"),
        (private("先說結論，再慢慢講清楚理由和步驟"), "先说结论，再慢慢讲清楚理由和步骤"),
        (private("先说结论，再慢慢讲清楚理由和步骤"), "先說結論，再慢慢講清楚理由和步驟"),
    ],
)
def test_a_private_name_is_refused_and_the_other_characters_are_the_same(
    told: Told, rule: str
) -> None:
    (finding,) = repeated(SEED, with_rule(SEED, rule), [told])
    assert not any(one in str(finding) for one in told.names), "it is another scope's"
    assert not refused(rule, told, public("", *told.names), public(told.text))
    assert not refused(rule, told, public(rule))
    assert not refused("温和一些", told)
    assert not refused("a 对大家温和一些，", private("", "a", "", "，", "大"))


def test_rules_in_force_and_those_of_the_vocabulary_are_not_asked_about() -> None:
    told = private("\n".join([*manners(), "说话的时候温和一些"]))
    assert not any(refused(line, told) for line in manners())
    old = with_rule(SEED, "说话的时候温和一些")
    assert not refused(sorted(manners())[0], told, old=old)
    assert repeated(SEED, old, [told])
    assert repeated(SEED, old, None), "while not all memories are known"


def test_what_is_known_is_open_to_who_may_read_it() -> None:
    moment = datetime(2026, 11, 22, tzinfo=UTC)

    def memory(who: str, words: str) -> Memory:
        return Memory("m-0001", words, moment, tags=("标签",), provenance=Provenance(who=who))

    def note(folder: Place | None, words: str) -> NoteChunk:
        assert folder is not None
        return NoteChunk("n-1", folder, "旅行.md", ("一",), words, 1, 1, moment)

    family, own = Scope.parse("family"), Place.of_folder("猫娘")
    told = told_anywhere(
        [
            StoredMemory(PUBLIC, "preferences.md", memory("阿甲", "公开的话")),
            StoredMemory(family, "preferences.md", memory("阿乙", "家里的话")),
        ],
        [note(own, "自己的"), note(family, "家里的"), note(Place.of_folder("犬娘"), "别人的")],
        [memory("阿丙", "忘掉的话")],
        [PUBLIC, family],
        own,
    )
    assert set(told) == {
        public("\n".join(manners())),
        private("", "family"),
        public("公开的话\n标签", "阿甲"),
        private("家里的话\n标签", "阿乙"),
        private("忘掉的话\n标签", "阿丙"),
        public("旅行.md\n一\n自己的"),
        private("旅行.md\n一\n家里的"),
        private("旅行.md\n一\n别人的"),
    }
