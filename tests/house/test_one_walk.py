"""Whoever goes over many records of others, and comes to an end, goes through the record walker."""

import ast

import pytest

from astrbot_plugin_scoped_memory.tests.house.source import Module, module, modules

WALKER = "llm_memory/migration/record_walker.py"

# What a loop of its own would need: to note how far it is, to know what is left, to rest between
# two batches as a walk does.
OF_A_WALK = ("_store.note_outcomes", "_store.ids_with_outcome", "_pace.pause")
LOOKS = {
    # Which records need not be read again.
    "llm_memory/migration/scope_migration.py": {"_store.ids_with_outcome"},
    # Another store: of vectors, whose files are at rest.
    "llm_memory/index/indexing_service.py": {"_store.ids_with_outcome"},
}


def means(subject: Module) -> set[str]:
    """The means of a walk that a module uses itself, called or handed on."""
    used = {ast.unparse(node) for node in ast.walk(subject.tree) if isinstance(node, ast.Attribute)}
    return {mean for mean in OF_A_WALK if any(name.endswith(mean) for name in used)}


def test_nobody_but_the_walker_has_the_means_of_a_walk() -> None:
    found = {
        subject.path: used
        for subject in modules("core", "llm_memory")
        if (used := means(subject) - LOOKS.get(subject.path, set()))
    }
    assert found == {WALKER: set(OF_A_WALK)}


@pytest.mark.parametrize(
    "code",
    [
        "async def f(self):\n    self._store.note_outcomes('x', [])",
        "async def f(self):\n    await to_thread(self._store.ids_with_outcome, 'x')",
        "async def f(self):\n    await sleep(self._pace.pause(1))",
    ],
)
def test_a_planted_loop_is_found(code: str) -> None:
    assert means(module(code))
