"""A real disk of a few kilobytes under a vault: filled, made read-only, taken out, put back.

Runs in a process of its own, with mounts of its own that end with it:

    python run.py small_disk.py FOLDER

prints a JSON object with what was found in each phase, or ends with status 77 and a reason where
nothing may be mounted.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NoReturn

from astrbot_plugin_scoped_memory.llm_memory import (
    ConversationId,
    MemoryDraft,
    Refused,
    Stored,
)
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.engines import Rig, group, person, running
from astrbot_plugin_scoped_memory.tests.support.programs.program import NOT_HERE

FIRST, SECOND, THIRD = "奶奶对花生过敏", "奶奶喜欢豆浆", "奶奶的生日在五月"
LONG = "长" * 3000
"""Longer than a page: what is left of a file's last one takes something even on a full disk."""


def give_up(reason: str) -> NoReturn:
    """End the process: nothing can be found out here."""
    sys.stdout.write(reason)
    sys.exit(NOT_HERE)


def mount(*arguments: str) -> None:
    """Ends the process where nothing may be mounted."""
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        give_up(done.stderr.strip() or "mount failed")


def own_mounts() -> None:
    """What we mount is seen by this process alone, and ends with it."""
    try:
        os.unshare(os.CLONE_NEWNS)
    except (OSError, AttributeError) as error:
        give_up(f"no mounts of our own: {error}")
    mount("--make-rprivate", "/")


def fill(path: Path) -> None:
    """Take all the room there is."""
    with path.open("wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 1024)
        except OSError:
            return


def snapshot(memory: Path) -> dict[str, bytes]:
    """Every file below the scopes."""
    scopes = memory / "scopes"
    return {
        path.relative_to(scopes).as_posix(): path.read_bytes()
        for path in sorted(scopes.rglob("*"))
        if path.is_file()
    }


async def write(rig: Rig, text: str, where: ConversationId, reasoning: str = "") -> str:
    """Have it remembered: ``ok``, or why not."""
    draft = MemoryDraft(text, reasoning=reasoning, actor=person(10001))
    outcome = await rig.engine.service.remember(draft, conversation_id=where)
    return told(outcome)


def told(outcome: object) -> str:
    """``ok``, or the reason."""
    match outcome:
        case Refused(reason="not_written", detail=detail):
            return detail
        case Refused():
            return f"unexpected: {outcome}"
    return "ok"


async def warned(rig: Rig) -> bool:
    """Whether the status says that the vault cannot be written."""
    return "vault_unwritable" in {n.code for n in (await rig.engine.status()).notices}


async def attempt(rig: Rig, first: Stored, memory: Path) -> dict[str, Any]:
    """Each way of writing while the disk takes nothing, and what is left behind."""
    before = snapshot(memory)
    refusals = [
        await write(rig, "奶奶住在三楼", group(777), LONG),  # behind a file
        await write(rig, "今天搬了家", group(777), LONG),  # a new file
        await write(rig, "图书馆周一闭馆", group(999), LONG),  # a new scope
        await write(rig, FIRST, group(777)),  # again: an entry is replaced
        told(
            await rig.engine.service.forget(
                first.memory.memory.memory_id,
                conversation_id=group(777),
                actor=person(10001, admin=True),
            )
        ),
    ]
    return {
        "refusals": refusals,
        "untouched": snapshot(memory) == before,
        "recalled": await rig.texts("奶奶对什么过敏", group(777)),
        "warned": await warned(rig),
    }


async def afterwards(rig: Rig, text: str, memory: Path) -> dict[str, Any]:
    """Once it takes something again."""
    written = await write(rig, text, group(777))
    read = {
        stored.memory.judgment
        for scope in MarkdownVault(memory).scopes()
        for stored in MarkdownVault(memory).read(scope).memories
    }
    return {"written": written, "warned": await warned(rig), "on_disk": sorted(read)}


async def play(root: Path) -> dict[str, Any]:
    """All phases over one running engine."""
    memory, spare = root / "memory", root / "spare"
    for folder in (memory, spare):
        folder.mkdir()
    own_mounts()
    mount("-t", "tmpfs", "-o", "size=192k", "tmpfs", str(memory))
    mount("--bind", str(memory), str(spare))
    found: dict[str, Any] = {}
    async with running(root) as rig:
        first = await rig.remember(FIRST, group(777))
        fill(memory / "ballast")
        found["full"] = await attempt(rig, first, memory)
        (memory / "ballast").unlink()
        found["full"]["afterwards"] = await afterwards(rig, SECOND, memory)

        mount("-o", "remount,ro", str(memory))
        found["read_only"] = await attempt(rig, first, memory)
        mount("-o", "remount,rw", str(memory))
        found["read_only"]["afterwards"] = await afterwards(rig, THIRD, memory)

        subprocess.run(["umount", "--lazy", str(memory)], check=True)
        found["gone"] = await attempt(rig, first, spare)
        found["gone"]["written_elsewhere"] = sorted(path.name for path in memory.iterdir())
        mount("--bind", str(spare), str(memory))
        found["gone"]["afterwards"] = await afterwards(rig, "奶奶住在三楼", memory)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(play(Path(sys.argv[1]))), ensure_ascii=False))
