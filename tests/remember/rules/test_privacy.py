"""Secrets and numbers are hidden or refused; what only looks like them is left alone."""

from __future__ import annotations

import random
import re
import string
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
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
from astrbot_plugin_scoped_memory.llm_memory.remember.draft_checks import PrivateData
from astrbot_plugin_scoped_memory.llm_memory.remember.rules.private import (
    Protected,
    Span,
    find,
    has_id_checksum,
    has_luhn,
    hide,
    protect,
)

pytestmark = pytest.mark.unit

LINES = read()
PHONE = "我的手机号是13800138000，有事打给我"
KEY = "sk-" + "a1B2c3D4e5F6g7H8i9J0k1L2"


@pytest.mark.parametrize(
    ("finder", "recall", "precision"),
    [(PrivateData(), 0.98, 0.98), (find, 0.95, 0.98)],
    ids=["with phonenumberslite", "without"],
)
def test_what_is_private_is_found_and_little_else(
    finder: Callable[[str], Sequence[Span]], recall: float, precision: float
) -> None:
    scores = score(LINES, finder)
    everything = over_all(scores.values())
    assert everything.recall >= recall
    assert everything.precision >= precision
    for kind, one in scores.items():
        assert one.recall >= (0.93 if kind is PrivateKind.PHONE else 0.95), one.misses
        assert one.precision >= 0.97, one.misses


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_both_languages_are_understood(lang: str) -> None:
    everything = over_all(score([x for x in LINES if x.lang == lang], PrivateData()).values())
    assert min(everything.recall, everything.precision) >= 0.97


def test_the_page_for_owners_tells_what_is_measured() -> None:
    page = (Path(__file__).parents[3] / "docs" / "privacy.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\S+) \| (\d+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|$", page, re.M)
    told = {name: tuple(map(float, numbers)) for name, *numbers in rows}
    whole, alone = score(LINES, PrivateData()), score(LINES, find)
    everything, rest = over_all(whole.values()), over_all(alone.values())
    measured = [*((whole[kind], alone[kind]) for kind in PrivateKind), (everything, rest)]
    assert len(told) == len(measured)
    for (name, (marked, *shares)), (one, without) in zip(told.items(), measured, strict=True):
        assert marked == one.marked, name
        for share, exactly in zip(shares, (one.recall, one.precision, without.recall), strict=True):
            assert share == pytest.approx(exactly, abs=0.006), name
    plain = sum(not line.private for line in LINES)
    assert f"有 {len(LINES)} 行" in page
    assert f"标出 {everything.marked} 处该隐去的，其中 {plain} 行一处都没有" in page


def test_what_is_hidden_is_found_no_second_time() -> None:
    finder = PrivateData()
    for line in LINES:
        once = hide(line.text, finder(line.text), chinese=line.lang == "zh")
        again = [once[start:end] for _, start, end in finder(once)]
        assert again == [], once


def test_without_the_library_our_own_rules_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "phonenumbers", None)
    finder = PrivateData()
    assert [finder(PHONE), finder(PHONE)] == [find(PHONE)] * 2


@pytest.mark.parametrize("text", ["1" * 8000, "13800138000 " * 600, "+1 " * 3000, "密码是" * 2000])
def test_a_heap_of_digits_is_no_reason_to_fail(text: str) -> None:
    for _, start, end in PrivateData()(text):
        assert 0 <= start < end <= len(text)


@given(st.text(max_size=120))
def test_what_is_found_stands_in_order_and_apart(text: str) -> None:
    at = 0
    for _, start, end in find(text):
        assert at <= start < end <= len(text)
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
    assert isinstance(passed, Protected)
    assert passed.draft.judgment == "房东的电话是[电话号码已隐藏]"
    assert passed.draft.reasoning == "他发来的，还有密钥 [密钥已隐藏]"
    assert passed.draft.tags == ("房东", "手机[电话号码已隐藏]")
    assert passed.draft.context == "上一句：我的密码是[密码已隐藏]"
    assert passed.draft.actor == Actor("aiocqhttp:10001", "老王 [电话号码已隐藏]")
    assert set(passed.hidden) == {PrivateKind.PHONE, PrivateKind.TOKEN, PrivateKind.PASSWORD}


@pytest.mark.parametrize("part", ["judgment", "reasoning", "tags", "context"])
def test_one_secret_anywhere_refuses_the_draft_where_the_owner_wants_so(part: str) -> None:
    value = (PHONE,) if part == "tags" else PHONE
    outcome = protect(replace(MemoryDraft("房东姓王"), **{part: value}), PrivacyMode.REJECT)
    assert outcome == Refused(Reason.PRIVATE, private=(PrivateKind.PHONE,))


def test_a_speakers_name_is_hidden_and_refuses_nothing() -> None:
    draft = MemoryDraft("房东姓王", actor=Actor("qq:1", "老王13912345678"))
    passed = protect(draft, PrivacyMode.REJECT)
    assert isinstance(passed, Protected)
    assert passed.draft.actor == Actor("qq:1", "老王[电话号码已隐藏]")
    assert passed.hidden == ()


@pytest.mark.parametrize(
    "text",
    [
        "13800138000",
        f"{KEY}。",
        "13800138000，13912345678",
        "我手机13812345678",
        "我的手机号是 13812345678",
        "my phone number is 13812345678",
        "门锁密码 4829",
        "大门的门禁码是 4829",
        "保险柜的密码改成了 4829",
        "验证码是 482913",
        "The door code is 4829",
        "the safe's combination: 4829",
    ],
)
def test_what_says_nothing_beside_its_secret_is_refused(text: str) -> None:
    outcome = protect(MemoryDraft(text), PrivacyMode.REDACT)
    assert isinstance(outcome, Refused)
    assert outcome.reason is Reason.PRIVATE


def test_off_keeps_every_character() -> None:
    assert protect(DRAFT, PrivacyMode.OFF) == Protected(DRAFT)


def test_a_text_is_marked_in_its_own_language() -> None:
    passed = protect(MemoryDraft("call Dad at +1 415-555-2671"), PrivacyMode.REDACT)
    assert isinstance(passed, Protected)
    assert passed.draft.judgment == "call Dad at [phone number hidden]"


@given(st.text(string.digits, min_size=2, max_size=19))
def test_the_luhn_digit_is_the_one_that_the_standard_library_of_numbers_says(digits: str) -> None:
    luhn = pytest.importorskip("stdnum.luhn")
    assert has_luhn(digits) is luhn.is_valid(digits)


@given(st.text(string.digits, min_size=17, max_size=17), st.sampled_from("0123456789Xx"))
def test_the_digit_of_an_identity_number_is_the_one_that_it_says(front: str, last: str) -> None:
    ric = pytest.importorskip("stdnum.cn.ric")
    assert has_id_checksum(front + last) is (ric.calc_check_digit(front + "0") == last.upper())


MIXED, HEX = string.ascii_letters + string.digits, "0123456789abcdef"
ISSUED = {
    "github_token": lambda some: f"ghp_{some(MIXED, 36)}",
    "gitlab_token": lambda some: f"glpat-{some(MIXED, 20)}",
    "aws": lambda some: f"AKIA{some(string.ascii_uppercase + string.digits, 16)}",
    "stripe": lambda some: f"sk_live_{some(MIXED, 24)}",
    "slack": lambda some: (
        f"xoxb-{some(string.digits, 11)}-{some(string.digits, 11)}-{some(MIXED, 24)}"
    ),
    "sendgrid": lambda some: f"SG.{some(MIXED, 22)}.{some(MIXED, 43)}",
    "openai": lambda some: f"sk-{some(MIXED, 20)}T3BlbkFJ{some(MIXED, 20)}",
    "discord": lambda some: f"M{some(MIXED, 23)}.{some(MIXED, 6)}.{some(MIXED, 27)}",
    "telegram_token": lambda some: f"{some('123456789', 10)}:{some(MIXED, 35)}",
    "square_oauth": lambda some: f"sq0csp-{some(MIXED, 43)}",
    "azure_storage_key": lambda some: f"AccountKey={some(MIXED, 86)}==",
    "mailchimp": lambda some: f"{some(HEX, 32)}-us7",
    "twilio": lambda some: f"SK{some(HEX, 32)}",
    "pypi_token": lambda some: f"pypi-AgEIcHlwaS5vcmc{some(MIXED, 80)}",
    "basic_auth": lambda some: f"https://tom:{some(MIXED, 12)}@example.org/x",
    "npm": lambda some: f"//registry.example.org/:_authToken=npm_{some(MIXED, 36)}",
}


@pytest.mark.parametrize("issuer", ISSUED)
def test_the_tokens_that_another_searcher_knows_are_found(issuer: str) -> None:
    pytest.importorskip("detect_secrets")
    module = import_module(f"detect_secrets.plugins.{issuer}")
    (plugin,) = (
        member
        for name, member in vars(module).items()
        if name.endswith("Detector") and getattr(member, "__module__", "") == module.__name__
    )
    chance = random.Random(issuer)

    def some(alphabet: str, length: int) -> str:
        return "".join(chance.choices(alphabet, k=length - 1)) + "7"

    for _ in range(20):
        token = ISSUED[issuer](some)
        assert list(plugin().analyze_string(token)), f"{issuer} knows no {token}"
        assert PrivateKind.TOKEN in {kind for kind, _, _ in find(f"记住 {token} 这个")}, token


NAMED = """
my SSN is {078-05-1120}|his social security number: {078-05-1120}|SSN {219099999}
I put {078-05-1120} on the form|passport no. {X1234567}|My passport number is {C01234567}
护照号是{E12345678}
driver's license number {D1234-56789-01234}|her national ID is {AB123456C}
驾驶证号：{320102199001011}
IBAN {DE89 3704 0044 0532 0130 00}|pay to {GB82WEST12345698765432} by Friday
the db pw is {Winter!2026}|ssh root@10.0.0.5 with pass={Sommer2026!}|wifi pw: {sunflower77}
The root passphrase is {correct horse battery staple}
my seed phrase: {apple river stone cloud moon tree}
login for grafana: admin / {Qwerty!234}|credentials: root:{Tr0ub4dor&3}
the NAS login is admin / {hunter22}
the code for the safe is {8812}|password {Winter!2026} for the vpn|cvv {417}
wifi key is {sunflower77}
passcode: {4821}|my bank PIN is {4471}|账号 admin / {Qwerty!234}
"""
ORDINARY = """
the pass is 3000 m high|I passed the exam with 95|first pass: done|boarding pass: gate B12
pass me the salt
pin the note to the board|the pin is loose|my passport expires in 2031
passport photos cost 12 dollars
she lost her passport in 2019|login works again since 10:30|the login page / dashboard v2 is slow
the passphrase is too long|the pw column is empty|password is required|our room number is 078-05
call me at extension 1120|order number 078-05-1120|chapter 3 / section 12b|admin / member roles
key: bring water|the key is under the mat|code for the parser is done|GB82 is a road
driver's license renewed in 2024
the IBAN has 22 characters|social security is a big topic|the seed phrase in the poem is lovely
"""


def _lines(lines: str) -> list[str]:
    return [one for line in lines.split("\n") for one in line.split("|") if one]


@pytest.mark.parametrize("marked", _lines(NAMED))
def test_a_secret_that_is_named_as_such_is_hidden(marked: str) -> None:
    text, secret = re.sub("[{}]", "", marked), re.findall("{(.*?)}", marked)
    assert [text[start:end] for _, start, end in PrivateData()(text)] == secret


@pytest.mark.parametrize("text", _lines(ORDINARY))
def test_ordinary_talk_that_names_one_is_left_as_it_is(text: str) -> None:
    assert PrivateData()(text) == ()
