"""Where it is kept that native libraries run on this machine: each is tried once, not by each test.

A trial takes as long as the start that it is made for.
"""

import atexit
import shutil
import tempfile
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(tempfile.mkdtemp(prefix="native-"))
NATIVE: Final = _FOLDER / "native.json"
"""Of Chroma; the answers about models lie beside it."""

atexit.register(shutil.rmtree, _FOLDER, ignore_errors=True)


def native_without_models(folder: Path) -> Path:
    """Like ``NATIVE``, for tests whose models are fakes: a real one of the same version may have
    run before them in this process."""
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / NATIVE.name
    if NATIVE.exists():
        shutil.copy(NATIVE, record)
    return record
