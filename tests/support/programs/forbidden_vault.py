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
from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Topic
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.vault.test_vault import FAMILY, WORK, memory


def told(step: Callable[[], object]) -> str:
    """What a step gives or is refused with."""
    try:
        return str(step())
    except VaultWriteFailed as error:
        return f"refused: {error}"
    except KeyError:
        return "taken for gone"


def look(vault: MarkdownVault) -> dict[str, object]:
    """What is read and reported of the family's scope, and whether the other goes on."""
    content = vault.read(FAMILY)
    return {
        "read": sorted(stored.memory.judgment for stored in content.memories),
        "reported": {report.path: report.reason for report in content.broken},
        "others": [stored.memory.judgment for stored in vault.read(WORK).memories],
    }


def play(root: Path) -> dict[str, object]:
    """What is read, written and reported, by what is forbidden."""
    vault = MarkdownVault(root / "memory")
    vault.open()
    stored = vault.append(FAMILY, Topic.ENTITIES, memory(1))
    vault.append(FAMILY, Topic.JOURNAL, memory(2))
    vault.append(WORK, Topic.ENTITIES, memory(3))
    folder = root / "memory" / "scopes" / FAMILY.name
    file, journal = folder / "entities.md", folder / "journal"
    found: dict[str, object] = {}

    def current() -> object:
        return vault.current(stored)

    file.chmod(0)
    written = told(lambda: vault.append(FAMILY, Topic.ENTITIES, memory(4)).path)
    found["a file"] = look(vault) | {"written": written, "current": told(current)}
    file.chmod(0o444)
    found["a file for reading only"] = look(vault) | {
        "written": told(lambda: vault.append(FAMILY, Topic.ENTITIES, memory(5)).path)
    }
    file.chmod(0o644)

    journal.chmod(0)
    found["a folder in it"] = look(vault) | {
        "written": told(lambda: vault.append(FAMILY, Topic.JOURNAL, memory(6)).path)
    }
    journal.chmod(0o755)

    def everything() -> dict[str, object]:
        return look(vault) | {
            "written": told(lambda: vault.append(FAMILY, Topic.ENTITIES, memory(7)).path),
            "new": told(lambda: vault.append(FAMILY, Topic.TASKS, memory(8)).path),
            "current": told(current),
            "replaced": told(lambda: vault.replace(stored, memory(1, "改了")).path),
        }

    for mode, name in ((0, "the scope's folder"), (0o444, "its names only"), (0o555, "reading")):
        folder.chmod(mode)
        found[name] = everything()
    folder.chmod(0o755)
    found["nothing any more"] = look(vault)
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(play(Path(sys.argv[1])), ensure_ascii=False))
