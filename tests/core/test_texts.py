"""Every code has a text in both languages, with the same placeholders."""

from __future__ import annotations

import argparse
import ast
import re
import string
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from astrbot_plugin_scoped_memory.core.plugin_names import ROOT
from astrbot_plugin_scoped_memory.core.replies.notice_text import notice_text
from astrbot_plugin_scoped_memory.core.replies.outcome_text import error_text
from astrbot_plugin_scoped_memory.llm_memory import (
    Arm,
    DropReason,
    EngineClosed,
    EngineOff,
    IndexState,
    IndexUnavailable,
    Notice,
    NoticeCode,
    Postponed,
    PrimerPart,
    PrivateKind,
    Rejected,
    RejectReason,
    Resting,
    ScopedMemoryError,
    ScopeFault,
    TaskFate,
    TransferFault,
    Voice,
    Why,
    WhyCode,
)
from astrbot_plugin_scoped_memory.llm_memory.cli.parser import build_parser
from astrbot_plugin_scoped_memory.llm_memory.errors import (
    DirectoryInUse,
    FormatNewer,
    UpgradeFailed,
)
from astrbot_plugin_scoped_memory.llm_memory.home.setting_values import KEYS
from astrbot_plugin_scoped_memory.llm_memory.index.indexing_service import FAULTY
from astrbot_plugin_scoped_memory.llm_memory.index.rules.circuit_breaker import UNEXPLAINED
from astrbot_plugin_scoped_memory.llm_memory.index.store_calls import HANGS, SLOW
from astrbot_plugin_scoped_memory.llm_memory.index.vector import session
from astrbot_plugin_scoped_memory.llm_memory.index.vector.collections import FOREIGN
from astrbot_plugin_scoped_memory.llm_memory.index.vector.folder_check import GARBAGE, PARTIAL
from astrbot_plugin_scoped_memory.llm_memory.index.vector.quarantine import STUCK
from astrbot_plugin_scoped_memory.llm_memory.index.vector.worker_store import CRASHED, DIED
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import MemoryKind, Source
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import DecisionFault, DecisionState
from astrbot_plugin_scoped_memory.llm_memory.models.rebinding import RebindFault
from astrbot_plugin_scoped_memory.llm_memory.models.shelf import NO_PERSONA
from astrbot_plugin_scoped_memory.llm_memory.models.transcript import NoTalk
from astrbot_plugin_scoped_memory.llm_memory.models.transfer import LineFault
from astrbot_plugin_scoped_memory.llm_memory.service.opening_steps import refusal
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
# What the engine posts with each notice.
PARAMS: dict[NoticeCode, Mapping[str, str]] = {
    NoticeCode.MAP_WRONG_TYPE: {},
    NoticeCode.MAP_ILLEGAL_NAME: {"key": "键", "value": "值", "fault": "empty"},
    NoticeCode.MAP_ODD_KEY: {"key": "键", "value": "值", "closest": "近"},
    NoticeCode.MAP_DAMAGED: {"count": "2"},
    NoticeCode.MAP_WRITTEN_OVER: {"keys": "aiocqhttp:GroupMessage:777"},
    NoticeCode.MAP_UNKNOWN: {"scopes": "家人", "lines": "键 → 家人"},
    NoticeCode.MAP_ACCOUNTS_GONE: {
        "accounts": "qq",
        "present": "xiaobao、webchat",
        "scopes": "家人",
        "lines": "键 → 家人",
    },
    NoticeCode.POLICY_UNKNOWN: {"name": "dm_scope"},
    NoticeCode.STRANGERS_IN_PUBLIC: {"count": "2"},
    NoticeCode.SCOPE_FILTER_OFF: {},
    NoticeCode.DIRECTORY_IN_USE: {"detail": "夹", "path": "夹"},
    NoticeCode.FORMAT_NEWER: {"path": "夹", "found": "2", "known": "1", "needs": "≥ 0.4.0"},
    NoticeCode.UPGRADE_FAILED: {"path": "夹", "detail": "满"},
    NoticeCode.STATE_RESET: {},
    NoticeCode.STATE_UNAVAILABLE: {"path": "夹", "detail": "满"},
    NoticeCode.LOOP_RESET: {},
    NoticeCode.PAUSES_LOST: {"count": "3"},
    NoticeCode.LOOP_UNAVAILABLE: {"path": "夹", "detail": "满"},
    NoticeCode.QUEUE_FULL: {"count": "5000"},
    NoticeCode.CHATTER_FULL: {"count": "2500"},
    NoticeCode.TURNS_HELD: {"count": "3", "detail": "database is locked"},
    NoticeCode.TURNS_LOST: {"count": "4"},
    NoticeCode.SUCCESSOR: {
        "key": "aiocqhttp:GroupMessage:2",
        "former": "aiocqhttp:GroupMessage:1",
    },
    NoticeCode.SLEEP_FAILED: {"detail": "满"},
    NoticeCode.BACKUP_FAILED: {"detail": "满"},
    NoticeCode.PURGE_UNFINISHED: {"detail": "state/loop.sqlite"},
    NoticeCode.RECORD_PUT_BACK: {"number": "D-0007", "path": "shared/DECISIONS.md"},
    NoticeCode.RECORD_TORN: {"number": "D-0007", "path": "shared/DECISIONS.md", "line": "12"},
    NoticeCode.CONSTITUTION_CHANGED: {"path": "shared/CONSTITUTION.md"},
    NoticeCode.ROOT_READ: {"files": "MEMORY.md"},
    NoticeCode.ROOT_UNREAD: {"files": "MEMORY.md"},
    NoticeCode.SOUL_WAITS: {"role": "猫娘", "number": "3"},
    NoticeCode.SOUL_APPLIED: {"role": "猫娘", "number": "3"},
    NoticeCode.SOUL_EDITED: {"role": "猫娘", "number": "0"},
    NoticeCode.SOUL_BROKEN: {"role": "猫娘", "number": "12"},
    NoticeCode.PAGE_LEFT: {"scope": "家人", "path": "MEMORY.md"},
    NoticeCode.VAULT_UNWRITABLE: {"detail": "满"},
    NoticeCode.VAULT_HELD: {"scope": "家人", "count": "7"},
    NoticeCode.VAULT_FILE_BROKEN: {"scope": "家人", "path": "x.md", "reason": "not_utf8"},
    NoticeCode.VAULT_SAME_ID: {
        "scope": "家人",
        "path": "x.md",
        "count": "2",
        "ids": "m-0001, m-0002",
    },
    NoticeCode.VAULT_COPY: {
        "scope": "家人",
        "path": "x (1).md",
        "original": "x.md",
        "count": "7",
        "different": "1",
    },
    NoticeCode.VAULT_TWIN: {"folder": "Home", "scope": "home"},
    NoticeCode.INDEX_OFF: {"cause": "busy", "detail": "坏"},
    NoticeCode.INDEX_FULL: {"detail": "10 MB"},
    NoticeCode.INDEX_REBUILT: {"cause": "faulty"},
    NoticeCode.LEXICAL_OFF: {"detail": "坏"},
    NoticeCode.EMBEDDER_FAILING: {"embedder": "e", "detail": "坏"},
    NoticeCode.ADOPTION_FAILED: {"store": "livingmemory/x.db", "detail": "坏"},
    NoticeCode.ADOPTION_BROKEN: {"count": "3", "file": "broken.jsonl"},
    NoticeCode.ADOPTION_QUARANTINED: {"count": "2"},
    NoticeCode.REFUSED_ID: {"id": "x"},
}
FORMATTER = string.Formatter()
MAIN = ROOT / "main.py"
UNLASTING = ("guess", "dispute", "stale")
"""What ``lasting`` says of words that will not last."""
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


FILES = sorted((ROOT / "llm_memory/i18n").glob("*/*.yaml"))


@pytest.mark.parametrize("file", FILES, ids=lambda one: f"{one.parent.name}/{one.name}")
def test_no_group_and_no_code_stands_twice_in_a_file(file: Path) -> None:
    twice: list[str] = []
    nodes = [yaml.compose(file.read_text("utf-8"))]
    for node in nodes:
        names = [name.value for name, _ in node.value]
        twice += [name for name in names if names.count(name) > 1]
        nodes += [below for _, below in node.value if isinstance(below, yaml.MappingNode)]
    assert twice == []  # YAML keeps the last one and drops the others


def test_every_code_of_an_enum_has_a_text(texts: Texts) -> None:
    codes = [
        *(f"reject.{reason}" for reason in RejectReason),
        *(f"private.{kind}" for kind in PrivateKind),
        *(f"why.{code}" for code in WhyCode),
        *(f"fault.{fault}" for fault in ScopeFault),
        *(f"notice.{code}" for code in NoticeCode),
        *(f"index.{state}" for state in IndexState),
        *(f"resting.{reason}" for reason in Resting if reason is not Resting.NO),
        *(f"postponed.{reason}" for reason in Postponed if reason is not Postponed.NO),
        *(f"file.{reason}" for reason in FILE_REASONS),
        *(f"voice.{voice}" for voice in Voice),
        *(f"memory_kind.{kind.name.lower()}" for kind in MemoryKind),
        *(f"source.{source.name.lower()}" for source in Source),
        *(f"decision_state.{state}" for state in DecisionState),
        *(f"decision_fault.{fault}" for fault in DecisionFault),
        *(
            f"objection.{code}"
            for code in ("private", "guess", "dispute", "stale", "names_speaker")
        ),
        *(f"talk.{reason}" for reason in NoTalk),
        *(f"fate.{reason}" for reason in DropReason),
        *(f"arm.{arm}" for arm in Arm),
        *(f"tasks.{fate}" for fate in TaskFate),
        *(f"primer.{part}" for part in PrimerPart),
        *(f"rebind.{fault}" for fault in RebindFault),
        *(f"transfer_fault.{fault}" for fault in TransferFault),
        *(f"line_fault.{fault}" for fault in LineFault),
    ]
    assert [code for code in codes if not texts.knows(code)] == []


def test_no_text_stands_for_a_code_that_is_gone() -> None:
    known = {
        "reject": set(RejectReason),
        "private": set(PrivateKind),
        "why": set(WhyCode),
        "fault": set(ScopeFault),
        "notice": {*NoticeCode, "map_closest"},
        "index": set(IndexState),
        "resting": set(Resting),
        "postponed": set(Postponed),
        "file": FILE_REASONS,
    }
    for code in catalogue("zh-CN"):
        group, _, name = code.partition(".")
        assert group not in known or name in {str(member) for member in known[group]}, code


def test_whatever_ails_the_index_has_a_text(texts: Texts) -> None:
    source = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "llm_memory").rglob("*.py")
    )
    codes = set(re.findall(r'code(?:: str)? ?= ?"([a-z_]+)"', source))
    assert {"in_use", "native", "no_owner", "openings", "unreadable"} <= codes
    codes |= {"busy", "full", "missing", GARBAGE, PARTIAL, CRASHED, DIED}
    codes |= {FAULTY, HANGS, SLOW, STUCK, FOREIGN, UNEXPLAINED}
    codes |= {session.DOWN, session.SLOW, session.DENIED, session.VERSION}
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
    [("猫娘", "人格“猫娘”"), ("a%2Fb", "人格“a/b”"), (NO_PERSONA, "没有人格时")],
)
def test_a_notice_on_a_soul_names_the_persona_and_where_an_admin_answers(
    role: str, called: str
) -> None:
    params = {"role": role, "number": "3"}
    said = notice_text(Texts("zh-CN"), Notice(NoticeCode.SOUL_WAITS, params=params))
    assert said.startswith(called)
    assert ("没有人格的会话里" in said) is (role == NO_PERSONA)
    assert ("用这个人格的会话里" in said) is (role != NO_PERSONA)


@pytest.mark.parametrize("code", NoticeCode)
def test_every_notice_can_be_said(texts: Texts, code: NoticeCode) -> None:
    said = notice_text(texts, Notice(code, params=PARAMS[code]))
    assert said
    assert "{" not in said
    for name, value in PARAMS[code].items():
        if name in fields(catalogue("zh-CN")[f"notice.{code}"]) - {
            "fault",
            "reason",
            "cause",
        }:
            assert value in said


@pytest.mark.parametrize("closest", ["", "aiocqhttp:GroupMessage:777"])
def test_the_notice_of_an_odd_key_names_the_closest_id_if_there_is_one(
    texts: Texts, closest: str
) -> None:
    params = {"key": "777", "value": "家人", "closest": closest}
    said = notice_text(texts, Notice(NoticeCode.MAP_ODD_KEY, params=params))
    assert closest in said
    assert "777" in said


@pytest.mark.parametrize("code", WhyCode)
def test_every_reason_can_be_said_in_a_refusal(texts: Texts, code: WhyCode) -> None:
    for reason in RejectReason:
        refused = Rejected(reason, Why(code, "{key}", "{0}{x!r}"), "{}", (PrivateKind.CARD,))
        assert texts.said(refusal_words(refused))


@pytest.mark.parametrize(
    "error", [EngineClosed("x"), EngineOff("directory_in_use", "x"), IndexUnavailable("x")]
)
def test_every_error_can_be_said(
    texts: Texts, error: EngineClosed | EngineOff | IndexUnavailable
) -> None:
    assert error_text(texts, error)


@pytest.mark.parametrize(
    "error",
    [
        DirectoryInUse("/srv/bot"),
        FormatNewer("/srv/bot", 3, 2, "≥ 0.4.0"),
        UpgradeFailed("/srv/bot", "disk full"),
        OSError("/srv/bot: read-only"),
    ],
)
def test_why_the_engine_does_not_open_is_said_in_words(texts: Texts, error: Exception) -> None:
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
            if called.endswith(".counted"):
                assert isinstance(code, ast.Dict), f"{path.name}:{node.lineno}"
                for key in code.keys:
                    yield f"{path.name}:{node.lineno}", ast.literal_eval(key), {"count"}


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


def test_every_text_of_the_help_is_there_and_needs_nothing() -> None:
    chinese = catalogue("zh-CN")
    asked = {code for code in _helped(build_parser()) if code and CODE.fullmatch(code)}
    assert len(asked) > 100
    assert [code for code in sorted(asked) if code not in chinese or fields(chinese[code])] == []


def test_no_text_of_the_command_line_or_a_home_is_left_over() -> None:
    asked = {*_helped(build_parser()), *(code for _, code, _ in _said())}
    asked |= {key.code for key in KEYS.values()}
    for path in (ROOT / "llm_memory/index/embedding/service").glob("*.py"):
        failed = re.findall(r'(?:Failed|Rejected)\(f?"([a-z_]+): ', path.read_text("utf-8"))
        asked |= {f"service_fault.{code}" for code in failed}
    for name in ("cli", "home"):
        kept = yaml.safe_load((TEXTS / f"zh-CN/{name}.yaml").read_text("utf-8"))
        codes = {f"{group}.{code}" for group, texts in kept.items() for code in texts}
        assert sorted(codes - asked) == []


def test_a_group_of_texts_lies_in_one_file() -> None:
    files = sorted((TEXTS / "zh-CN").glob("*.yaml"))
    groups = [group for file in files for group in yaml.safe_load(file.read_text("utf-8"))]
    assert len(groups) == len(set(groups))


def test_a_param_may_be_a_text_of_its_own(texts: Texts) -> None:
    scanned = Said("migrate.scanned", count=Said("common.and"))
    both = Said("migrate.scanned", count=(scanned, "x"))
    comma = texts.say("common.and")
    one = texts.say("migrate.scanned", count=comma)
    assert texts.said(scanned) == one
    assert both.text(texts.spoken) == texts.say("migrate.scanned", count=f"{one}{comma}x")


def test_a_text_with_braces_in_a_value_is_said_as_it_stands() -> None:
    said = Texts("zh-CN").say("undo.not_found", id="{x}{0}{")
    assert "{x}{0}{" in said
