"""``decide``: a proposal is written as it was shown, once. ``tests/says/pages/shell.*.md`` shows
what each command says."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.agents.shell import ID, Shell

pytestmark = [pytest.mark.engine, pytest.mark.process]

WORDS = "Orders are kept in PostgreSQL"
POOL = "The pool has twenty connections"


def decisions(own_user: Path) -> Path:
    (file,) = own_user.rglob("DECISIONS.md")
    return file


def states(shell: Shell) -> dict[str | None, str]:
    return {row["number"]: row["state"] for row in shell.json("decide", "list", "--all")}


def test_what_was_shown_is_written_once_superseded_and_withdrawn(
    shell: Shell, own_user: Path
) -> None:
    found = ID.search(shell("decide", "propose", WORDS, "--why", POOL))
    assert found
    shell("decide", "propose", " ", "--why", POOL, code=1)
    accept = (
        "decide",
        "accept",
        f"project/decisions.md#{found[0]}",
        "--issue",
        "12",
        "--by",
        "Ada",
    )
    shown = shell(*accept, code=1)
    assert not list(own_user.rglob("DECISIONS.md"))
    shell(*accept, "--yes")
    text = decisions(own_user).read_text("utf-8")
    heading = f"## D-0001 {WORDS}\n"
    assert (heading in shown, f"\n\n{POOL}\n" in shown, text.count(heading)) == (True, True, 1)
    assert "By: Ada · Issue: #12" in text
    assert "written before: D-0001" in shell("decide", "accept", found[0][:12], "--yes")
    assert decisions(own_user).read_text("utf-8") == text
    (row,) = shell.json("decide", "list")
    assert row.pop("at").startswith("20")
    assert row == {
        "id": None, "state": "accepted", "number": "D-0001", "title": WORDS, "issue": "#12",
        "pr": None, "file": "shared/DECISIONS.md", "line": 5, "supersedes": None,
    }  # fmt: skip
    second, third = shell.log("Orders are kept in SQLite files"), shell.log(POOL)
    assert "D-0002" in shell("decide", "supersede", "D-1", second, "--yes", "--to", "contracts")
    assert "no decision in force" in shell("decide", "withdraw", "D-0001", "--yes", code=1)
    assert "D-0003" in shell("decide", "withdraw", "d-2", "--why", "Too slow", "--yes")
    assert shell("decide", "reject", third[:12], "--why", "No need") == f"rejected: {third}\n"
    assert "no such proposal" in shell("decide", "accept", third, "--yes", code=1)
    assert states(shell) == {
        None: "rejected",
        "D-0001": "superseded",
        "D-0002": "withdrawn",
        "D-0003": "accepted",
    }


def test_what_was_proposed_outside_a_project_is_decided_in_one(
    shell: Shell, own_user: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Path.cwd()
    monkeypatch.chdir(own_user)
    everywhere = shell.log(WORDS)
    monkeypatch.chdir(shop)
    assert everywhere in shell("decide", "list")
    outcome = shell.json("decide", "accept", f"global/decisions.md#{everywhere}", code=1)
    assert (outcome["outcome"], outcome["number"], outcome["code"]) == ("Draft", 1, 1)
    (own_user / "other" / ".git").mkdir(parents=True)
    mine = shell.log(POOL)
    monkeypatch.chdir(own_user / "other")
    assert "no such proposal" in shell("decide", "accept", mine, code=1)
