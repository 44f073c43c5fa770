"""The files of a new project: they say nothing to recall until somebody writes into them."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.appended_block import open_fence
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.chunks import (
    chunk_markdown,
    worth_indexing,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.rules.templates import (
    CONSTITUTION,
    role_template,
    shared_templates,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("english", [False, True])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_untouched_template_has_nothing_to_recall(english: bool, newline: str) -> None:
    shared = shared_templates(english=english)
    assert list(shared) == [CONSTITUTION, *(file.path for file in RecordFile)]
    path, role = role_template("A/B", english=english)
    assert path == "roles/A%2FB/MEMORY.md"
    for text in (*shared.values(), role):
        written = text.replace("\n", newline)
        assert worth_indexing(chunk_markdown(written)) == []
        assert open_fence(written) is None
        grown = f"{written}{newline}## 一{newline}二{newline}"
        (piece,) = worth_indexing(chunk_markdown(grown))
        assert piece.body == "二"


def test_a_comment_says_nothing_and_hides_nothing_beside_it() -> None:
    assert worth_indexing(chunk_markdown("<!-- a\n\nb -->\n")) == []
    (piece,) = worth_indexing(chunk_markdown("# 标题\n<!-- 注 -->\n正文\n"))
    assert piece.first == 1
    (heading,) = worth_indexing(chunk_markdown("# 周五交房租\n"))
    assert heading.headings == ("周五交房租",)
