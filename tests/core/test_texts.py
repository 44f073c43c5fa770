"""Every code has a text in both languages, with the same placeholders."""

from __future__ import annotations

import argparse
import ast
import re
import string
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import get_args

import pytest
import yaml

from astrbot_plugin_scoped_memory import llm_memory as memory
from astrbot_plugin_scoped_memory.core import ROOT
from astrbot_plugin_scoped_memory.core.commands.look_commands import why_lines
from astrbot_plugin_scoped_memory.core.replies.outcome_text import error_text
from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.llm_memory import GIVEN_UP, Hit, Told, Trace
from astrbot_plugin_scoped_memory.llm_memory.cli.parser import build_parser
from astrbot_plugin_scoped_memory.llm_memory.composition.engine import refusal
from astrbot_plugin_scoped_memory.llm_memory.errors import DirectoryInUse, FormatNewer
from astrbot_plugin_scoped_memory.llm_memory.home.setting_values import KEYS
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import DecisionState
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Considered
from astrbot_plugin_scoped_memory.llm_memory.models.scope import NO_PERSONA
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.private import HIDDEN
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Said, Texts, catalogue
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.note_files import TOO_MANY
from astrbot_plugin_scoped_memory.llm_memory.vault.scan import OUTGROWN

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

FORMATTER = string.Formatter()
TEXTS = ROOT / "llm_memory/i18n"
SAYING = {
    "say", "_say", "fail", "words", "agrees", "note", "at", "Said", "SaidError", "Refusal",
    "HomeError", "BadValue", "InvalidService", "_NotRead",
}  # fmt: skip
"""What takes a code and what fills it in."""
CODE = re.compile(r"[a-z_]+\.[a-z_]+")
WORDED = {"fault", "reason", "cause", "who", "there", "odd"}
"""What a notice puts into words before it says it."""


def source(folder: str) -> str:
    return "\n".join(path.read_text("utf-8") for path in sorted((ROOT / folder).rglob("*.py")))


def calls(text: str) -> Iterator[tuple[ast.Call, str]]:
    """Each call with arguments, and the name of what is called."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and node.args:
            yield node, ast.unparse(node.func).rpartition(".")[2]


def ails() -> set[str]:
    """What the index, and what it is made of, may report."""
    found = re.findall(r'code(?:: str)? ?= ?"([a-z_]+)"', text := source("llm_memory/index"))
    constant = r'^_?[A-Z_]+: Final = "(busy|slow|not_ready|broken|closed|server|no_child)"$'
    outside = {"fault", "full", "missing", "in_use", "unreadable"}  # what Chroma's program tells
    return {*found, *re.findall(constant, text, re.MULTILINE), *outside}


def file_reasons() -> set[str]:
    """What the vault may report about a file."""
    files = (path.read_text("utf-8") for path in (ROOT / "llm_memory/vault").rglob("*.py"))
    reports = (one for file in files for one in calls(file))
    said = [one.args[-1] for one, name in reports if name in {"FileReport", "VaultFileBroken"}]
    return {TOO_MANY, OUTGROWN} | {one.value for one in said if isinstance(one, ast.Constant)}


def texts_of(group: str) -> list[str]:
    return [
        name for of, _, name in (code.partition(".") for code in catalogue("zh-CN")) if of == group
    ]


def given(group: str, *callees: str) -> set[str]:
    """The codes that these functions are handed as they are, and those that stand elsewhere."""
    text = source("llm_memory")
    handed = (arg for one, name in calls(text) if name in callees for arg in one.args[:1])
    codes = {str(one.value) for one in handed if isinstance(one, ast.Constant)}
    return codes | {code for code in texts_of(group) if f'"{code}"' in text}


CODES: dict[str, tuple[Iterable[str], bool]] = {
    "reject": (given("reject", "Refused", "Stopped"), True),
    "private": (HIDDEN, True),
    "why": (given("why", "Resolution"), True),
    "notice": (given("notice", "Notice", "stands", "_keep_only", "EngineOff"), True),
    "index": (get_args(memory.IndexState.__value__), True),
    "resting": (set(get_args(memory.Resting.__value__)) - {""}, True),
    "postponed": (set(get_args(memory.Postponed.__value__)) - {""}, True),
    "file": (file_reasons(), True),
    "cause": (ails(), False),
    "decision_state": (get_args(DecisionState), False),
    "objection": (("private", "dispute", "stale", "names_speaker"), False),
    "fate": (memory.DropReason, False),
    "tasks": (get_args(memory.TaskFate), False),
    "primer": (memory.PrimerPart, False),
    "transfer_fault": (given("transfer_fault", "TransferFailed") - {"illegal_place"}, True),
    "line_fault": (given("line_fault", "LineBroken"), True),
    "migrate": ([f"state_{state}" for state in get_args(memory.MigrationState.__value__)], False),
}
"""Which codes a group of texts has to have, and whether it has no others."""


def fields(text: str) -> set[str]:
    """The placeholders of a text."""
    return {name for _, name, _, _ in FORMATTER.parse(text) if name is not None}


@pytest.fixture(params=LANGUAGES)
def texts(request: pytest.FixtureRequest) -> Texts:
    """The texts of each language."""
    return Texts(str(request.param))


def test_both_languages_have_the_same_codes_and_placeholders_and_none_twice() -> None:
    """Of two YAML keeps the last one and drops the other."""
    chinese, english = (
        {code: fields(text) for code, text in catalogue(language).items() if text}
        for language in LANGUAGES
    )
    assert chinese == english
    for language in LANGUAGES:
        files = sorted((TEXTS / language).glob("*.yaml"))
        groups = [one for file in files for one in yaml.compose(file.read_text("utf-8")).value]
        names = [name.value for name, _ in groups]
        names += [f"{group.value}.{one.value}" for group, below in groups for one, _ in below.value]
        assert [name for name in names if names.count(name) > 1] == []


def test_every_code_of_an_enum_has_a_text_and_no_text_stands_for_one_that_is_gone() -> None:
    there = [code.partition(".")[::2] for code in catalogue("zh-CN")]
    for group, (codes, has_no_others) in CODES.items():
        said, wanted = {code for found, code in there if found == group}, set(map(str, codes))
        assert wanted, group
        assert wanted <= said, group
        assert not has_no_others or said == wanted, group


def test_every_notice_says_what_it_was_posted_with(texts: Texts) -> None:
    for code in texts_of("notice"):
        asked = fields(catalogue("zh-CN")[f"notice.{code}"]) - WORDED
        given = {name: f"«{name}»" for name in (*asked, "detail", "embedder")}
        odd = {"odd": "meant", "meant": "近", "key": "键", "value": "值"}
        codes = {"fault": "illegal", "reason": "not_utf8", "cause": "busy", "role": "a%2Fb"}
        params = {**odd, **given, **codes}
        said = notice_text(texts, memory.Notice(code, params=params))
        assert notice_text(texts, memory.Notice(code, params=params | {"cause": "of another"}))
        assert "{" not in said
        assert [name for name in asked if params[name] not in said] == [], code
        assert code != "soul_waits" or "a/b" in said
    nobodys = memory.Notice("soul_waits", params={"role": NO_PERSONA, "number": "3"})
    assert "没有选人格的会话里" in notice_text(Texts("zh-CN"), nobodys)


def test_why_the_engine_does_not_open_is_said_in_words(texts: Texts) -> None:
    for error in (DirectoryInUse("/srv/bot"), FormatNewer("/srv/bot", 3, 2, "≥ 0.4.0"), OSError()):
        code = refusal(error).code
        off = error_text(texts, memory.EngineOff(code, "x"))
        assert texts.say(f"engine_off.{code}") in off
        assert isinstance(error, OSError) or error_text(texts, error) == off


def _said() -> Iterator[tuple[str, str, set[str | None]]]:
    """Where a text is asked for, its code, and what is given to it."""
    folders = ("core", "llm_memory", "tools")
    paths = (one for name in folders for one in (ROOT / name).rglob("*.py"))
    for path in (*paths, ROOT / "main.py"):
        for node, name in calls(path.read_text("utf-8")):
            code = node.args[-1 if name == "at" else 0]
            codes = [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]
            given = {keyword.arg for keyword in node.keywords}
            for one in codes if name in SAYING else ():
                if isinstance(one, ast.Constant) and CODE.fullmatch(str(one.value)):
                    yield f"{path.name}:{node.lineno}", one.value, given
            for counted in given if name in ("counted", "listed", "say_counts") else ():
                if counted is not None:
                    group = ast.literal_eval(code)
                    yield f"{path.name}:{node.lineno}", f"{group}.{counted}", {"count"}


def test_every_text_that_the_code_asks_for_is_there_with_what_it_needs() -> None:
    chinese, asked = catalogue("zh-CN"), list(_said())
    assert len(asked) > 50
    assert [(place, code) for place, code, _ in asked if code not in chinese] == []
    filled = [one for one in asked if None not in one[2]]
    assert [one for one in filled if not fields(chinese[one[1]]) <= one[2]] == []


def _helped(parser: argparse.ArgumentParser) -> Iterator[str | None]:
    """The codes of a parser's help, and of the help of its commands."""
    yield from (parser.description, parser.epilog)
    for group in parser._action_groups:
        yield from (group.title, group.description)
    for action in parser._actions:
        yield from (action.help, *(one.help for one in getattr(action, "_choices_actions", ())))
        for one in action.choices.values() if isinstance(action.choices, dict) else ():
            yield from _helped(one)


def test_the_texts_of_the_help_are_there_and_none_of_a_home_is_left_over() -> None:
    chinese = catalogue("zh-CN")
    helped = {code for code in _helped(build_parser()) if code and CODE.fullmatch(code)}
    assert len(helped) > 100
    assert [code for code in helped if code not in chinese or fields(chinese[code])] == []
    services = source("llm_memory/index/embedding")
    failed = re.findall(r'(?:Failed\(f?"|[,=:] "|\(")([a-z_]+)[:"]', services)
    asked = helped | {code for _, code, _ in _said()} | {key.code for key in KEYS.values()}
    asked |= {f"service_fault.{code}" for code in failed}
    for name in ("cli", "home"):
        kept = yaml.safe_load((TEXTS / f"zh-CN/{name}.yaml").read_text("utf-8"))
        codes = {f"{group}.{code}" for group, texts in kept.items() for code in texts}
        assert sorted(codes - asked) == []


def test_a_param_may_be_a_text_of_its_own_and_a_value_stands_as_it_is(texts: Texts) -> None:
    both = Said("migrate.scanned", count=(Said("migrate.scanned", count="y"), "x"))
    one, comma = texts.say("migrate.scanned", count="y"), texts.say("common.and")
    assert both.text(texts.spoken) == texts.say("migrate.scanned", count=f"{one}{comma}x")
    assert "{x}{0}{" in texts.say("undo.not_found", id="{x}{0}{")


def test_a_way_back_has_one_of_three_names_and_a_word_goes_with_its_count() -> None:
    """And none is counted in the plural alone."""
    others = re.compile("恢复|退回|回滚|roll(?:ed)? ?back")
    texts = [one for language in LANGUAGES for one in catalogue(language).items()]
    assert [code for code, text in texts if others.search(text)] == []
    said = [Texts("en-US").say("reflect.waiting", count=count) for count in (0, 1, 2)]
    assert [" turn is " in one for one in said] == [False, True, False]
    counted = re.compile(r"\{(\w+):[^|{}]*\|(people|\w+s)\b")
    found = [one for text in catalogue("en-US").values() for one in counted.findall(text)]
    counts, nouns = ("|".join(set(some)) for some in zip(*found, strict=True))
    alone = re.compile(rf"\{{(?:{counts})\}} (?:\w+ )?(?:{nouns})\b")
    assert [code for code, text in catalogue("en-US").items() if alone.search(text)] == []


NOW = datetime(2026, 11, 21, tzinfo=UTC)
PLACES = {
    "zh-CN": "家人、公共、大家的规则和决定、人格的笔记、这个私聊里听来的、这个私聊",
    "en-US": "family, public, rules and decisions for everybody, notes of the persona, "
    "what was heard in this private chat, this private chat",
}


@pytest.mark.parametrize("language", PLACES)
def test_places_are_said_in_words_and_a_broken_part_names_no_folder(language: str) -> None:
    home = "家人" if language == "zh-CN" else "family"
    hit = Hit("m-3", "facts.md#m-3", home, "x", "Ming", NOW, 0.9)
    shelves = ("@shared", "@role:cat", f"@person:{'8' * 32}", f"@person:{'9' * 32}")
    notes = [GIVEN_UP, "lexical: [Errno 28] full: '/srv/bot/index'"]
    trace = Trace((home, "public", *shelves, "dm-1002-pvlcfxw4jcl7iqbr"), notes=notes)
    trace.considered = (Considered(home, "m-3", 0.8, None),)
    told = Told("c", "q", NOW, trace, {"m-3": hit}, {"m-3": "m-5"})
    texts = Texts(language)
    said = "\n".join(why_lines(texts, told, ["x"]))
    assert said.splitlines()[1].endswith(PLACES[language])
    assert texts.say("explain.given_up") in said
    assert all(word in said for word in ("m-5", "lexical", "1. x"))
    assert "/srv" not in said
    assert language == "zh-CN" or not {*said} & {*"、；，。：（）"}
