"""Heavy packages are imported where they are used, off the event loop, never at import time."""

import pytest

from astrbot_plugin_scoped_memory.tests.house.source import (
    PARTS,
    Module,
    imports_here,
    module,
    module_level,
    modules,
)

HEAVY = frozenset(
    {
        "apscheduler",
        "chromadb",
        "jieba",
        "numpy",
        "onnxruntime",
        "phonenumbers",
        "sentence_transformers",
        "tokenizers",
        "torch",
        "transformers",
        "watchfiles",
    }
)


def heavy_at_import(subject: Module) -> list[str]:
    """`path:line package` for each heavy package that importing the module would import."""
    return [
        f"{subject.path}:{found.line} {found.source}"
        for statement in module_level(subject.tree.body)
        for found in imports_here(statement)
        if found.source.split(".")[0] in HEAVY
    ]


def test_no_heavy_package_is_imported_with_the_plugin() -> None:
    assert [line for subject in modules(*PARTS) for line in heavy_at_import(subject)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import chromadb",
        "import numpy as np",
        "from torch.nn import Module",
        "try:\n    import jieba\nexcept ImportError:\n    jieba = None",
        "try:\n    pass\nexcept ImportError:\n    import jieba",
        "class A:\n    import apscheduler.schedulers",
        "if True:\n    from sentence_transformers import SentenceTransformer",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    import numpy",
        "with open('x'):\n    import onnxruntime",
    ],
)
def test_a_planted_heavy_import_is_found(code: str) -> None:
    assert heavy_at_import(module(code))


@pytest.mark.parametrize(
    "code",
    [
        "def f():\n    import chromadb",
        "async def f():\n    from chromadb import PersistentClient",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy",
        "from . import jieba",
    ],
)
def test_a_late_import_is_fine(code: str) -> None:
    assert heavy_at_import(module(code)) == []
