"""What a coding agent reads about the memory in its project's own files."""

from __future__ import annotations

from typing import Final

from ..texts import Said
from .setting_values import Language

TITLE: Final = "Memory"
RULE_HEAD: Final = """\
---
description: Use the memory of the MCP server scoped-memory
alwaysApply: true
---
"""
"""The head of a new rule file of Cursor's."""


def block(language: Language) -> str:
    """Returns the lines between the marks. Agents read English; a person who has set Chinese
    reads Chinese."""
    return Said("client.block").text("zh" if language == "zh" else "en")
