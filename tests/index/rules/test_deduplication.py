"""The neighbour proposes, guards decide: no number, negation or person is ever merged away."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.benchmarks import calibrate
from astrbot_plugin_scoped_memory.llm_memory.index.rules.deduplication import (
    ANY,
    CAUTIOUS,
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
PAIRS = calibrate.load_pairs()
Append = type(None)
MERGEABLE = {"same": Reinforce, "paraphrase": Reinforce, "extension": Replace}
NEGATIONS = ["不", "没", "别", "无", "未", "从不", "not", "never", "no", "without"]
TEXTS = sorted({one.judgment for pair in PAIRS for one in (pair.old.memory, pair.new)})


def said(text: str, who: str = "小明", person: str = "", **more: Any) -> Memory:
    origin = Provenance(who=who, person=person)
    return Memory("m-2", text, **{"created_at": NOW, "provenance": origin, **more})


def kept(text: str, who: str = "小明", person: str = "", **more: Any) -> StoredMemory:
    memory = said(text, who, person, **more)
    return StoredMemory(PUBLIC, "journal.md", replace(memory, memory_id="m-1"))


def decided(old: str, new: str, similarity: float = 1.0) -> Decision:
    return decide(said(new), [(kept(old), similarity)], CAUTIOUS)


@pytest.mark.parametrize("kind", MERGEABLE)
def test_what_says_the_same_is_merged_in_the_right_way(kind: str) -> None:
    """Every pair of the same words, every extension, and at least half of the paraphrases."""
    pairs = [(pair.old.memory, pair.new) for pair in PAIRS if pair.kind == kind]
    outcomes = [type(decided(old.judgment, new.judgment)) for old, new in pairs]
    assert set(outcomes) <= {MERGEABLE[kind], Append}
    share = outcomes.count(MERGEABLE[kind]) / len(outcomes)
    assert share >= (0.5 if kind == "paraphrase" else 1.0)


@given(st.sampled_from(TEXTS), st.sampled_from(NEGATIONS), st.data())
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
BEHALF = Provenance(who="机器人代小明", person="qq:1", source=Source.AGENT)


@pytest.mark.parametrize(
    ("new", "old", "outcome"),
    [
        (said("我住在杭州"), kept("我住在杭州，小区叫桂花苑"), Reinforce),  # it says less
        (said("给妈妈买花"), kept("给妈妈买花", kind=MemoryKind.TASK), Append),
        (said("我最近睡不好"), kept("我最近睡不好", created_at=OLD), Append),  # another time
        (said("我最近睡不好"), kept("我最近睡不好", created_at=NOW - timedelta(days=3)), Reinforce),
        *((said(text), kept(text), Append) for text in ("", "。。。", "的", "请记住")),
        (said("我怕高", "小明改名了", "qq:1"), kept("我怕高", "小明", "qq:1"), Reinforce),
        (said("我怕高", "小明", "qq:1"), kept("我怕高", "小明", "qq:2"), Append),
        (said("我怕高", "小明", "qq:1"), kept("我怕高", "小明"), Append),
        (said("我怕高", "小红"), kept("我怕高", "小明"), Append),
        (said("我怕高", ""), kept("我怕高", ""), Append),
        (said("我怕高", provenance=BEHALF), kept("我怕高", provenance=BEHALF), Reinforce),
        (said("我怕高", provenance=BEHALF), kept("我怕高", person="qq:1"), Append),
        (said("我怕高", person="qq:1"), kept("我怕高", provenance=BEHALF), Append),
    ],
)
def test_what_the_same_words_mean(new: Memory, old: StoredMemory, outcome: type[Decision]) -> None:
    assert type(decide(new, [(old, 1.0)], CAUTIOUS)) is outcome


def test_words_propose_what_the_guards_would_merge_and_nothing_is_merged_wrongly() -> None:
    for similarity in (CAUTIOUS.replace, 1.0):
        figures = calibrate.report(PAIRS, [similarity] * len(PAIRS), CAUTIOUS)
        assert figures["wrongly_merged"] == 0
    figures = calibrate.report(PAIRS, calibrate.shares_by_words(PAIRS), ANY)
    assert figures["wrongly_merged"] == 0
    assert figures["paraphrases_merged"] >= 0.5
    rows = [row for row in figures["classes"] if row["should_merge"]]
    merged, possible = (sum(r[n] * r["pairs"] for r in rows) for n in ("merged", "guards_alone"))
    assert merged >= 0.9 * possible


def test_the_page_about_calibration_tells_the_numbers_that_are_used() -> None:
    page = (Path(__file__).parents[3] / "docs/dev/calibration.md").read_text("utf-8")
    assert f"are {CAUTIOUS.reinforce} and {CAUTIOUS.replace}" in page
    assert f"our {len(PAIRS)} pairs" in page
    assert f"0 of {sum(not pair.should_merge for pair in PAIRS)}" in page
