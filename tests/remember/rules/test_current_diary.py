"""A diary is told without what was taken back or settled since."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.remember.rules.current_diary import current

pytestmark = pytest.mark.unit

LISTED = "2026-11-21（周六）记下了 3 条：小明：住在北京；小红说“养狗”；老王：住在北京；小刚：养猫"


def left(words: str, who: str) -> str:
    """No one lives in 北京 any more, and 小刚 has a dog."""
    if who == "小刚":
        return words.replace("，养猫", "")
    return words.replace("住在北京；", "").replace("住在北京", "")


@pytest.mark.parametrize(
    ("text", "listed", "told"),
    [
        (
            "2026-11-21（周六）记下了 2 条：小明：养猫；小刚：在上海，养猫",
            True,
            "2026-11-21（周六）记下了 1 条：小明：养猫",
        ),
        (LISTED, True, "2026-11-21（周六）记下了 2 条：小红说“养狗”；小刚：养猫"),
        ("2026-11-21（周六）记下了 1 条：小明：住在北京", True, ""),
        ("2026-11-21（周六）：住在北京；养狗", False, "2026-11-21（周六）：养狗"),
        ("2026-11-21（周六）：住在北京", False, ""),
        ("2026-11-21（周六）：养狗：两条", False, "2026-11-21（周六）：养狗：两条"),
        ("没有日子的一段话，住在北京", False, "没有日子的一段话，"),
    ],
)
def test_what_is_so_no_more_goes_and_its_speaker_with_it(
    text: str, listed: bool, told: str
) -> None:
    assert current(text, left, listed=listed) == told


@pytest.mark.parametrize("listed", [True, False])
def test_where_all_still_is_so_nothing_changes(listed: bool) -> None:
    assert current(LISTED, lambda words, who: words, listed=listed) == LISTED
