"""What is stored and how: pure decisions. Their words and patterns are data, in ``gate.txt``."""

from __future__ import annotations

from typing import Final

from ...text.lazy_pattern import PatternFile

GATE: Final = PatternFile("remember/gate.txt")
