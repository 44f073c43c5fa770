"""Secrets and numbers are hidden or refused; what only looks like them is left alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.benchmarks.privacy import over_all, read, score
from astrbot_plugin_scoped_memory.llm_memory.models.conversation import Actor
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import (
    MemoryDraft,
    PrivateKind,
    Reason,
    Refused,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import PrivacyMode
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.private import find, hide, protect
from astrbot_plugin_scoped_memory.tests.support.sentences import sentences

pytestmark = pytest.mark.unit

LINES = read()
PHONE = "我的手机号是13800138000，有事打给我"
KEY = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"


def test_what_is_private_is_found_and_little_else_as_the_page_for_owners_tells() -> None:
    page = (Path(__file__).parents[3] / "docs" / "privacy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    scores = score(LINES)
    everything = over_all(scores.values())
    measured = [*(scores[kind] for kind in PrivateKind), everything]
    assert len(rows) == len(measured)
    for (name, *told), one in zip(rows, measured, strict=True):
        assert min(one.recall, one.precision) >= 0.97, one.misses
        assert int(told[0]) == one.marked, name
        shares = (one.recall, one.precision)
        assert [*map(float, told[1:])] == pytest.approx(shares, abs=0.006), name
    plain = sum(not line.private for line in LINES)
    assert f"有 {len(LINES)} 行" in page
    assert f"标出 {everything.marked} 处该隐去的，其中 {plain} 行一处都没有" in page


def test_an_amount_is_no_card_whatever_its_last_digit() -> None:
    (card,) = find("卡 4111111111111111 到期了")
    assert card[0] is PrivateKind.CARD
    assert not find("¥4111111111111111 元")


def test_what_is_hidden_is_found_no_second_time() -> None:
    for line in LINES:
        once = hide(line.text, find(line.text))
        assert [once[start:end] for _, start, end in find(once)] == [], once


@given(st.one_of(st.text(max_size=120), st.sampled_from(["1", "13800138000 ", "+1 ", "密码是"])))
def test_what_is_found_stands_in_order_and_apart(text: str) -> None:
    at, heap = 0, text * (1 if len(text) > 12 else 600)
    for _, start, end in find(heap):
        assert at <= start < end <= len(heap)
        at = end


DRAFT = MemoryDraft(
    "房东的电话是13800138000",
    reasoning=f"他发来的，还有密钥 {KEY}",
    tags=("房东", "手机13800138000"),
    context="上一句：我的密码是hunter2",
    actor=Actor("aiocqhttp:10001", "老王 13912345678"),
)


def test_every_part_of_a_draft_is_hidden_alike() -> None:
    passed = protect(DRAFT, PrivacyMode.REDACT)
    assert isinstance(passed, MemoryDraft)
    assert passed.judgment == "房东的电话是[电话号码已隐藏]"
    assert passed.reasoning == "他发来的，还有密钥 [密钥已隐藏]"
    assert passed.tags == ("房东", "手机[电话号码已隐藏]")
    assert passed.context == "上一句：我的密码是[密码已隐藏]"
    assert passed.actor == Actor("aiocqhttp:10001", "老王 [电话号码已隐藏]")
    assert set(passed.hidden) == {PrivateKind.PHONE, PrivateKind.TOKEN, PrivateKind.PASSWORD}
    assert protect(DRAFT, PrivacyMode.OFF) == DRAFT
    english = protect(MemoryDraft("call Dad at +1 415-555-2671"), PrivacyMode.REDACT)
    assert isinstance(english, MemoryDraft)
    assert english.judgment == "call Dad at [phone number hidden]"


def test_one_secret_anywhere_refuses_the_draft_but_in_a_name_it_is_hidden() -> None:
    refused = Refused(Reason.PRIVATE, private=(PrivateKind.PHONE,))
    assert protect(MemoryDraft("房东姓王", tags=(PHONE,)), PrivacyMode.REJECT) == refused
    draft = MemoryDraft("房东姓王", actor=Actor("qq:1", "老王13912345678"))
    hidden = replace(draft, actor=Actor("qq:1", "老王[电话号码已隐藏]"))
    assert protect(draft, PrivacyMode.REJECT) == hidden


@pytest.mark.parametrize("text", sentences("bare_secret"))
def test_what_says_nothing_beside_its_secret_is_refused(text: str) -> None:
    outcome = protect(MemoryDraft(text), PrivacyMode.REDACT)
    assert isinstance(outcome, Refused)
    assert outcome.reason is Reason.PRIVATE


MIX, HEX, NUMBER = "a1B2c3D4e5F6g7H8i9J0" * 5, "0f1e2d3c4b5a6978" * 2, "1234567890"
ISSUED = (
    *(f"{prefix}{MIX[:36]}" for prefix in ("ghp_", "glpat-", "sk_live_", "sq0csp-", "npm_", "hf_")),
    *(f"M{MIX[:23]}.{MIX[:6]}.{MIX[:27]}", f"SG.{MIX[:22]}.{MIX[:43]}", f"sk-{MIX[:40]}"),
    *(f"AKIA{HEX[:16].upper()}", f"xoxb-{NUMBER}1-{NUMBER}1-{MIX[:24]}", f"{NUMBER}:{MIX[:35]}"),
    *(f"{HEX}-us7", f"SK{HEX}", f"pypi-AgEIcHlwaS5vcmc{MIX[:80]}", f"AccountKey={MIX[:86]}=="),
    f"https://tom:{MIX[:12]}@example.org/x",
)


@pytest.mark.parametrize("token", ISSUED)
def test_what_an_issuer_forms_so_is_a_token(token: str) -> None:
    assert [kind for kind, _, _ in find(f"记住 {token} 这个")] == [PrivateKind.TOKEN]


@pytest.mark.parametrize("marked", [*sentences("secrets"), *sentences("no_secrets")])
def test_a_secret_that_is_named_as_such_is_hidden_and_ordinary_talk_is_not(marked: str) -> None:
    text, secret = re.sub("[{}]", "", marked), re.findall("{(.*?)}", marked)
    assert [text[start:end] for _, start, end in find(text)] == secret
