"""Records are accepted while a person saves what an editor has read before: none is lost, whatever
the order."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.harness.waiting import until_true
from astrbot_plugin_scoped_memory.llm_memory.decisions.shared_files import SharedFiles
from astrbot_plugin_scoped_memory.llm_memory.models.decisions import RecordFile
from astrbot_plugin_scoped_memory.llm_memory.storage.appending import Appended
from astrbot_plugin_scoped_memory.tests.decisions.test_deciding import (
    accepted,
    deciding,
    shared,
)

pytestmark = pytest.mark.engine

WORDS = [f"第{n}件事用方案{n * 7}" for n in range(1, 8)]


def numbers(root: Path) -> list[int]:
    return [int(found) for found in re.findall(r"(?m)^## D-(\d+)", shared(root).read_text("utf-8"))]


async def test_a_save_while_a_record_is_being_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, so that our write goes behind what was saved."""
    append = SharedFiles.append
    saves: list[str] = []

    def overtaken(self: SharedFiles, file: RecordFile, make: Callable[[bytes], bytes]) -> Appended:
        def made(content: bytes) -> bytes:
            lines = make(content)
            if saves:
                shared(tmp_path).write_text(saves.pop(), "utf-8")
            return lines

        return append(self, file, made)

    async with deciding(tmp_path, WORDS[:3]) as (rig, ids):
        await accepted(rig, ids[0])
        buffer = shared(tmp_path).read_text("utf-8")
        await accepted(rig, ids[1])
        monkeypatch.setattr(SharedFiles, "append", overtaken)
        saves.append(buffer)
        assert (await accepted(rig, ids[2])).number == 3
        assert sorted(numbers(tmp_path)) == [1, 2, 3]


@pytest.mark.parametrize("seed", range(4))
async def test_saves_and_accepts_in_any_order(tmp_path: Path, seed: int) -> None:
    moments = random.Random(seed)
    async with deciding(tmp_path, WORDS) as (rig, ids):
        told = [(await accepted(rig, ids.pop(0))).number]
        buffers = [shared(tmp_path).read_text("utf-8")]
        lines = 0
        following = asyncio.create_task(rig.engine.follow())
        while ids:
            match moments.choice(["accept", "save", "open"]):
                case "accept":
                    told.append((await accepted(rig, ids.pop(0))).number)
                case "save":
                    lines += 1
                    text = f"{moments.choice(buffers)}\n人写的第{lines}行。\n"
                    shared(tmp_path).write_text(text, "utf-8")
                case _:
                    buffers.append(shared(tmp_path).read_text("utf-8"))
        await until_true(lambda: sorted(numbers(tmp_path)) == told, within=60)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
