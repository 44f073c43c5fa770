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
