"""What the files of a new project say: a title, and below it a comment for whoever opens them.

A comment says nothing to recall, so an untouched file injects nothing. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...models.decisions import RecordFile
from ...models.scope import ROLES_FOLDER, SHARED_FOLDER, role_folder
from ...models.vault_layout import CONSTITUTION_PAGE, MEMORY_PAGE

CONSTITUTION: Final = f"{SHARED_FOLDER}/{CONSTITUTION_PAGE}"
_SHARED: Final = {
    CONSTITUTION: (
        ("宪章", "长期有效的原则，只有人写。"),
        ("Constitution", "Standing principles, written by people only."),
    ),
    RecordFile.DECISIONS.path: (
        ("决定", "已接受的决定由 scoped-memory decide 追加在后面；人也可以改。"),
        (
            "Decisions",
            "Accepted decisions are appended below by scoped-memory decide; people may edit.",
        ),
    ),
    RecordFile.CONTRACTS.path: (
        ("约定", "模块之间的约定，由 scoped-memory decide 追加；人也可以改。"),
        (
            "Contracts",
            "What the parts of the project rely on, appended by scoped-memory decide; people may"
            " edit.",
        ),
    ),
    RecordFile.RUNBOOK.path: (
        ("运行手册", "怎样运行、发布、排查，由 scoped-memory decide 追加；人也可以改。"),
        (
            "Runbook",
            "How to run, release and repair, appended by scoped-memory decide; people may edit.",
        ),
    ),
}
_ROLE: Final = (
    "这个角色自己的记忆：两行标记之间由程序改写，标记之外由人写。",
    "This role's own memory: a program rewrites what stands between marks, people write the rest.",
)


def shared_templates(*, english: bool) -> Mapping[str, str]:
    """Returns the text of each file of ``shared/``, by its path below the memory root."""
    return {path: _file(*texts[english]) for path, texts in _SHARED.items()}


def role_template(role: str, *, english: bool) -> tuple[str, str]:
    """Returns path and text of a role's ``MEMORY.md``."""
    path = f"{ROLES_FOLDER}/{role_folder(role)}/{MEMORY_PAGE}"
    return path, _file(role, _ROLE[english])


def _file(title: str, comment: str) -> str:
    return f"# {title}\n\n<!-- {comment} -->\n"
