"""Every code has a text in both languages, with the same placeholders."""

from __future__ import annotations

import argparse
import ast
import re
import string
from collections.abc import Iterable, Iterator

import pytest
import yaml

from astrbot_plugin_scoped_memory.core.plugin_names import ROOT
from astrbot_plugin_scoped_memory.core.replies.outcome_text import error_text
from astrbot_plugin_scoped_memory.core.replies.status_text import notice_text
from astrbot_plugin_scoped_memory.llm_memory import (
    DropReason,
    EngineClosed,
    EngineOff,
    IndexState,
    IndexUnavailable,
    MigrationState,
    Notice,
    NoticeCode,
    Postponed,
    PrimerPart,
    PrivateKind,
    Reason,
    Refused,
    Resting,
    ScopedMemoryError,
    ScopeFault,
    TaskFate,
    TransferFault,
    Why,
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.cli.parser import build_parser
from astrbot_plugin_scoped_memory.llm_memory.composition.engine import refusal
from astrbot_plugin_scoped_memory.llm_memory.errors import DirectoryInUse, FormatNewer
from astrbot_plugin_scoped_memory.llm_memory.home.setting_values import KEYS
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryKind, Source
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import DecisionFault, DecisionState
from astrbot_plugin_scoped_memory.llm_memory.models.scope import NO_PERSONA
from astrbot_plugin_scoped_memory.llm_memory.models.transfer import LineFault
from astrbot_plugin_scoped_memory.llm_memory.text.refusal_words import refusal_words
from astrbot_plugin_scoped_memory.llm_memory.texts import LANGUAGES, Said, Texts, catalogue
from astrbot_plugin_scoped_memory.llm_memory.vault.notes.note_files import TOO_MANY
from astrbot_plugin_scoped_memory.llm_memory.vault.scan import OUTGROWN

pytestmark = [pytest.mark.unit, pytest.mark.astrbot]

# What the vault reports about a file; see FileReport in ports/vault.py.
FILE_REASONS = {
    "not_utf8", "gb18030", "utf16", "unreadable", "duplicate_id", "illegal_folder", "misnamed",
    "illegal_role", "link", "too_large", "too_many", "oversized",
    "outgrown", "marks",
}  # fmt: skip
CODES: dict[str, tuple[Iterable[str], bool]] = {
    "reject": (Reason, True),
    "private": (PrivateKind, True),
    "why": (WhyCode, True),
    "fault": (ScopeFault, True),
    "notice": (NoticeCode, True),
    "index": (IndexState, True),
    "resting": (set(Resting) - {Resting.NO}, True),
    "postponed": (set(Postponed) - {Postponed.NO}, True),
    "file": (FILE_REASONS, True),
    "memory_kind": ([kind.name.lower() for kind in MemoryKind], False),
    "source": ([source.name.lower() for source in Source], False),
    "decision_state": (DecisionState, False),
    "decision_fault": (DecisionFault, False),
    "objection": (("private", "dispute", "stale", "names_speaker"), False),
    "fate": (DropReason, False),
    "tasks": (TaskFate, False),
    "primer": (PrimerPart, False),
    "transfer_fault": (TransferFault, False),
    "line_fault": (LineFault, False),
    "migrate": ([f"state_{state}" for state in MigrationState], False),
}
"""Which codes a group of texts has to have, and whether it has no others."""
WORDED = {"fault", "reason", "cause", "who", "there", "odd"}
"""What a notice puts into words before it says it."""
FORMATTER = string.Formatter()
MAIN = ROOT / "main.py"
TEXTS = ROOT / "llm_memory/i18n"
SAYING = {
    "say", "_say", "fail", "words", "agrees", "note", "at", "Said", "SaidError", "Refusal",
    "HomeError", "BadValue", "InvalidService", "_NotRead",
}  # fmt: skip
"""What takes a code and what fills it in."""
CODE = re.compile(r"[a-z_]+\.[a-z_]+")


def fields(text: str) -> set[str]:
    """The placeholders of a text."""
    return {name for _, name, _, _ in FORMATTER.parse(text) if name is not None}


@pytest.fixture(params=LANGUAGES)
def texts(request: pytest.FixtureRequest) -> Texts:
    """The texts of each language."""
    return Texts(str(request.param))


def test_both_languages_have_the_same_codes_and_placeholders() -> None:
    chinese, english = (catalogue(language) for language in LANGUAGES)
    assert {code: fields(text) for code, text in chinese.items()} == {
        code: fields(text) for code, text in english.items()
    }
    assert all(isinstance(text, str) and text for text in (*chinese.values(), *english.values()))


def test_no_group_and_no_code_stands_twice() -> None:
    """YAML keeps the last one and drops the others."""
    twice: list[str] = []
    for language in LANGUAGES:
        files = sorted((TEXTS / language).glob("*.yaml"))
        nodes = [yaml.compose(file.read_text("utf-8")) for file in files]
        groups = [name.value for node in nodes for name, _ in node.value]
        twice += [name for name in groups if groups.count(name) > 1]
        for group in (below for node in nodes for _, below in node.value):
            names = [name.value for name, _ in group.value]
            twice += [name for name in names if names.count(name) > 1]
    assert twice == []


@pytest.mark.parametrize("group", CODES)
def test_every_code_of_an_enum_has_a_text_and_no_text_stands_for_one_that_is_gone(
    group: str,
) -> None:
    codes, has_no_others = CODES[group]
    parts = (code.partition(".") for code in catalogue("zh-CN"))
    there = {code for found, _, code in parts if found == group}
    wanted = {str(code) for code in codes}
    assert wanted <= there
    assert not has_no_others or there == wanted


def test_whatever_ails_the_index_has_a_text(texts: Texts) -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "llm_memory").rglob("*.py")
    )
    codes = set(re.findall(r'code(?:: str)? ?= ?"([a-z_]+)"', source))
    assert {"in_use", "native", "no_owner", "openings", "unreadable"} <= codes
    named = "busy|garbage|partial|crashed|died|faulty|hangs|slow|stuck|foreign_collection|fault"
    constant = rf'^[A-Z]+: Final = "({named}|missing|server_[a-z]+)"$'
    codes |= set(re.findall(constant, source, re.MULTILINE)) | {"full", "missing"}
    assert [code for code in sorted(codes) if not texts.knows(f"cause.{code}")] == []


def test_the_vault_reports_only_reasons_that_have_a_text() -> None:
    sources = sorted((ROOT / "llm_memory/vault").rglob("*.py"))
    reported = {
        node.args[-1].value
        for source in sources
        for node in ast.walk(ast.parse(source.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"FileReport", "VaultFileBroken"}
        and isinstance(node.args[-1], ast.Constant)
    }
    assert reported | {TOO_MANY, OUTGROWN} == FILE_REASONS


@pytest.mark.parametrize(
    ("role", "called"),
    [("猫娘", "人格“猫娘”"), ("a%2Fb", "人格“a/b”"), (NO_PERSONA, "没有选人格的会话")],
)
def test_a_notice_on_a_soul_names_the_persona_and_where_an_admin_answers(
    role: str, called: str
) -> None:
    params = {"role": role, "number": "3"}
    said = notice_text(Texts("zh-CN"), Notice(NoticeCode.SOUL_WAITS, params=params))
    assert said.startswith(called)
    assert ("没有选人格的会话里" in said) is (role == NO_PERSONA)
    assert ("用这个人格的会话里" in said) is (role != NO_PERSONA)


@pytest.mark.parametrize("code", NoticeCode)
def test_every_notice_says_what_it_was_posted_with(texts: Texts, code: NoticeCode) -> None:
    asked = fields(catalogue("zh-CN")[f"notice.{code}"]) - WORDED
    given = {name: f"«{name}»" for name in (*asked, "detail", "embedder")}
    codes = {"fault": "empty", "reason": "not_utf8", "cause": "busy"}
    odd = {"odd": "meant", "meant": "近", "key": "键", "value": "值"}
    params = {**odd, **given, **codes, "role": "猫娘"}
    said = notice_text(texts, Notice(code, params=params))
    assert "{" not in said
    assert [name for name in asked if params[name] not in said] == []


@pytest.mark.parametrize("code", WhyCode)
def test_every_reason_can_be_said_in_a_refusal(texts: Texts, code: WhyCode) -> None:
    for reason in Reason:
        refused = Refused(reason, Why(code, "{key}", "{0}{x!r}"), "{}", (PrivateKind.CARD,))
        assert texts.said(refusal_words(refused))


@pytest.mark.parametrize(
    "error",
    [
        DirectoryInUse("/srv/bot"),
        FormatNewer("/srv/bot", 3, 2, "≥ 0.4.0"),
        OSError("/srv/bot: read-only"),
    ],
)
def test_why_the_engine_does_not_open_is_said_in_words(texts: Texts, error: Exception) -> None:
    assert error_text(texts, EngineClosed("x")) != error_text(texts, IndexUnavailable("x"))
    code = refusal(error).code
    words = texts.say(f"engine_off.{code}")
    assert words in error_text(texts, EngineOff(code, "x"))
    if isinstance(error, ScopedMemoryError):
        assert error_text(texts, error) == error_text(texts, EngineOff(code, "x"))


def _said() -> Iterator[tuple[str, str, set[str | None]]]:
    folders = ("core", "llm_memory", "tools")
    for path in [*(one for name in folders for one in ROOT.glob(f"{name}/**/*.py")), MAIN]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            called = ast.unparse(node.func)
            name = called.rpartition(".")[2]
            code = node.args[-1 if name == "at" else 0]
            codes = [code.body, code.orelse] if isinstance(code, ast.IfExp) else [code]
            for one in codes if name in SAYING else ():
                if isinstance(one, ast.Constant) and CODE.fullmatch(str(one.value)):
                    given = {keyword.arg for keyword in node.keywords}
                    yield f"{path.name}:{node.lineno}", one.value, given
            if name in ("counted", "listed", "say_counts"):
                for counted in filter(None, (keyword.arg for keyword in node.keywords)):
                    group = ast.literal_eval(code)
                    yield f"{path.name}:{node.lineno}", f"{group}.{counted}", {"count"}


def test_every_text_that_the_code_asks_for_is_there_with_what_it_needs() -> None:
    chinese = catalogue("zh-CN")
    asked = list(_said())
    assert len(asked) > 50
    problems = [
        (place, code)
        for place, code, given in asked
        if code not in chinese or not (None in given or fields(chinese[code]) <= given)
    ]
    assert problems == []


def _helped(parser: argparse.ArgumentParser) -> Iterator[str | None]:
    """The codes of a parser's help, and of the help of its commands."""
    yield from (parser.description, parser.epilog)
    for group in parser._action_groups:
        yield from (group.title, group.description)
    for action in parser._actions:
        yield action.help
        if isinstance(action, argparse._SubParsersAction):
            yield from (one.help for one in action._choices_actions)
            for one in action.choices.values():
                yield from _helped(one)


def test_the_texts_of_the_help_are_there_and_none_of_a_home_is_left_over() -> None:
    chinese, helped = catalogue("zh-CN"), {*_helped(build_parser())}
    codes = {code for code in helped if code and CODE.fullmatch(code)}
    assert len(codes) > 100
    assert [code for code in codes if code not in chinese or fields(chinese[code])] == []
    asked = helped | {code for _, code, _ in _said()}
    asked |= {key.code for key in KEYS.values()}
    for path in (ROOT / "llm_memory/index/embedding/service").glob("*.py"):
        failed = re.findall(r'(?:Failed|Rejected)\(f?"([a-z_]+): ', path.read_text("utf-8"))
        asked |= {f"service_fault.{code}" for code in failed}
    for name in ("cli", "home"):
        kept = yaml.safe_load((TEXTS / f"zh-CN/{name}.yaml").read_text("utf-8"))
        codes = {f"{group}.{code}" for group, texts in kept.items() for code in texts}
        assert sorted(codes - asked) == []


def test_a_param_may_be_a_text_of_its_own(texts: Texts) -> None:
    scanned = Said("migrate.scanned", count=Said("common.and"))
    both = Said("migrate.scanned", count=(scanned, "x"))
    comma = texts.say("common.and")
    one = texts.say("migrate.scanned", count=comma)
    assert texts.said(scanned) == one
    assert both.text(texts.spoken) == texts.say("migrate.scanned", count=f"{one}{comma}x")
    assert "{x}{0}{" in texts.say("undo.not_found", id="{x}{0}{")  # a value stands as it is


def test_a_way_back_has_one_of_three_names() -> None:
    others = re.compile("恢复|退回|回滚|roll(?:ed)? ?back")
    texts = [one for language in LANGUAGES for one in catalogue(language).items()]
    assert [code for code, text in texts if others.search(text)] == []


def test_a_word_goes_with_its_count_and_none_is_counted_in_the_plural_alone() -> None:
    english = Texts("en-US")
    said = [english.say("reflect.waiting", count=count) for count in (0, 1, 2)]
    assert [" turn is " in one for one in said] == [False, True, False]
    counted = re.compile(r"\{(\w+):[^|{}]*\|(people|\w+s)\b")
    found = [one for text in catalogue("en-US").values() for one in counted.findall(text)]
    counts, nouns = ("|".join(set(some)) for some in zip(*found, strict=True))
    alone = re.compile(rf"\{{(?:{counts})\}} (?:\w+ )?(?:{nouns})\b")
    assert [code for code, text in catalogue("en-US").items() if alone.search(text)] == []
