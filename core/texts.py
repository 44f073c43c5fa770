"""User texts and log lines, by code, in the owner's language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

try:
    from yaml import CSafeLoader as _Loader  # eight times as fast
except ImportError:  # a PyYAML that was built without libyaml
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

if TYPE_CHECKING:  # AstrBot waits for the import of this module
    from ..llm_memory.models.said import Said, Spoken

LANGUAGES = ("zh-CN", "en-US")
"""The first one where the owner has said nothing."""
_FOLDER = Path(__file__).parent / "i18n"


def chosen_language(raw_config: Mapping[str, Any] | None) -> str:
    """What a config says, before anything else of it is read."""
    wanted = (raw_config or {}).get("language")
    return next((known for known in LANGUAGES if known == wanted), LANGUAGES[0])


@cache
def _content(language: str) -> Mapping[str, str]:
    text = (_FOLDER / f"{language}.yaml").read_text(encoding="utf-8")
    content = yaml.load(text, Loader=_Loader)
    return {
        f"{group}.{code}": str(text)
        for group, texts in content.items()
        for code, text in texts.items()
    }


class Texts:
    """The texts of one language; ``i18n/<language>.yaml`` holds them by group and code."""

    def __init__(self, language: str) -> None:
        self._texts = _content(language)
        self._spoken: Spoken = "zh" if language == LANGUAGES[0] else "en"

    def say(self, code: str, /, **params: object) -> str:
        """The text of ``<group>.<code>`` with its ``{params}`` filled in.

        Raises:
            KeyError: for an unknown code or a missing param: tests see to it that none is.
        """
        return self._texts[code].format(**params)

    def counted(self, counts: Mapping[str, int]) -> list[str]:
        """The text of each code with its ``count``, without those of which there are none."""
        return [self.say(code, count=count) for code, count in counts.items() if count]

    def said(self, line: Said) -> str:
        """The line that the engine has in both languages."""
        return line.text(self._spoken)

    def knows(self, code: str) -> bool:
        """True if there is such a text."""
        return code in self._texts
