"""What programs are forked with: imported once by the process that forks them.

The engine is there twice, as ``python -m llm_memory`` has it and as the tests do.
"""

import contextlib
import sys
from importlib import import_module
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))

import checkout

TESTS = checkout.register().__name__
for module in (
    "chromadb.api.client",
    "chromadb.api.rust",
    "chromadb_rust_bindings",
    "mcp.server.fastmcp",
    "llm_memory.api",
    "llm_memory.cli.serve",
    f"{TESTS}.tests.support.engines",
):
    with contextlib.suppress(ImportError):  # where it is absent, no program needs it
        import_module(module)
for engine in ("llm_memory", f"{TESTS}.llm_memory"):
    import_module(f"{engine}.text.lazy_pattern").compile_all()
