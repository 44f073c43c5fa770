"""What is said to correct something is known by its words alone, until somebody has read it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from astrbot_plugin_scoped_memory.llm_memory.catalogue.rules.timeline import DIGEST_TAG
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory, Provenance
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.spoken_corrections import SpokenCorrection

pytestmark = pytest.mark.unit

NOW = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)


def said(text: str, days_ago: int = 0, who: str = "", *, trusted: bool = False) -> Memory:
    origin = Provenance(who, person=f"aiocqhttp:{who}", trusted=trusted)
    return Memory(f"m-{days_ago}", text, NOW - timedelta(days=days_ago), provenance=origin)


def corrects(new: Memory, old: Memory) -> bool:
    correction = SpokenCorrection.of(new)
    return correction is not None and correction.corrects(old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("月末清库存在26号下午三点，一个都不能少", "清库存又变动了，推到27号上午十点"),
        ("清库存定在26号", "清库存那件事，改到27号了"),
        ("班会在周三晚上", "周三的班会挪到周五"),
        ("试镜是四月九号", "助理说试镜要延到四月十二号，先别买票"),
        ("读书会在周婷家里", "读书会改到河边的茶馆"),
        ("小贺欠阿南五百", "阿南那五百我还清了"),
        ("The recital is on the 9th", "the recital got moved to the 12th"),
        ("Choir practice is on Monday", "Ana says practice was rescheduled to Thursday"),
        ("The spare bulb is in the cellar", "I moved the spare bulb to the garage"),
    ],
)
def test_a_change_of_the_same_thing(old: str, new: str) -> None:
    assert corrects(said(new), said(old, 9))
    assert not corrects(said(new, 9), said(old)), "what was said before corrects nothing"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("班会在周三晚上七点", "聚会改到周五晚上七点"),
        ("外婆周六去复查", "外婆，周日改去茶园"),
        ("外婆周六去复查", "外婆改到周日去茶园"),
        ("小贺3岁学的琴", "小贺换了琴弦"),
        ("试镜是四月九号", "试镜的稿子在抽屉里"),
        ("Ines is allergic to 2 drugs", "Ines has moved to Leeds"),
        ("试镜在电影厂二号棚，要带身份证和剧照", "试镜取消了"),
        ("清库存定在26号", "改到27号了"),
    ],
)
def test_other_matters_and_other_words_of_the_same_people(old: str, new: str) -> None:
    assert not corrects(said(new), said(old, 9))


def test_its_speaker_is_not_what_changed() -> None:
    old, new = said("小贺30号搬家", 9), said("小贺改到4号去复查", who="小贺")
    assert not corrects(new, old)


def test_what_is_trusted_is_corrected_by_its_speaker_alone() -> None:
    old = said("班会在周三晚上", 9, "老师", trusted=True)
    assert not corrects(said("班会改到周五", who="小贺"), old)
    assert corrects(said("班会改到周五", who="老师"), old)


def test_a_diary_and_what_reads_like_an_order_correct_nothing() -> None:
    new = said("班会改到周五")
    assert SpokenCorrection.of(new) is not None
    assert SpokenCorrection.of(replace(new, quoted=True)) is None
    assert SpokenCorrection.of(replace(new, tags=(DIGEST_TAG,))) is None
