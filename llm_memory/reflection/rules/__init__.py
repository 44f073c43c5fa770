"""What is learned from turns: pure decisions. Their patterns are data, in ``grounding.txt``."""

from __future__ import annotations

from typing import Final

from ...text.lazy_pattern import PatternFile

GROUNDING: Final = PatternFile("reflection/grounding.txt")
