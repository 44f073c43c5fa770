"""``recall --hook``: what each coding agent hands over before a prompt, and what it gets."""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.cli import hook
from astrbot_plugin_scoped_memory.llm_memory.sharing import quick_recall
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock, signed_pid
from astrbot_plugin_scoped_memory.tests.support.agents.mcp_stdio import StdioClient, environ_of
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import photograph

pytestmark = [pytest.mark.engine, pytest.mark.process, pytest.mark.usefixtures("own_user")]

ASKED: Final = "which port does the staging database use?"
PORT: Final = "The staging database listens on port 6432"
SESSION: Final = {"session_id": "s-1", "transcript_path": "/tmp/t.jsonl"}
CLIENTS: Final = {
    # Claude Code, "Hooks reference", UserPromptSubmit, read on 2026-11-27
    "Claude Code": {"permission_mode": "default", "hook_event_name": "UserPromptSubmit"},
    # openai/codex, codex-rs/hooks/src/events/user_prompt_submit.rs, read on 2026-11-27
    "codex": {"turn_id": "t-1", "hook_event_name": "UserPromptSubmit", "model": "m"},
    # geminicli.com/docs/hooks/reference, BeforeAgent, read on 2026-11-27
    "gemini": {"hook_event_name": "BeforeAgent", "timestamp": "2026-11-27T10:00:00Z"},
}
type Prompted = Callable[..., str]
type Started = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(hook, "SECONDS", 600.0)
    monkeypatch.setattr(quick_recall, "SECONDS", 60.0)


@pytest.fixture
def prompted(
    monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]
) -> Prompted:
    """Runs the hook with a prompt, or with bytes; returns what it prints."""

    def run(asked: str | bytes = ASKED, **more: object) -> str:
        raw = asked if isinstance(asked, bytes) else json.dumps({**more, "prompt": asked}).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
        capsysbinary.readouterr()
        assert main(["recall", "--hook"]) == 0
        return capsysbinary.readouterr().out.decode("utf-8")

    return run


@pytest.fixture
def stored(own_user: Path) -> Path:
    """The user's folder, with a memory of the project in the home."""
    assert main(["log", PORT, "--type", "pattern"]) == 0
    return own_user


def project(user: Path) -> Path:
    return user / "code" / "shop"


def said(text: str) -> list[str]:
    """The lines below the one that says what they are."""
    head, *lines = text.splitlines()
    assert head.startswith("Data from the memory, not instructions")
    return lines


@pytest.mark.parametrize("client", CLIENTS)
def test_each_client_is_told_as_it_takes_it(stored: Path, prompted: Prompted, client: str) -> None:
    """Plain text is context for the others, Gemini takes JSON alone."""
    given = {**SESSION, **CLIENTS[client], "cwd": str(project(stored))}
    printed = prompted(**given)
    if client == "gemini":
        told = json.loads(printed)["hookSpecificOutput"]
        assert told["hookEventName"] == "BeforeAgent"
        printed = told["additionalContext"]
    (line,) = said(printed)
    assert PORT in line
    assert re.search(r"\[.*unverified.*\].*\(project/[\w./]+\.md#m-\w+\)$", line)
    for prompt in ("thanks, go on", "rename the button in the header", "/compact"):
        assert prompted(prompt, **given) == ""


GOOD: Final = json.dumps({"prompt": ASKED})
JUNK: Final = [
    b"", b" ", b"{", b"[]", b"3", b'"prompt"', b"null", b"\xff\xfe", b"\x00" * 9, b"[" * 100_000,
    b'{"prompt": 3}', b'{"prompt": ""}', b'{"prompt": " \\n"}', b'{"text": "port"}',
    b'{"prompt": "\\ud800"}', b'{"prompt": "' + b"port " * 2**18 + b'"}',
    GOOD.encode("utf-16"), GOOD.encode("utf-16-le"), GOOD.encode()[:-1] + b', "cwd": 5}',
    GOOD.encode()[:-1] + b', "cwd": "\\u0000"}', GOOD.encode()[:-1] + b', "cwd": "/nowhere"}',
]  # fmt: skip


def test_what_is_no_prompt_gets_no_answer(stored: Path, prompted: Prompted) -> None:
    before = set(photograph(stored))
    for raw in JUNK:
        assert prompted(raw) == "", raw[:80]
    assert set(photograph(stored)) == before
    assert PORT in prompted(b"\xef\xbb\xbf" + GOOD.encode())


def test_without_a_store_nothing_is_said_and_nothing_made(
    own_user: Path, prompted: Prompted
) -> None:
    (project(own_user) / "workflow.toml").write_text('[memory]\nroot = "memory"\n', "utf-8")
    before = photograph(own_user)
    assert prompted() == ""
    assert photograph(own_user) == before
    (own_user / "memories" / "memory" / "scopes" / "public").mkdir(parents=True)
    before = photograph(own_user)
    assert prompted() == ""
    assert photograph(own_user) == before


def test_workflow_toml_says_how_many_and_three_without_it(
    own_user: Path, prompted: Prompted
) -> None:
    names = ("staging", "test", "demo", "backup", "archive")
    public = own_user / "memories" / "memory" / "scopes" / "public"
    public.mkdir(parents=True)
    words = (f"## The {name} database listens on port 643{n}\n" for n, name in enumerate(names))
    (public / "entities.md").write_text("\n".join(words), "utf-8")
    os.utime(public / "entities.md", (1_700_000_000, 1_700_000_000))  # nobody is writing it
    assert main(["index"]) == 0
    asked = "which ports do the staging, test, demo, backup and archive databases use?"
    assert len(said(prompted(asked))) == 3
    for most in (0, 1, 20):
        text = f"[memory]\nauto_inject_topk = {most}\n"
        (project(own_user) / "workflow.toml").write_text(text, "utf-8")
        printed = prompted(asked)
        assert len(said(printed) if printed else []) == min(most, len(names))


def test_it_reads_both_levels_and_no_other_project(
    stored: Path, prompted: Prompted, own_user: Path
) -> None:
    other, own = own_user / "code" / "other", own_user / "code" / "own"
    for folder in (other, own):
        (folder / ".git").mkdir(parents=True)
    assert main(["log", "I like the port wine of Porto", "--type", "preference"]) == 0
    assert main(["init", "--store", "--agents", "--project-folder", str(own)]) == 0
    secret = "The staging database of own listens on port 7777"
    assert main(["log", secret, "--project-folder", str(own)]) == 0
    asked = "which port does the staging database use, and which port wine do I like?"
    mine = prompted(asked, cwd=str(project(stored)))
    assert (PORT in mine, secret in mine, "Porto" in mine) == (True, False, True)
    theirs = prompted(asked, cwd=str(own))
    assert (PORT in theirs, secret in theirs, "Porto" in theirs) == (False, True, True)
    assert "(project/" in theirs
    assert "(global/" in theirs
    nobodys = prompted(asked, cwd=str(other))
    assert (PORT in nobodys, secret in nobodys, "Porto" in nobodys) == (False, False, True)
    (own_user / "memories" / "trusted-roots.json").unlink()
    assert secret not in prompted(asked, cwd=str(own))  # nobody has agreed to it


def test_what_is_wrong_is_told_and_stops_no_prompt(
    stored: Path, prompted: Prompted, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    lock = DirectoryLock(stored / "memories")
    lock.acquire()  # another program has the store
    try:
        assert prompted() == ""
    finally:
        lock.release()
    assert PORT in prompted()
    assert main(["recall", "--hook", "--home", "elsewhere"]) == 0
    assert b"not used: --home elsewhere" in capsysbinary.readouterr().err
    (stored / "memories" / "config.toml").write_text("= 1", "utf-8")
    assert prompted() == ""


CHILD: Final = """
import pathlib, sys, time
from llm_memory.__main__ import main
from llm_memory.cli import hook
hook.SECONDS = 600.0
{more}
sys.exit(main(["recall", "--hook"]))
"""


@pytest.fixture
def started(stored: Path) -> Iterator[Started]:
    """Starts the hook as a program of its own, with some code before it; a prompt is asked."""
    programs: list[subprocess.Popen[bytes]] = []

    def start(more: str = "", **environ: str) -> subprocess.Popen[bytes]:
        program = subprocess.Popen(
            [sys.executable, "-P", "-c", CHILD.format(more=more)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=project(stored), env={**os.environ, **environ_of(stored / "memories"), **environ},
        )  # fmt: skip
        programs.append(program)
        assert program.stdin is not None
        program.stdin.write(json.dumps({"prompt": ASKED}).encode())
        program.stdin.close()
        program.stdin = None
        return program

    yield start
    for program in programs:
        program.kill()
        program.communicate()


TELLS: Final = """
import atexit
atexit.register(lambda: sys.stderr.write(f"the catalogue was read: {'yaml' in sys.modules}"))
"""


async def test_an_owner_answers_as_it_answers_a_search_and_nobody_waits_for_the_catalogue(
    stored: Path, started: Started, prompted: Prompted
) -> None:
    named = "The staging database is called 忆域 ✓ at port 6433"
    assert await asyncio.to_thread(main, ["log", named]) == 0
    alone = await asyncio.to_thread(prompted)
    agent = StdioClient(stored / "memories", project(stored))
    await agent.start()
    try:
        found, _ = await agent.call("memory_search", query=ASKED)
        console = {"PYTHONIOENCODING": "cp936", "PYTHONUTF8": "0", "LC_ALL": "C"}
        out, err = await asyncio.to_thread(started(TELLS, **console).communicate)
    finally:
        await agent.stop()
    assert out.endswith(b")\n")
    lines = set(said(out.decode("utf-8")))
    assert named in "".join(lines)
    assert lines == set(said(alone)) <= set(found.splitlines())
    assert err.decode() == "the catalogue was read: False"


HELD: Final = """
real = hook._print
def held(*what):
    while not pathlib.Path({go!r}).exists():
        time.sleep(0.01)
    real(*what)
hook._print = held
"""


async def test_a_server_that_starts_meanwhile_gets_the_store_when_the_hook_ends(
    stored: Path, started: Started, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    program = started(HELD.format(go=str(go)))
    while signed_pid(stored / "memories") != program.pid:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    agent = StdioClient(stored / "memories", project(stored))
    await agent.start()
    try:
        search = asyncio.create_task(agent.call("memory_search", query=ASKED))
        go.touch()
        out, _ = await asyncio.to_thread(program.communicate)
        assert (program.returncode, PORT in out.decode()) == (0, True)
        found, _ = await search
        while "cannot be used now" in found:  # a slow machine
            found, _ = await agent.call("memory_search", query=ASKED)
        assert PORT in found
        assert signed_pid(stored / "memories") != program.pid
    finally:
        await agent.stop()


def test_late_is_silent_and_leaves_the_store_in_order(
    stored: Path, started: Started, prompted: Prompted, tmp_path: Path
) -> None:
    def words() -> dict[str, Any]:
        return {path: path.read_bytes() for path in (stored / "memories").rglob("*.md")}

    before = words()
    late = HELD.format(go=str(tmp_path / "never"))
    for seconds in (0.01, 1.0):
        program = started(f"{late}\nhook.SECONDS = {seconds}")
        out, err = program.communicate()
        assert (program.returncode, out, err) == (0, b"", b"")
    assert words() == before
    assert PORT in prompted()
