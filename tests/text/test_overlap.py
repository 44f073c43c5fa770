"""Whole words: what forgets by a word forgets nothing that only has its letters."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.text.overlap import holds
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import fold

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "words", "parts"),
    [
        (
            "Grandma is allergic to peanuts",
            ("peanut", "peanuts", "allergic"),
            ("pea", "all", "nut"),
        ),
        ("Mum's boxes are full of peas", ("mum", "box", "boxes", "pea"), ("ox", "ea")),
        ("all-purpose flour, ice-cream, an x-ray", ("x-ray", "flour"), ("all", "ice", "ray")),
        ("José sings naïve songs in the café", ("josé", "café"), ("jos", "na", "ve", "caf")),
        ("COVID-19, covid20, B112, 1,200 at 3.14", ("covid", "1,200"), ("200", "14", "112", "cov")),
        ("2026-11-21 的单号是 120263", ("2026", "120263"), ("1202", "263")),
        ("家里的wifi密码和KTV的会员卡", ("wifi", "ktv", "密码", "会员"), ("fi", "tv")),
        ("который час, кот спит", ("кот", "час"), ("кото", "сп")),
        ("snake_case", ("snake_case",), ("case", "snake")),
        ("แมวของฉันชอบปลา", ("แมว", "ปลา"), ()),
    ],
)
def test_only_whole_words_and_numbers_are_held(
    text: str, words: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    assert [one for one in words if not holds(fold(text), fold(one))] == []
    assert [one for one in parts if holds(fold(text), fold(one))] == []
