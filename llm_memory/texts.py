"""The catalogue: every text that a person reads, by code, in each of the two languages.

``i18n/<language>/*.yaml`` hold the texts by group and code. A ``Said`` names a text with what is
filled in, so that what makes it need not know who reads it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

type Spoken = Literal["zh", "en"]

LANGUAGES = ("zh-CN", "en-US")
"""The first one where the owner has said nothing."""
_FOLDER = Path(__file__).parent / "i18n"
_OF_SPOKEN: Mapping[Spoken, str] = {"zh": LANGUAGES[0], "en": LANGUAGES[1]}


def chosen_language(raw_config: Mapping[str, Any] | None) -> str:
    """Returns what a config says, before anything else of it is read."""
    wanted = (raw_config or {}).get("language")
    return next((known for known in LANGUAGES if known == wanted), LANGUAGES[0])


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Returns the texts of a language by ``<group>.<code>``. Reads the disk once."""
    import yaml

    # Eight times as fast, where PyYAML was built with libyaml.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, str] = {}
    for file in sorted((_FOLDER / language).glob("*.yaml")):
        groups = yaml.load(file.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506  (safe ones)
        for group, texts in groups.items():
            found.update((f"{group}.{code}", str(text)) for code, text in texts.items())
    return found


@runtime_checkable
class Sayable(Protocol):
    """A line that is there in both languages."""

    def text(self, language: Spoken) -> str: ...


class Said:
    """A text of the catalogue: ``<group>.<code>`` and what fills its ``{params}``.

    A param may be another ``Said``, or a tuple of them, which becomes a list in words. It is no
    dataclass, so ``dataclasses.asdict`` leaves it whole.
    """

    __slots__ = ("code", "params")

    def __init__(self, code: str, /, **params: object) -> None:
        self.code = code
        self.params = tuple(params.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Said) and (self.code, self.params) == (other.code, other.params)

    def __hash__(self) -> int:
        return hash((self.code, self.params))

    def __repr__(self) -> str:
        return f"Said({self.code!r}, **{dict(self.params)!r})"

    def text(self, language: Spoken) -> str:
        """Returns the line in one language."""
        return Texts.of(language).say(self.code, **dict(self.params))

    def both(self) -> dict[Spoken, str]:
        """Returns the line in each language, for a file or for scripts."""
        return {language: self.text(language) for language in _OF_SPOKEN}


def at(where: object, why: str | Said, /, **params: object) -> Said:
    """Returns a text, given as it is or by its code, behind the place that it is about."""
    return Said("common.at", where=where, why=Said(why, **params) if isinstance(why, str) else why)


def nearest(word: str, known: Collection[str]) -> Said | str:
    """Returns the end of a line that asks whether the nearest word was meant; empty for none."""
    near = get_close_matches(word, known, 1)
    return Said("common.nearest", word=near[0]) if near else ""


class _Filled(str):
    """What fills a ``{param}``. ``{count:turn|turns}`` is the word that goes with the count."""

    __slots__ = ()

    def __format__(self, words: str) -> str:
        one, _, more = words.partition("|")
        return (one if self == "1" else more) if words else str(self)


class Texts:
    """The texts of one language."""

    def __init__(self, language: str) -> None:
        self._texts = catalogue(language)
        self._language = language

    @classmethod
    def of(cls, language: Spoken) -> Texts:
        """Returns the texts of a language, as the engine names it."""
        return cls(_OF_SPOKEN[language])

    @property
    def spoken(self) -> Spoken:
        """The language, as the engine names it."""
        return "zh" if self._language == LANGUAGES[0] else "en"

    def say(self, code: str, /, **params: object) -> str:
        """Returns the text of ``<group>.<code>`` with its ``{params}`` filled in.

        Raises:
            KeyError: for an unknown code or a missing param: tests see to it that none is.
        """
        filled = {name: _Filled(self._word(one)) for name, one in params.items()}
        return self._texts[code].format(**filled)

    def said(self, line: Sayable) -> str:
        """Returns the text of a line that the engine made."""
        return line.text(self.spoken)

    def counted(self, group: str, /, **counts: int) -> list[str]:
        """Returns the text of each code of a group that counts something, with its ``count``."""
        return [self.say(f"{group}.{code}", count=count) for code, count in counts.items() if count]

    def listed(self, group: str, /, **counts: int) -> str:
        """Does the same as a list in words; empty where all are zero."""
        return self._texts["common.and"].join(self.counted(group, **counts))

    def knows(self, code: str) -> bool:
        """Returns True if there is such a text."""
        return code in self._texts

    def _word(self, param: object) -> object:
        if isinstance(param, Sayable):
            return self.said(param)
        if isinstance(param, tuple):
            return self._texts["common.and"].join(str(self._word(one)) for one in param)
        return param
