"""``weights.json``: what is shipped can be read, and what cannot stops no recall."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.recall import weights_file
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.features import (
    Features,
    Message,
    of_answer,
)
from astrbot_plugin_scoped_memory.llm_memory.recall.weights_file import FIXED, PATH, read, shipped

pytestmark = pytest.mark.unit


def found() -> dict[str, Any]:
    fitted: dict[str, Any] = json.loads(PATH.read_text("utf-8"))
    return fitted


def test_the_weights_that_are_shipped_are_the_files() -> None:
    assert shipped() == read(found())
    assert shipped() != FIXED


def test_every_weight_is_of_something_that_is_known() -> None:
    features = set(Features.__dataclass_fields__)
    told = set(of_answer(Message(1, 1.0), [Features()]))
    for pair in (shipped().order, FIXED.order):
        assert pair.words.weights.keys() | pair.both.weights.keys() <= features
    for pair in (shipped().speak, FIXED.speak):
        assert pair.words.weights.keys() | pair.both.weights.keys() <= told


@pytest.mark.parametrize("value", [None, "1", True, math.nan, math.inf, [1]])
@pytest.mark.parametrize("name", ["floor", "within"])
def test_what_is_no_number_is_refused(name: str, value: object) -> None:
    with pytest.raises((ValueError, TypeError)):
        read(found() | {name: value})


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"order": 1}', "\x00"])
def test_a_broken_file_is_replaced_by_fixed_weights(
    text: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "weights.json"
    broken.write_text(text, "utf-8")
    monkeypatch.setattr(weights_file, "PATH", broken)
    shipped.cache_clear()
    try:
        assert shipped() is FIXED
    finally:
        shipped.cache_clear()
