"""What an examination found out: kept in a file, and believed if it is of this embedder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint, Vectors
from astrbot_plugin_scoped_memory.llm_memory.models.settings import IndexPace
from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import (
    EXAMINATION,
    Cohort,
    EmbedderTrust,
)
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import Language
from astrbot_plugin_scoped_memory.tests.fakes.embedder import FakeEmbedder

pytestmark = pytest.mark.unit

MODEL = Fingerprint("model", 2, "r1")


class Examined(FakeEmbedder):
    """Counts its examinations; the first one fails."""

    examinations = -1

    async def embed_documents(self, texts: Any) -> Vectors:
        self.examinations += 1
        if not self.examinations:
            raise EmbeddingFailed("gone: made to")
        return await super().embed_documents(texts)


async def examined(path: Path, model: Fingerprint = MODEL) -> tuple[Mapping[Language, Cohort], int]:
    """What is known of an embedder then, and how often it was examined for that."""
    trust, embedder = EmbedderTrust(path, IndexPace(retry_seconds=(0.0,))), Examined()

    async def prepared() -> Fingerprint:
        return model

    await trust.run(embedder, prepared)
    assert trust.model == model.model
    return trust.cohorts, embedder.examinations


async def test_it_is_kept_for_the_embedder_and_the_examination_of_which_it_is(
    tmp_path: Path,
) -> None:
    path = tmp_path / "index" / "trust.json"
    found, times = await examined(path)
    assert (found.keys(), times) == ({*Language}, len(Language))
    assert await examined(path) == (found, -1)
    for other in (Fingerprint("other", 2), Fingerprint("model", 3), Fingerprint("model", 2, "r2")):
        assert (await examined(path, other))[1] > 0
    assert (await examined(path))[1] > 0  # one alone is kept
    kept = json.loads(path.read_text("utf-8")) | {"examination": EXAMINATION + 1}
    path.write_text(json.dumps(kept), encoding="utf-8")
    assert (await examined(path))[1] > 0


OF = {"model": "model", "dim": 2, "revision": "r1"}


async def test_a_broken_file_says_nothing_and_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "trust.json"
    odd = {"examination": EXAMINATION, "of": OF, "cohorts": {"zh": {"centre": "much"}}}
    for content in (json.dumps(odd).encode(), b"", b"\xff\xfe{", b"null", b"[" * 100_000):
        path.write_bytes(content)
        assert (await examined(path))[1] > 0
    assert (await examined(path))[1] < 0
    path = path / "in" / "a" / "file.json"
    assert (await examined(path))[1] > 0  # where it cannot be kept nobody is disturbed
