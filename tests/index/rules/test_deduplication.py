"""The neighbour proposes, guards decide: no number, negation or person is ever merged away."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import (
    CAUTIOUS,
    Append,
    Decision,
    Reinforce,
    Replace,
    decide,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    Memory,
    MemoryKind,
    Provenance,
    Source,
    StoredMemory,
)
from astrbot_plugin_scoped_memory.llm_memory.models.scope import PUBLIC

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 18, tzinfo=UTC)
PAIRS = Path(__file__).parents[2] / "data" / "dedup_pairs.jsonl"
MERGEABLE = {"same": Reinforce, "paraphrase": Reinforce, "extension": Replace}


@dataclass(frozen=True)
class Pair:
    """One labelled line."""

    kind: str
    lang: str
    old: str
    new: str
    old_who: str = "小明"
    new_who: str = "小明"


def parsed(row: dict[str, Any]) -> Pair:
    return Pair(kind=row.pop("class"), **row)


LABELLED = [parsed(json.loads(line)) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
NEGATIONS = ["不", "没", "别", "无", "未", "从不", "not", "never", "no", "without"]
TEXTS = sorted({text for pair in LABELLED for text in (pair.old, pair.new)})


def said(text: str, who: str = "小明", person: str = "", **more: Any) -> Memory:
    origin = Provenance(who=who, person=person)
    return Memory("m-2", text, **{"created_at": NOW, "provenance": origin, **more})


def kept(text: str, who: str = "小明", person: str = "", **more: Any) -> StoredMemory:
    return StoredMemory(
        PUBLIC, "journal.md", replace(said(text, who, person, **more), memory_id="m-1")
    )


def decided(old: str, new: str, similarity: float = 1.0) -> Decision:
    return decide(said(new), [(kept(old), similarity)], CAUTIOUS)


@pytest.mark.parametrize("kind", MERGEABLE)
def test_what_says_the_same_is_merged_in_the_right_way(kind: str) -> None:
    """Every pair of the same words, every extension, and at least half of the paraphrases."""
    outcomes = [type(decided(pair.old, pair.new)) for pair in LABELLED if pair.kind == kind]
    assert set(outcomes) <= {MERGEABLE[kind], Append}
    share = outcomes.count(MERGEABLE[kind]) / len(outcomes)
    assert share >= (0.5 if kind == "paraphrase" else 1.0)


@given(
    st.sampled_from(TEXTS),
    st.sampled_from(NEGATIONS),
    st.data(),
)
def test_a_negation_put_in_anywhere_is_another_statement(
    text: str, negation: str, data: st.DataObject
) -> None:
    words = re.split(r"(\s)", text) if text.isascii() else list(text)
    place = data.draw(st.integers(0, len(words)))
    negated = "".join([*words[:place], f" {negation} ", *words[place:]])
    assert isinstance(decided(text, negated), Append)
    assert isinstance(decided(negated, text), Append)


@given(st.sampled_from([text for text in TEXTS if re.search("[0-9]", text)]), st.integers(0, 9))
def test_another_digit_is_another_statement(text: str, digit: int) -> None:
    changed = re.sub("[0-9]", lambda found: str((int(found[0]) + digit) % 10), text, count=1)
    if changed != text:
        assert isinstance(decided(text, changed), Append)


@given(st.sampled_from(TEXTS), st.sampled_from(["小红", "Maya", "老赵的妈妈", "他"]))
def test_another_subject_is_another_statement(text: str, who: str) -> None:
    for name in ("小明", "Anna", "我", "I "):
        if text.startswith(name):
            assert isinstance(decided(text, f"{who} {text.removeprefix(name)}"), Append)


@pytest.mark.parametrize(
    ("mine", "yours", "same"),
    [
        (("小明改名了", "qq:1"), ("小明", "qq:1"), True),
        (("小明", "qq:1"), ("小明", "qq:2"), False),
        (("小明", "qq:1"), ("小明", ""), False),
        (("小明", ""), ("小明", ""), True),
        (("小明", ""), ("小红", ""), False),
        (("", ""), ("", ""), False),
    ],
)
def test_only_the_same_speakers_statements_merge(
    mine: tuple[str, str], yours: tuple[str, str], same: bool
) -> None:
    outcome = decide(said("我对花生过敏", *mine), [(kept("我对花生过敏", *yours), 1.0)], CAUTIOUS)
    assert isinstance(outcome, Reinforce if same else Append)


@pytest.mark.parametrize(
    ("similarity", "outcome"),
    [(1.0, Reinforce), (0.92, Reinforce), (0.91, Replace), (0.85, Replace), (0.84, Append),
     (float("nan"), Append)],
)  # fmt: skip
def test_similarity_proposes(similarity: float, outcome: type[Decision]) -> None:
    assert type(decided("我很喜欢猫", "我喜欢猫", similarity)) is outcome


def test_of_several_the_most_similar_that_the_guards_accept_is_taken() -> None:
    wrong, near, nearest = kept("我不喜欢猫"), kept("我喜欢猫。"), kept("我非常喜欢猫")
    neighbours = [(near, 0.95), (wrong, 0.99), (nearest, 0.97)]
    assert decide(said("我喜欢猫"), neighbours, CAUTIOUS) == Reinforce(nearest)


OLD = NOW - timedelta(days=30)


@pytest.mark.parametrize(
    ("new", "old", "outcome"),
    [
        (said("我住在杭州"), kept("我住在杭州，小区叫桂花苑"), Reinforce),  # it says less
        (said("给妈妈买花"), kept("给妈妈买花", kind=MemoryKind.TASK), Append),
        (said("我最近睡不好"), kept("我最近睡不好", created_at=OLD), Append),  # another time
        (said("我最近睡不好"), kept("我最近睡不好", created_at=NOW - timedelta(days=3)), Reinforce),
    ],
)
def test_what_the_same_words_mean(new: Memory, old: StoredMemory, outcome: type[Decision]) -> None:
    assert type(decide(new, [(old, 1.0)], CAUTIOUS)) is outcome


@pytest.mark.parametrize("text", ["", "。。。", "的", "请记住"])
def test_what_says_nothing_merges_with_nothing(text: str) -> None:
    assert isinstance(decided(text, text), Append)


def test_what_an_agent_stored_on_a_persons_behalf_merges_with_its_like_alone() -> None:
    own = said("小明对花生过敏", person="qq:1")
    behalf = replace(
        own, provenance=replace(own.provenance, who="机器人代小明", source=Source.AGENT)
    )
    for new, old, merges in (
        (own, own, True),
        (behalf, behalf, True),
        (behalf, own, False),
        (own, behalf, False),
    ):
        decision = decide(new, [(StoredMemory(PUBLIC, "entities.md", old), 1.0)], CAUTIOUS)
        assert isinstance(decision, Reinforce) is merges
