"""Who is read first, who gives way, and what a call costs each speaker."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from astrbot_plugin_scoped_memory.llm_memory.models.loop import HeldBack, Party, Use, WaitingLine
from astrbot_plugin_scoped_memory.llm_memory.models.turns import QueuedTurn
from astrbot_plugin_scoped_memory.llm_memory.reflection.rules.fair_shares import (
    LEAST_CALL,
    Allowance,
    Shares,
    choose_evicted,
    in_order,
    round_robin,
    split,
    told,
)

pytestmark = pytest.mark.unit

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
EVENING = datetime(2026, 11, 21, 18, 0, tzinfo=UTC)
NIGHT = datetime(2026, 11, 21, 23, 59, 59, tzinfo=UTC)
MOTHER, FATHER = Party("家人", "qq:1", known=True), Party("家人", "qq:2", known=True)
BOSS = Party("公司", "qq:3", known=True)
ADMIN = Party("public", "qq:9", known=True)
FLOODER, GUEST = Party("public", "qq:66", known=False), Party("dm-7-x", "qq:7", known=False)


def line(*parties: Party) -> WaitingLine:
    first = parties[0]
    return WaitingLine(first.scope, f"chat of {first.speaker}", "", 9, NOON, NOON, "", parties)


def allowance(
    used: Mapping[Party, int] | None = None, *, now: datetime = NOON, journals: int = 0
) -> Allowance:
    used = used or {}
    return Allowance.at(now, 50_000, sum(used.values()) + journals, used)


def test_a_party_is_known_by_its_scope_or_as_an_admin() -> None:
    made = [
        Party.of(scope, "qq:1", "a:b:c", admin=admin)
        for scope in ("家人", "public", "dm-1-x", "group-1-x", "quarantine")
        for admin in (False, True)
    ]
    assert [party.known for party in made] == [True, True] + [False, True] * 4
    assert Party.of("public", "", "a:b:c", admin=False).speaker == "a:b:c"


def test_all_strangers_together_weigh_as_much_as_one_mapped_scope() -> None:
    strangers = [Party(f"dm-{number}-x", f"qq:{number}", known=False) for number in range(10)]
    shares = Shares(50_000, {}, [MOTHER, *strangers])
    assert (shares.own_share(MOTHER), shares.group_share(strangers[0])) == (25_000, 25_000)
    assert shares.own_share(strangers[0]) == 2_500


def test_lines_within_their_share_come_first_then_known_ones_then_who_used_least() -> None:
    lines = [line(FLOODER), line(BOSS), line(GUEST), line(FATHER), line(ADMIN)]
    used = {FLOODER: 20_000, BOSS: 13_000, FATHER: 900}
    shares = allowance(used).shares([party for one in lines for party in one.parties])
    assert [one.parties[0] for one in in_order(lines, shares)] == [
        ADMIN,
        FATHER,
        BOSS,  # 13,000 is more than a quarter of the day: known, and yet after those within theirs
        GUEST,
        FLOODER,
    ]


def test_a_line_ranks_as_its_quietest_speaker_and_the_flooder_in_it_waits() -> None:
    crowd, alone = line(FLOODER, Party("public", "qq:8", known=False)), line(FLOODER)
    now = allowance({FLOODER: 26_000})
    shares = now.shares([*crowd.parties])
    assert in_order([alone, crowd], shares) == [crowd, alone]
    quiet = crowd.parties[1]
    evening = allowance({FLOODER: 26_000}, now=EVENING)
    assert evening.served(crowd, evening.shares(crowd.parties)) == (quiet,)
    assert now.served(alone, now.shares([FLOODER])) == ()


def test_strangers_may_use_half_of_the_day_and_the_rest_as_it_passes() -> None:
    used = {FLOODER: 25_000 - LEAST_CALL}
    shares = allowance().shares([FLOODER])
    assert allowance(used, now=NOON).may_read(FLOODER, shares)
    used = {FLOODER: 25_001 - LEAST_CALL}
    assert allowance(used, now=NOON).why_held(FLOODER, shares) is HeldBack.STRANGERS
    assert allowance(used, now=EVENING).left_for_strangers == 12_500 + LEAST_CALL - 1
    assert allowance(used, now=NIGHT).may_read(FLOODER, shares)
    assert allowance({}, now=NIGHT, journals=50_000).left_for_strangers == 0
    shares = allowance({FLOODER: 25_000}).shares([FLOODER, ADMIN, MOTHER])
    for party in (ADMIN, MOTHER):
        assert allowance({FLOODER: 25_000}, now=NOON).may_read(party, shares)


def test_who_is_beyond_its_share_keeps_to_the_pace_while_others_wait_and_is_free_alone() -> None:
    used = {BOSS: 26_000}
    now = allowance(used)
    assert not now.may_read(BOSS, now.shares([BOSS, MOTHER]))
    assert now.may_read(BOSS, now.shares([BOSS]))
    evening = allowance(used, now=EVENING)
    shares = evening.shares([BOSS, MOTHER])
    assert evening.why_held(BOSS, shares) is HeldBack.SHARE
    assert evening.may_read(BOSS, shares)


def test_the_status_names_who_waits_for_others_and_who_gave_way() -> None:
    used = {FLOODER: Use(25_000, 3), BOSS: Use(100), GUEST: Use(0, 1), MOTHER: Use(50)}
    now = allowance({party: use.tokens for party, use in used.items()})
    shown = told(now, used, {FLOODER: 40, BOSS: 2, MOTHER: 1})
    assert [(one.party, one.waiting, one.use.gave_way, one.held) for one in shown] == [
        (FLOODER, 40, 3, HeldBack.STRANGERS),
        (GUEST, 0, 1, HeldBack.NO),
    ]
    nothing = Allowance.at(NOON, 0, 0, {})
    assert told(nothing, {}, {FLOODER: 40}) == ()


@pytest.mark.parametrize(
    ("held", "newcomer", "expected"),
    [
        ({FLOODER: 10}, MOTHER, FLOODER),
        ({FLOODER: 10}, FLOODER, None),
        ({FLOODER: 10}, GUEST, FLOODER),
        ({FLOODER: 10}, ADMIN, FLOODER),
        ({MOTHER: 10}, GUEST, None),  # a stranger displaces strangers alone
        ({MOTHER: 10}, BOSS, MOTHER),
        ({MOTHER: 9, FATHER: 1}, BOSS, MOTHER),
        ({MOTHER: 9, FATHER: 1}, FATHER, MOTHER),
        ({MOTHER: 5, FATHER: 5}, MOTHER, None),
        ({FLOODER: 5, GUEST: 1, MOTHER: 4}, FATHER, FLOODER),
        ({BOSS: 5, FLOODER: 4, MOTHER: 1}, MOTHER, FLOODER),  # strangers before a mapped scope
        ({BOSS: 5, FLOODER: 3, MOTHER: 2}, MOTHER, BOSS),
        ({FLOODER: 5, MOTHER: 5}, FATHER, MOTHER),
    ],
)
def test_in_a_full_queue_of_ten_who_holds_more_than_a_share_gives_way(
    held: dict[Party, int], newcomer: Party, expected: Party | None
) -> None:
    assert choose_evicted(10, held, newcomer) == expected


def turn(number: int, person: str, words: str) -> QueuedTurn:
    where = "aiocqhttp:GroupMessage:5"
    return QueuedTurn(f"t-{number}", "public", where, "", NOON, person, "", words, "")


def test_a_call_is_paid_by_its_speakers_by_what_they_said_and_no_token_is_lost() -> None:
    said = [turn(1, "qq:1", "长" * 900), turn(2, "qq:2", "短"), turn(3, "qq:1", "长" * 900)]
    parts = split(1_001, said)
    assert sum(parts.values()) == 1_001
    one, other = (Party("public", name, known=False) for name in ("qq:1", "qq:2"))
    assert parts[one] > 15 * parts[other] > 0
    assert split(7, [turn(1, "", "")]) == {Party("public", turn(1, "", "").conversation, False): 7}


def test_speakers_take_turns() -> None:
    said = [turn(number, person, "话") for number, person in enumerate("aaabcb")]
    assert [one.ticket_id for one in round_robin(said)] == [
        f"t-{number}" for number in (0, 3, 4, 1, 5, 2)
    ]
