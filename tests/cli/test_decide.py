"""``decide``: a proposal is written as it was shown, once. ``tests/says/pages/shell.*.md`` shows
what each command says."""

from __future__ import annotations

from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.agents.shell import Shell

pytestmark = [pytest.mark.engine, pytest.mark.process]

WORDS = "Orders are kept in PostgreSQL"
POOL = "The pool has twenty connections"


def test_scripts_are_told_where_a_record_stands_and_it_is_written_once(
    shell: Shell, own_user: Path
) -> None:
    proposal = shell.log(WORDS)
    accept = ("decide", "accept", f"project/decisions.md#{proposal}", "--issue", "12")
    shell(*accept, code=1)
    assert not list(own_user.rglob("DECISIONS.md"))
    shell(*accept, "--by", "Ada", "--yes")
    (file,) = own_user.rglob("DECISIONS.md")
    text = file.read_text("utf-8")
    assert "By: Ada · Issue: #12" in text
    assert "written before: D-0001" in shell("decide", "accept", proposal[:12], "--yes")
    assert file.read_text("utf-8") == text
    (row,) = shell.json("decide", "list")
    assert row.pop("at").startswith("20")
    assert row == {
        "id": None, "state": "accepted", "number": "D-0001", "title": WORDS, "issue": "#12",
        "pr": None, "file": "shared/DECISIONS.md", "line": 5, "supersedes": None,
    }  # fmt: skip
    second = shell.log("Orders are kept in SQLite files")
    assert "D-0002" in shell("decide", "supersede", "D-1", second, "--yes", "--to", "contracts")
    assert "no decision in force" in shell("decide", "withdraw", "D-0001", "--yes", code=1)


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
