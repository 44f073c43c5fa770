"""Whatever a person writes: every line is in one piece, and no fence or table in two."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.blocks import lines_of
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.chunks import (
    Chunk,
    chunk_markdown,
    worth_indexing,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.sections import section_of

pytestmark = [pytest.mark.unit, pytest.mark.property]

ODD = [
    "# 标题", "## 小节 ##", "#不是标题", "正文一行", "---", "===", "```", "~~~~", "````py", "",
    "| a | b |", "|---|---|", "| 1 | 2 |", "- 一项", "  接着", "1. 一", "> 引用", "> ```", "<!--",
    "-->", "    代码", "\t# 缩进", "<pre>", "</pre>", "...", "x" * 300, "\x0c", "\u2028", "   ",
    "\ud800", "^m-abcd",
]  # fmt: skip
ENDS = ["\n", "\r\n", "\r"]
LIMIT = 200


@dataclass(frozen=True)
class Part:
    """A block as it was meant. ``whole``: it must not be cut; ``title`` of a heading."""

    lines: tuple[str, ...]
    whole: bool = False
    level: int = 0
    title: str = ""


words = st.text(st.sampled_from("奶奶花生abc 第三楼，。"), min_size=1, max_size=40).map(
    lambda text: " ".join(f"字{text}".split())
)
code = st.lists(
    st.sampled_from(
        ["# 注释", "x = 1", "", "| a | b |", "|---|---|", "```", "===", "-->", "  ~~~"]
    ),
    max_size=30,
)


@st.composite
def fences(draw: st.DrawFn) -> Part:
    """A fence of either mark; nothing in it closes it."""
    mark = draw(st.sampled_from(["````", "~~~~"]))
    inside = draw(code)
    return Part((f"{mark}py", *inside, mark), whole=True)


rows = st.lists(words, min_size=0, max_size=20)
parts = st.one_of(
    st.lists(words, min_size=1, max_size=12).map(lambda lines: Part(tuple(lines))),
    st.lists(words, min_size=1, max_size=12).map(
        lambda lines: Part(tuple(f"- {line}" for line in lines))
    ),
    fences(),
    rows.map(
        lambda cells: Part(
            ("| 名 | 值 |", "| --- | :-: |", *(f"| {cell} | 1 |" for cell in cells)), whole=True
        )
    ),
    st.tuples(st.integers(1, 6), words).map(
        lambda given: Part((f"{'#' * given[0]} {given[1]}",), True, given[0], given[1])
    ),
    words.map(lambda title: Part((title, "==="), True, 1, title)),
    words.map(lambda title: Part((title, "---"), True, 2, title)),
)


def size_of(lines: tuple[str, ...]) -> int:
    """As the chunker counts: bytes, and one for each line's end."""
    return sum(len(line.encode("utf-8", "surrogatepass")) + 1 for line in lines)


def check_cover(text: str, chunks: tuple[Chunk, ...]) -> None:
    """Every line once, in order, with its number."""
    lines = lines_of(text)
    covered = [line for chunk in chunks for line in chunk.text.split("\n")]
    assert covered == list(lines)
    expected = 1
    for chunk in chunks:
        assert (chunk.first, chunk.last) == (expected, expected + chunk.text.count("\n"))
        expected = chunk.last + 1
    assert expected == len(lines) + 1


@given(
    st.lists(st.sampled_from(ODD) | st.text(max_size=30), max_size=30),
    st.sampled_from(ENDS),
    st.booleans(),
    st.integers(1, 400),
)
def test_every_line_of_any_text_is_in_exactly_one_piece(
    lines: list[str], end: str, bom: bool, size: int
) -> None:
    text = ("\ufeff" if bom else "") + end.join(lines)
    chunks = chunk_markdown(text, size=size)
    check_cover(text, chunks)
    assert chunk_markdown(text, size=size) == chunks
    for chunk in worth_indexing(chunks):
        section = section_of(chunks, chunk, most=size)
        whole = "\n".join(lines_of(text)[section.first - 1 : section.last])
        assert section.text == whole or whole.startswith(section.text.removesuffix("…"))
        assert section.first <= chunk.first <= section.last


@given(st.lists(parts, min_size=1, max_size=12), st.sampled_from(ENDS), st.booleans())
def test_no_fence_and_no_table_is_cut_and_headings_are_told(
    document: list[Part], end: str, front: bool
) -> None:
    lines: list[str] = ["---", "tags: [旅行]", "# 不是标题", "---"] if front else []
    spans: list[tuple[int, int, Part]] = []
    trail: list[tuple[int, str]] = []
    trails: list[tuple[str, ...]] = []
    for part in document:
        if lines:
            lines.append("")
        spans.append((len(lines) + 1, len(lines) + len(part.lines), part))
        lines += part.lines
        if part.level:
            trail = [*(above for above in trail if above[0] < part.level), (part.level, part.title)]
        trails.append(tuple(title for _, title in trail))
    chunks = chunk_markdown(end.join(lines) + end, size=LIMIT)
    check_cover(end.join(lines) + end, chunks)
    assert sum(chunk.heading_lines > 0 for chunk in chunks) == sum(p.level > 0 for p in document)
    for (first, last, part), headings in zip(spans, trails, strict=True):
        holding = [chunk for chunk in chunks if chunk.first <= last and first <= chunk.last]
        assert len(holding) == 1 or not part.whole
        assert {chunk.headings for chunk in holding} == {headings}
        if part.level:
            assert (holding[0].first, holding[0].heading_lines) == (first, len(part.lines))
    for chunk in chunks:
        inside = [
            part
            for first, last, part in spans
            if chunk.first <= last and first <= chunk.last and not part.level
        ]
        body = tuple(chunk.text.split("\n")[chunk.heading_lines :])
        said = tuple(line for line in body if line.strip())
        if size_of(said) > LIMIT:
            assert len(said) == 1 or (len(inside) == 1 and inside[0].whole)
