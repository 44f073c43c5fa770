"""What an examination found out: kept in a file, and believed if it is of this embedder."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Fingerprint
from astrbot_plugin_scoped_memory.llm_memory.recall.embedder_trust import (
    EXAMINATION,
    Cohort,
    JsonTrustBook,
    Trust,
)
from astrbot_plugin_scoped_memory.llm_memory.text.scripts import Language

pytestmark = pytest.mark.unit

MODEL = Fingerprint("model", 2, "r1")
TRUST = Trust(
    {
        Language.CHINESE: Cohort(0.0, (0.5, 0.25), 0.02, (0.1, 0.2)),
        Language.ENGLISH: Cohort(1.0, (0.0, 0.1), 0.0),
    }
)


def test_it_is_kept_for_the_embedder_and_the_examination_of_which_it_is(tmp_path: Path) -> None:
    path = tmp_path / "index" / "trust.json"
    book = JsonTrustBook(path)
    assert book.read(MODEL) is None
    book.write(MODEL, TRUST)
    assert JsonTrustBook(path).read(MODEL) == TRUST
    others = [replace(MODEL, model="other"), replace(MODEL, dim=3), replace(MODEL, revision="r2")]
    assert [book.read(other) for other in others] == [None] * len(others)
    book.write(others[2], TRUST)
    assert (book.read(MODEL), book.read(others[2])) == (None, TRUST)
    found = json.loads(path.read_text("utf-8")) | {"examination": EXAMINATION + 1}
    path.write_text(json.dumps(found), encoding="utf-8")
    assert book.read(others[2]) is None


SOUND = {"weight": 0.1, "deviation": 0.05, "centre": [0.8, 0.1], "common": [0.4, 0.1]}
OF = {"model": "model", "dim": 2, "revision": "r1"}


@pytest.mark.parametrize(
    "cohorts",
    [None, [], {"zh": SOUND}, {"zh": SOUND, "en": SOUND | {"centre": "much"}}],
)
def test_a_broken_file_says_nothing_and_is_written_anew(tmp_path: Path, cohorts: object) -> None:
    path = tmp_path / "trust.json"
    book = JsonTrustBook(path)
    found = {"examination": EXAMINATION, "of": OF, "found": {"cohorts": cohorts}}
    for content in (json.dumps(found).encode(), b"", b"\xff\xfe{", b"null", b"[" * 100_000):
        path.write_bytes(content)
        assert book.read(MODEL) is None
    book.write(MODEL, TRUST)
    assert book.read(MODEL) == TRUST


def test_where_it_cannot_be_kept_nobody_is_disturbed(tmp_path: Path) -> None:
    (tmp_path / "index").write_text("a file where the folder should be", encoding="utf-8")
    book = JsonTrustBook(tmp_path / "index" / "trust.json")
    book.write(MODEL, TRUST)
    assert book.read(MODEL) is None
