"""No name and no words of a private scope pass into a text that all scopes see."""

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
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC, Scope
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.manner_words import ALONE, KINDS
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.neutrality import Heard, heard, neutral
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.soul_text import Section, seed, with_rule
from astrbot_plugin_scoped_memory.llm_memory.soul.rules.vocabulary import LINES

pytestmark = [pytest.mark.unit, pytest.mark.property]

SEED = seed("zh")
NOTHING = Heard(frozenset(), ())
KNOWN = sorted(KINDS.keys() - ALONE)
HAN = st.text(
    [one for one in KNOWN if len(one) == 1 and not one.isascii()], min_size=8, max_size=30
)
WORDS = st.lists(
    st.sampled_from([one for one in KNOWN if one.isascii() and one.isalpha()]),
    min_size=4,
    max_size=12,
)
"""What rules are made of: any other word is refused where it stands alone."""
BETWEEN = st.sampled_from(["", " ", "，", "、\u200b", " x "])


def refused(rule: str, private: Heard | None, public: Heard = NOTHING, old: str = SEED) -> bool:
    return neutral(old, with_rule(old, Section.TONE, rule), private, public) is not None


@given(HAN, st.text(max_size=20), st.text(max_size=20), BETWEEN)
def test_a_run_of_eight_characters_is_refused(
    said: str, before: str, after: str, between: str
) -> None:
    private = Heard(frozenset(), ("别的", f"{before}{said}{after}"))
    assert refused(between.join(said), private)
    assert not refused(said[:7], private)
    assert not refused(said, private, Heard(frozenset(), (f"{said}",)))


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("先說結論，再慢慢講清楚理由和步驟", "先说结论，再慢慢讲清楚理由和步骤"),
        ("先说结论，再慢慢讲清楚理由和步骤", "先說結論，再慢慢講清楚理由和步驟"),
    ],
)
def test_a_run_in_the_other_characters_is_the_same(said: str, rule: str) -> None:
    assert refused(rule, Heard(frozenset(), (said,)))
    assert not refused(rule, Heard(frozenset(), (said,)), Heard(frozenset(), (rule,)))


@given(WORDS, st.sampled_from([" ", ", ", "\n", "  "]))
def test_four_words_in_a_row_are_refused(said: list[str], between: str) -> None:
    private = Heard(frozenset(), (between.join(said).upper(),))
    assert refused(" ".join(said), private)
    assert not refused(" ".join(said[:3]), private)
    assert not refused(" ".join(said), private, Heard(frozenset(), (" ".join(said),)))


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("小明", "对小明温和一些"),
        ("Kevin", "be kind to KEVIN"),
        ("Al", "be kind to al"),
        ("阿 Ben", "对阿ben温和一些"),
        ("family-group", "be kind in family group"),
    ],
)
def test_a_private_name_is_refused(name: str, rule: str) -> None:
    private = Heard(frozenset({name}), ())
    assert refused(rule, private)
    assert not refused(rule, private, Heard(frozenset({name}), ()))
    assert not refused(rule, private, Heard(frozenset(), (rule,)))
    assert not refused("温和一些", private)


def test_a_name_that_is_a_word_of_every_rule_or_one_character_names_nobody() -> None:
    private = Heard(frozenset({"温和", "a", "", "，", "A"}), ())
    assert not refused("温和一些", private)
    assert not refused("a little kinder", private)


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ("家里都管它叫嚯呀呀的", "别老说“嚯呀呀”"),
        ("她是个导购员", "别像导购似的说话"),
        ("他外号大鼹", "别老说“大鼹”"),
        ("the howdy partner joke", "Skip phrases like 'howdy partner'"),
        ("家里人叫她琪琪酱", "别老说“琪、琪、酱”"),
        ("家里人叫她琪琪酱", "别老说“琪”“琪”“酱”"),
        ("家里人叫她琪琪酱", "别老说“鼹琪琪酱”"),
        ("the code is zqkabc", "Stop saying “zqk abc”"),
        ("the code is zqkabc", "Stop saying “zqk-abc”"),
        ("the code is zqkabc", "Stop saying “xzqkabc”"),
    ],
)
def test_a_cited_word_is_refused_that_a_private_scope_alone_has(said: str, rule: str) -> None:
    private = Heard(frozenset(), ("别的", said))
    assert refused(rule, private)
    assert not refused(rule, private, Heard(frozenset(), (said,)))
    assert not refused(rule, Heard(frozenset(), ("说话随意一点，别老说“好的”", "nobody else")))


def test_a_face_and_known_words_are_cited_whoever_has_them() -> None:
    private = Heard(frozenset(), ("她爱发 QAQ (>_<) 和“您好”", "short"))
    heart = Heard(frozenset(), ("my heart and my ear", "亲戚来了"))
    for rule in ("Stop saying 'sweetheart'", "Stop saying 'dear'", "别老说“亲”"):
        assert not refused(rule, heart)
    for rule in ("少用 T_T 和 QAQ 这类表情", "少用颜文字 (>_<)", "不要每次都用“您好”开头"):
        assert not refused(rule, private)


def test_memories_that_are_not_all_known_refuse() -> None:
    assert refused("温和一些", None)


def test_rules_in_force_and_those_of_the_vocabulary_are_not_asked_about() -> None:
    private = Heard(frozenset(), ("\n".join([*LINES, "说话的时候温和一些"]),))
    for line in LINES:
        assert not refused(line, private)
    old = with_rule(SEED, Section.TONE, "说话的时候温和一些")
    assert not refused(sorted(LINES)[0], private, old=old)
    assert refused("说话的时候温和一些", private)


def test_the_finding_names_no_match_and_no_line() -> None:
    private = Heard(frozenset({"小明"}), ())
    found = neutral(SEED, with_rule(SEED, Section.TONE, "对小明好"), private, NOTHING)
    assert found is not None
    assert found.lines == ()
    assert "小明" not in found.said.text("zh") + found.said.text("en")


def test_a_catalogue_is_parted_by_who_may_read() -> None:
    def stored(scope: Scope, who: str, words: str) -> StoredMemory:
        moment = datetime(2026, 11, 22, tzinfo=UTC)
        memory = Memory("m-0001", words, moment, tags=("标签",), provenance=Provenance(who=who))
        return StoredMemory(scope, "preferences.md", memory)

    secret = Scope.parse("family")
    private, public = heard(
        [stored(PUBLIC, "阿甲", "公开的话"), stored(secret, "阿乙", "家里的话")],
        ["外号"],
        ["人设"],
    )
    assert private.names == {"阿乙", "family", "外号"}
    assert public.names == {"阿甲"}
    assert private.texts == ("家里的话\n标签",)
    assert public.texts == ("人设", "公开的话\n标签")
