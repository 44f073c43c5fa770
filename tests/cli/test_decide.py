"""``decide``: proposals are listed, shown as they would be read, and decided on."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.cli.test_owner_commands import ID, Shell, shell

__all__ = ["shell"]

pytestmark = [pytest.mark.engine, pytest.mark.process, pytest.mark.usefixtures("own_user")]

WORDS = "Orders are kept in PostgreSQL"
POOL = "The pool has twenty connections"


def decisions(own_user: Path) -> Path:
    (file,) = own_user.rglob("DECISIONS.md")
    return file


def test_what_was_shown_is_written_once(shell: Shell, own_user: Path) -> None:
    said = shell("decide", "propose", WORDS)
    found = ID.search(said)
    assert found
    assert f"scoped-memory decide accept {found[0]}" in said
    assert "not decided" in shell("search", "orders PostgreSQL")
    shown = shell("decide", "accept", found[0], "--issue", "12", "--by", "Ada", code=1)
    assert "--yes" in shown
    assert not list(own_user.rglob("DECISIONS.md"))
    written = shell("decide", "accept", found[0], "--issue", "12", "--by", "Ada", "--yes")
    assert written == "written: D-0001 shared/DECISIONS.md:5\n"
    text = decisions(own_user).read_text("utf-8")
    heading = f"## D-0001 {WORDS}\n"
    assert heading in shown
    assert text.count(heading) == 1
    assert "By: Ada · Issue: #12" in text
    assert "written before: D-0001" in shell("decide", "accept", found[0], "--yes")
    assert decisions(own_user).read_text("utf-8") == text
    (row,) = shell.json("decide", "list")
    assert row.pop("at").startswith("20")
    assert row == {
        "id": None,
        "state": "accepted",
        "number": "D-0001",
        "title": WORDS,
        "issue": "#12",
        "pr": None,
        "file": "shared/DECISIONS.md",
        "line": 5,
        "supersedes": None,
    }


def test_a_decision_is_superseded_withdrawn_and_a_proposal_rejected(shell: Shell) -> None:
    assert shell("decide", "list") == "nothing is proposed or decided\n"
    first, second = shell.log(WORDS), shell.log("Orders are kept in SQLite files")
    assert shell("decide", "list").count("  proposed  ") == 2
    assert "CONTRACTS.md" in shell("decide", "accept", first, "--yes", "--to", "contracts")
    assert "D-0002" in shell("decide", "supersede", "D-1", second, "--yes")
    states = {row["number"]: row["state"] for row in shell.json("decide", "list", "--all")}
    assert states == {"D-0001": "superseded", "D-0002": "accepted"}
    assert "no decision in force" in shell("decide", "withdraw", "D-0001", "--yes", code=1)
    assert "D-0003" in shell("decide", "withdraw", "d-2", "--why", "Too slow", "--yes")
    third = shell.log(POOL)
    assert shell("decide", "reject", third, "--why", "No need") == f"rejected: {third}\n"
    assert "no such proposal" in shell("decide", "accept", third, "--yes", code=1)
    states = {row["number"]: row["state"] for row in shell.json("decide", "list", "--all")}
    assert states == {
        None: "rejected",
        "D-0001": "superseded",
        "D-0002": "withdrawn",
        "D-0003": "accepted",
    }


def test_a_proposal_is_given_with_its_reason_and_named_by_a_beginning(shell: Shell) -> None:
    found = ID.search(shell("decide", "propose", WORDS, "--why", POOL))
    assert found
    other = shell.log("Orders are kept for ten years")
    for named in (found[0][:12], f"project/decisions.md#{found[0]}"):
        shown = shell("decide", "accept", named, code=1)
        assert f"## D-0001 {WORDS}\n" in shown
        assert f"\n\n{POOL}\n" in shown
    assert shell("decide", "reject", other[:12]) == f"rejected: {other}\n"
    shell("decide", "propose", " ", "--why", POOL, code=1)
    assert len(shell.json("decide", "list")) == 1


def test_a_guess_is_written_only_by_a_person_who_insists(shell: Shell, own_user: Path) -> None:
    guess = shell.log("Orders are kept in PostgreSQL for now")
    said = shell("decide", "accept", guess, "--yes", code=1)
    assert 'holds for a few days only ("for now")' in said
    assert "--anyway" in said
    assert not list(own_user.rglob("DECISIONS.md"))
    shell("decide", "accept", guess, "--yes", "--anyway")
    assert "for now" in decisions(own_user).read_text("utf-8")


def test_a_projects_own_store_wants_a_reference(
    shell: Shell, own_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("init", "--agents", "--store")
    port = shell.log(WORDS)
    assert "an issue or a pr" in shell("decide", "accept", port, "--yes", code=1)
    assert "an issue or a pr" in shell("decide", "accept", port, "--pr", "soon", code=1)
    shell("decide", "accept", port, "--pr", "o/r#3", "--yes")
    assert decisions(own_user).is_relative_to(own_user / "shop")
    monkeypatch.chdir(own_user)
    assert shell.json("decide", "list") == []


def test_what_was_proposed_outside_a_project_is_decided_in_one(
    shell: Shell, own_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(own_user)
    everywhere = shell.log(WORDS)
    monkeypatch.chdir(own_user / "shop")
    assert everywhere in shell("decide", "list")
    outcome = shell.json("decide", "accept", f"global/decisions.md#{everywhere}", code=1)
    assert (outcome["outcome"], outcome["number"], outcome["code"]) == ("Draft", 1, 1)
    (own_user / "other" / ".git").mkdir(parents=True)
    mine = shell.log(POOL)
    monkeypatch.chdir(own_user / "other")
    assert "no such proposal" in shell("decide", "accept", mine, code=1)


@pytest.mark.parametrize(
    "arguments",
    [
        ["accept"],
        ["accept", "x"],
        ["withdraw", "D-0"],
        ["withdraw", "m-abcd"],
        ["supersede", "m-01jd3q8z7k2ab4cd"],
        ["accept", "m-01jd3q8z7k2ab4cd", "--to", "constitution"],
        [],
    ],
)
def test_a_wrong_word_is_named(shell: Shell, arguments: list[str]) -> None:
    said = shell("decide", *arguments, code=2)
    assert "usage:" in said or "not a memory's id: x" in said
