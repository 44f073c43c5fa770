"""Markdown in pieces by heading: what a person may put between two headings, and that a new
project's files say nothing to recall until somebody writes into them."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.appended_block import open_fence
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.chunks import (
    SIZE,
    Chunk,
    chunk_markdown,
    worth_indexing,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.sections import section_of
from astrbot_plugin_scoped_memory.llm_memory.vault.rules.templates import (
    CONSTITUTION,
    role_template,
    shared_templates,
)

pytestmark = pytest.mark.unit

TRIP = """\
---
tags: [旅行]
---
开头的话。

# 日本

## 第一天

到东京，住上野。

```python
# 不是标题
## 也不是
```

## 第二天
浅草
----
人很多。
"""


def trails(text: str) -> list[tuple[tuple[str, ...], int, int]]:
    """Headings and line numbers of each piece."""
    return [(chunk.headings, chunk.first, chunk.last) for chunk in chunk_markdown(text)]


def only(text: str, words: str, *, size: int = SIZE) -> Chunk:
    """The piece that holds the words."""
    (found,) = [chunk for chunk in chunk_markdown(text, size=size) if words in chunk.text]
    return found


def test_a_note_is_cut_at_its_headings_and_each_piece_knows_where_it_stands() -> None:
    assert trails(TRIP) == [
        ((), 1, 3),
        ((), 4, 5),
        (("日本",), 6, 7),
        (("日本", "第一天"), 8, 16),
        (("日本", "第二天"), 17, 17),
        (("日本", "浅草"), 18, 20),
    ]
    assert only(TRIP, "人很多").body == "人很多。"


@pytest.mark.parametrize(
    "text",
    [
        "```\n# a\n```",
        "~~~\n# a\n```\n# b\n~~~",
        "````\n```\n# a\n````",
        "   ```\n# a\n   ```",
        "> ```\n> # a\n> ```",
        "- ```\n  # a\n  ```",
        "1. 一\n\n       ```\n       # a\n       ```",
        "```\n# a, and nothing closes it\n\n# b",
        "---\n# a\n---",
        "<!--\n# a\n\n# b\n-->",
        "<pre>\n# a\n</pre>",
        "    # a",
        "\t# a",
        "#a",
        "####### a",
        "> # a",
        "- # a",
        "- a\n---",
        "a\n\n---",
        "***\n---",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "| a | b |\n---|---",
        "x " * 200 + "\n---",
    ],
)
def test_what_looks_like_a_heading_and_is_none_cuts_nothing(text: str) -> None:
    assert {chunk.headings for chunk in chunk_markdown(text)} == {()}


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# a", "a"),
        ("   ### a ###  ", "a"),
        ("# a#", "a#"),
        ("## a ## b", "a ## b"),
        ("#\ta", "a"),
        ("a\n===", "a"),
        ("a\nb\n   --- ", "a b"),
        ("> 引用\n\na\n-", "a"),
        ("```\n```\n# a", "a"),
        ("- ```\n\n# a", "a"),
        ("> ```\n> x\n# a", "a"),
        ("- 一\n\n      ```\n# a", "a"),
        ("| a | b |\n|---|---|\n# a", "a"),
        ("<!-- x -->\n# a", "a"),
        ("# " + "长" * 500, "长" * 120),
    ],
)
def test_a_heading_in_any_spelling_is_told(text: str, title: str) -> None:
    assert chunk_markdown(text)[-1].headings == (title,)


def test_a_long_list_is_cut_between_its_items() -> None:
    items = ["- " + "一" * 100 + "\n  " + "二" * 100] * 5
    for chunk in chunk_markdown("\n".join(items)):
        assert chunk.text.count("一" * 100) == chunk.text.count("二" * 100)


def test_nothing_is_in_an_empty_text() -> None:
    assert chunk_markdown("") == ()
    assert worth_indexing(chunk_markdown("\n\n  \n")) == []


def test_a_heading_over_other_headings_is_not_worth_finding_and_one_alone_is() -> None:
    chunks = chunk_markdown("# 清单\n\n## 买牛奶\n\n## 寄包裹\n\n---\n")
    assert [chunk.headings[-1] for chunk in worth_indexing(chunks)] == ["买牛奶", "寄包裹"]


def test_a_section_holds_its_subsections_and_not_the_next_section() -> None:
    text = "# 甲\n一\n## 乙\n二\n## 丙\n三\n# 丁\n四"
    chunks = chunk_markdown(text)
    assert section_of(chunks, chunks[0]).text == "# 甲\n一\n## 乙\n二\n## 丙\n三"
    assert section_of(chunks, chunks[1]).text == "## 乙\n二"
    assert (section_of(chunks, chunks[2]).first, section_of(chunks, chunks[2]).last) == (5, 6)


def test_a_section_is_whole_whichever_of_its_pieces_is_asked_for() -> None:
    text = "# 甲\n" + "\n\n".join(["话" * 300] * 4) + "\n# 甲\n别的"
    chunks = chunk_markdown(text)
    own = [chunk for chunk in chunks if "话" in chunk.text]
    assert len(own) > 1
    assert {section_of(chunks, chunk).text for chunk in own} == {text.rpartition("\n# 甲")[0]}


def test_too_long_a_section_loses_its_subsections_then_its_end() -> None:
    text = "# 甲\n一\n## 乙\n" + "\n\n".join(["二" * 100] * 30)
    chunks = chunk_markdown(text)
    assert section_of(chunks, chunks[0], most=2000).text == "# 甲\n一"
    asked = chunks[5]
    section = section_of(chunks, asked, most=2000)
    assert section.first == asked.first
    assert section.last + section.cut == len(text.split("\n"))
    assert 1500 < len(section.text.encode()) <= 2000


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
