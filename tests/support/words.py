"""Short words in texts that hold random ids, digests or ports; words in the other script."""

from __future__ import annotations

import re
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.text.data import words_of


def stands_in(word: str, text: str) -> bool:
    """True if the word stands in the text by itself. A digest may hold any short word by chance."""
    return re.search(rf"(?<![0-9A-Za-z]){re.escape(word)}(?![0-9A-Za-z])", text) is not None


def traditional(text: str) -> str:
    """The text with another spelling of each Chinese character that has one."""
    others = {group[0]: group[1] for group in words_of("one_script")}
    return "".join(map(others.get, text, text))


def rows(section: str) -> list[tuple[str, ...]]:
    """The rows of a section of ``tests/data/texts.tsv``: columns with a tab between."""
    text = (Path(__file__).parents[1] / "data" / "texts.tsv").read_text("utf-8")
    lines = text.partition(f"\n== {section}\n")[2].partition("\n\n== ")[0].strip("\n").split("\n")
    return [tuple(line.replace("\\n", "\n").split("\t")) for line in lines]
