"""What is said where, to whom: each page is played, and tells what is answered.

``UPDATE_PAGES=1`` writes what was answered into the pages: read the difference. A page shows what
people read; it holds no law alone.
"""

from __future__ import annotations

import os
import re
import string
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml

from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, catalogue
from astrbot_plugin_scoped_memory.tests.says.cast import BotCast
from astrbot_plugin_scoped_memory.tests.says.shell import ShellCast
from astrbot_plugin_scoped_memory.tests.says.transcript import given_in, retold, told_in

pytestmark = [pytest.mark.engine, pytest.mark.astrbot]

HERE = Path(__file__).parent
PAGES = sorted((HERE / "pages").glob("*.md"))
LANGUAGE_OF = {"zh": LANGUAGES[0], "en": LANGUAGES[1]}
FORMATTER = string.Formatter()
BREAK = re.compile(r"\s*\n\s*")


def language_of(page: Path) -> str:
    return LANGUAGE_OF[page.name.split(".")[1]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
async def test_it_is_said_as_the_page_tells(
    page: Path, tmp_path: Path, own_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, language = page.read_text("utf-8"), language_of(page)
    at_home = page.name.startswith(("shell", "mcp"))
    cast = ShellCast(own_user, language, monkeypatch) if at_home else BotCast(tmp_path, language)
    async with cast:
        answers = [await cast.play(given) for given in given_in(text)]
    told = retold(text, answers)
    if os.environ.get("UPDATE_PAGES"):
        page.write_text(told, "utf-8")
    assert told == text


def test_each_page_is_there_in_both_languages() -> None:
    chinese, english = (
        {page.name.partition(".")[0] for page in PAGES if language_of(page) == language}
        for language in LANGUAGES
    )
    assert english - chinese == {"mcp"}  # it speaks English alone
    assert chinese < english


def unshown(language: str) -> Iterator[str]:
    """The codes of the texts that no page of a language shows."""
    pages = (page for page in PAGES if language_of(page) == language)
    told = BREAK.sub("\n", "\n".join(told_in(page.read_text("utf-8")) for page in pages))
    for code, text in catalogue(language).items():
        parts = FORMATTER.parse(BREAK.sub("\n", text.strip()))
        pattern = (re.escape(words) + ("" if name is None else ".*?") for words, name, *_ in parts)
        if not re.search("".join(pattern), told):
            yield code


def test_each_text_is_on_a_page_or_excused() -> None:
    reasons: dict[str, list[str]] = yaml.safe_load((HERE / "excused.yaml").read_text("utf-8"))
    excused = [pattern for patterns in reasons.values() for pattern in patterns]
    missing = {code for language in LANGUAGES for code in unshown(language)}
    covers = {one: {code for code in missing if fnmatchcase(code, one)} for one in excused}
    assert missing - set().union(*covers.values()) == set()
    assert [one for one, codes in covers.items() if not codes] == []  # it is on a page now


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_there_is_none_of_is_not_counted(page: Path) -> None:
    told = told_in(page.read_text("utf-8"))
    assert re.findall(r"(?<![\d.:])0 (?:[条轮次个份件行项]|[a-z]+s\b).*", told) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_reply_of_a_bot_begins_as_a_sentence_does(page: Path) -> None:
    told = re.findall(r"^\w+@\w+> /(?!memory help).*\n(.*)$", page.read_text("utf-8"), re.MULTILINE)
    assert [said for said in told if re.match("[a-z]+ ", said)] == []
