"""What a person is told of a soul, in both languages, on a phone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.soul_replies import (
    outcome_words,
    view_words,
)
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.scope import NO_PERSONA
from astrbot_plugin_scoped_memory.llm_memory.models.soul import (
    EVALUATION,
    OWNER,
    REFLECTION,
    SEEDED_BY,
    Finding,
    SoulDenied,
    SoulDiff,
    SoulLine,
    SoulLog,
    SoulOutcome,
    SoulVerified,
    SoulView,
)
from astrbot_plugin_scoped_memory.llm_memory.texts import Said, Spoken, Texts, catalogue

pytestmark = pytest.mark.unit

BOTH: tuple[Spoken, ...] = ("zh", "en")
AT = datetime(2026, 11, 27, 9, tzinfo=UTC)
IN_FORCE = SoulLine("applied", "a:9", at=AT, version=3)
WISH = SoulLine("proposed", "a:9", proposal=7, aim="回答再短一点")


def how(action: str) -> str:
    return f"/soul {action}"


def told(outcome: SoulOutcome, language: Spoken = "zh", most: int = 0) -> str:
    return outcome_words(Texts.of(language), outcome, how, most=most)


@pytest.mark.parametrize("language", BOTH)
def test_the_fullest_view_fits_a_phone(language: Spoken) -> None:
    rules = tuple(f"第 {number} 条{'很长' * 60}" for number in range(30))
    view = SoulView("猫娘", 3, IN_FORCE, "", rules, open=WISH, by_hand=True, broken=5)
    texts = Texts.of(language)
    said = view_words(texts, view, how, all_of_it=True, off=True)
    assert len(said.splitlines()) <= 13
    assert max(map(len, said.splitlines())) <= 120
    for piece in ("猫娘", "3", "25", "apply 7", "adopt", "verify", "回答再短一点"):
        assert piece in said
    assert WISH.aim not in view_words(texts, view, how, all_of_it=False, off=False)


def test_a_soul_without_a_persona_or_a_rule_says_so() -> None:
    said = told(SoulView(NO_PERSONA, 3, IN_FORCE, ""))
    assert NO_PERSONA not in said
    assert "还没有" in said
    assert "人格“a/b”" in told(SoulView("a%2Fb", 3, IN_FORCE, ""))


REASONS = [
    code.removeprefix("reject.") for code in catalogue("zh-CN") if code.startswith("reject.")
]


@pytest.mark.parametrize("language", BOTH)
@pytest.mark.parametrize("fault", REASONS)
def test_each_fault_has_words_of_its_own(fault: str, language: Spoken) -> None:
    said = told(Refused(fault, detail="41"), language)
    others = [told(Refused(one, detail="41"), language) for one in REASONS if one != fault]
    assert said not in others
    assert "{" not in said


def test_a_refusal_names_the_lines_that_went_wrong() -> None:
    refused = SoulDenied("denied", findings=(Finding(Said("soul_rule.same"), 4),))
    assert told(refused).splitlines()[1:] == ["第 4 行：和现在的内容一样。"]
    assert "Line 4: It would change nothing." in told(refused, "en")


def test_what_is_wrong_is_told_by_the_line_and_the_file() -> None:
    assert "第 2 行起对不上（chain.jsonl）" in told(SoulVerified(2, "", 5))
    assert "versions/0001.md" in told(SoulVerified(1, "versions/0001.md", 5))


def test_a_diff_is_cut_and_has_no_numbers_of_lines() -> None:
    lines = ("@@ -1,3 +1,4 @@", " # SOUL", "+- 新的", "@@ -9 +9 @@", *["-- 旧的"] * 60)
    said = told(SoulDiff(lines)).splitlines()
    assert said[:3] == [" # SOUL", "+- 新的", "…"]
    assert len(said) == 31


def test_a_log_tells_who_did_what_the_newest_first() -> None:
    line = SoulLine("applied", "a:9", at=AT, proposal=2, version=3)
    lines = tuple(replace(line, n=number) for number in (3, 2, 1))
    said = told(SoulLog(lines, broken=4), most=2).splitlines()
    assert "4" in said[0]
    assert said[1] == "3  2026-11-27 09:00  生效  提议 2、第 3 版  a:9"
    assert "1" in said[-1]
    assert len(said) == 4
    denied = replace(line, event="denied", verdict={"why": {"zh": "没有变好", "en": "no better"}})
    assert told(SoulLog((denied,))).endswith("a:9  没有变好")
    assert told(SoulLog((replace(denied, verdict={"why": None}),))).endswith("a:9")


@pytest.mark.parametrize("actor", [REFLECTION, OWNER, EVALUATION, SEEDED_BY])
def test_who_is_no_admin_is_called_by_a_name(actor: str) -> None:
    line = SoulLine("applied", actor)
    assert actor not in told(SoulLog((line,)))
