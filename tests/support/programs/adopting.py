"""Other plugins' memories by the thousand, and what must have become of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Memory
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown_vault import MarkdownVault
from astrbot_plugin_scoped_memory.tests.support.legacy_stores import (
    ANGEL,
    Row,
    angel_record,
    make_chroma,
    make_simple,
)

IN_CHROMA, IN_SQLITE = 1000, 4000
SCOPES = ("家人", "public", None, "公司", "a b")


@dataclass(frozen=True)
class Expected:
    """What must be there in the end."""

    judgments: Mapping[str, set[str]]
    """By scope."""
    tally: tuple[int, int, int, int]
    """Adopted, merged, quarantined, broken."""


def make_sources(plugins: Path, in_sqlite: int = IN_SQLITE) -> Expected:
    """Five thousand records, or fewer, in two stores, with some of each kind of trouble."""
    rows: list[Row] = []
    judgments: dict[str, set[str]] = {}
    quarantined = broken = 0
    for number in range(IN_CHROMA):
        scope = SCOPES[number % 4] if number % 50 else "a b"
        if number % 400 == 7:
            rows.append((f"uuid-{number}", None, {"judgment": "", "x": 1}, [1.0] * 8))
            broken += 1
            continue
        record = angel_record(number, scope=scope)
        rows.append(record)
        quarantined += scope == "a b"
        name = "quarantine" if scope == "a b" else scope or "public"
        judgments.setdefault(name, set()).add(f"第{number}号用户喜欢第{number}种茶")
    merged = 0
    simple = []
    for number in range(in_sqlite):
        # The first hundred say what stands in the other store, too, in the same scope.
        scope = "家人" if number % 3 else "public"
        judgment = f"外婆的第{number}件事"
        if number < 100:
            scope, judgment = "家人", f"第{number * 4 + 400}号用户喜欢第{number * 4 + 400}种茶"
            if (number * 4 + 400) % 50 == 0:
                judgment, scope = f"外婆的第{number}件事", "public"
            else:
                merged += 1
        judgments.setdefault(scope, set()).add(judgment)
        simple.append({"id": f"s{number}", "judgment": judgment, "memory_scope": scope})
    make_chroma(plugins / ANGEL / "memory_openai" / "chromadb", rows)
    make_simple(plugins / ANGEL / "memory_center" / "index" / "simple_memory.db", simple)
    adopted = IN_CHROMA + in_sqlite - merged - quarantined - broken
    return Expected(judgments, (adopted, merged, quarantined, broken))


def found(root: Path) -> dict[str, list[Memory]]:
    """By scope, as a bot that starts now reads it; and nothing is broken."""
    vault = MarkdownVault(root / "memory")
    content = {scope.name: vault.read(scope) for scope in vault.scopes()}
    assert [one.broken for one in content.values() if one.broken] == []
    return {name: [s.memory for s in one.memories] for name, one in content.items()}
