"""A vault whose files are forbidden piece by piece.

    python run.py forbidden_vault.py FOLDER

plays in FOLDER, which must be empty, and prints a JSON object. Start it `bound_by_modes`: nothing
is forbidden to root.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import StoredMemory, Topic
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.vault.test_vault import FAMILY, WORK, memory


def told(step: Callable[[], StoredMemory | None]) -> str:
    """The file that a step has to do with, or what it is refused with."""
    try:
        done = step()
    except VaultWriteFailed as error:
        return f"refused: {error}"
    except KeyError:
        done = None
    return done.path if done is not None else "taken for gone"


def play(root: Path) -> dict[str, dict[str, object]]:
    """What is read, written and reported, by what is forbidden."""
    vault = MarkdownVault(root / "memory")
    vault.open()
    stored = vault.append(FAMILY, Topic.ENTITIES, memory(1))
    first = (stored.memory, vault.append(FAMILY, Topic.JOURNAL, memory(2)).memory)
    vault.append(WORK, Topic.ENTITIES, memory(3))
    folder = root / "memory" / "scopes" / FAMILY.name
    file = folder / "entities.md"
    phases = (
        ("a file", file, 0),
        ("a file for reading only", file, 0o444),
        ("a folder in it", folder / "journal", 0),
        ("the scope's folder", folder, 0),
        ("its names only", folder, 0o444),
        ("reading", folder, 0o555),
        ("nothing any more", folder, 0o755),
    )
    found: dict[str, dict[str, object]] = {}
    for number, (name, path, mode) in enumerate(phases, start=10):
        before = path.stat().st_mode
        path.chmod(mode)
        content, entry = vault.read(FAMILY), memory(number)
        found[name] = {
            "read": [one.memory.judgment for one in content.memories if one.memory in first],
            "reported": {report.path: report.reason for report in content.broken},
            "others": len(vault.read(WORK).memories),
            "written": told(lambda entry=entry: vault.append(FAMILY, Topic.ENTITIES, entry)),
            "new": told(lambda entry=entry: vault.append(FAMILY, Topic.TASKS, entry)),
            "current": told(lambda: vault.current(stored)),
            "replaced": told(lambda: vault.replace(stored, stored.memory)),
        }
        path.chmod(before)
        for made in ("TASKS.md", "entities-2.md"):
            (folder / made).unlink(missing_ok=True)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(play(Path(sys.argv[1])), ensure_ascii=False))
