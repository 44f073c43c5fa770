"""A query that is announced is embedded once, whoever comes first, and nothing of it is left."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.bundled.bundled_model import (
    BundledModel,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.bundled.bundled_packages import (
    BundledPackage,
)

pytestmark = pytest.mark.unit

QUESTION = "外婆对什么过敏？"


class Encoder:
    """Remembers which queries it was given; it can be held up, or made to fail."""

    def __init__(self) -> None:
        self.queries: list[str] = []
        self.begun = threading.Event()
        self.goes_on = threading.Event()
        self.goes_on.set()
        self.failing = False

    def __call__(self, texts: Sequence[str], is_query: bool) -> Any:
        if is_query:
            self.queries += texts
            self.begun.set()
            self.goes_on.wait(30)
            if self.failing:
                raise RuntimeError
        return np.array([[float(len(text)), 1.0] for text in texts], np.float32)


def model_of(encoder: Encoder) -> BundledModel:
    no_probe: Any = None
    return BundledModel(no_probe, [BundledPackage("json", "no-such-package", lambda: encoder)])


def test_an_announced_query_is_embedded_once_and_the_next_time_anew() -> None:
    encoder = Encoder()
    model = model_of(encoder)
    model.announce(QUESTION)
    model.announce(QUESTION)
    announced = model.query(QUESTION)
    assert encoder.queries == [QUESTION]
    assert np.array_equal(model.query(QUESTION), announced)
    assert encoder.queries == [QUESTION] * 2  # it was not kept


def test_whoever_asks_meanwhile_waits_for_it() -> None:
    encoder = Encoder()
    model = model_of(encoder)
    encoder.goes_on.clear()
    found: list[Any] = []
    announcing = threading.Thread(target=model.announce, args=(QUESTION,))
    asking = threading.Thread(target=lambda: found.append(model.query(QUESTION)))
    announcing.start()
    assert encoder.begun.wait(30)
    asking.start()
    encoder.goes_on.set()
    for thread in (announcing, asking):
        thread.join(30)
    assert len(found) == 1
    assert encoder.queries == [QUESTION]


def test_what_failed_fails_whoever_waits_for_it_and_nobody_else() -> None:
    encoder = Encoder()
    model = model_of(encoder)
    encoder.failing = True
    for call in (model.announce, model.query):
        with pytest.raises(EmbeddingFailed, match="encoding_failed"):
            call(QUESTION)
    assert encoder.queries == [QUESTION]
    encoder.failing = False
    model.query(QUESTION)
