"""The release: a zip of exactly what ships, for the panel's upload or a market.

    python scripts/make_zip.py [--slim]

Only files that git tracks go in, under one folder with the plugin's name. The same commit gives the
same bytes of every member. The slim one asks for no embedding model, nor what one needs, and
differs in nothing else.
"""

import argparse
import re
import zipfile
from pathlib import Path

import checkout

checkout.register()

from astrbot_plugin_scoped_memory.harness.release import (  # noqa: E402
    MODELS,
    PLUGIN,
    SHIPPED,
    without_packages,
)

REQUIREMENTS = Path("requirements.txt")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the first moment a zip can name


def shipped_files() -> list[Path]:
    """The tracked files that ship, relative to the checkout."""
    names = [path.relative_to(checkout.ROOT) for path in checkout.files()]
    return [name for name in names if name.parts[0] in SHIPPED]


def version() -> str:
    """The version that metadata.yaml states."""
    text = (checkout.ROOT / "metadata.yaml").read_text(encoding="utf-8")
    found = re.search(r"""^version:\s*["']?v?([^\s"'#]+)""", text, re.MULTILINE)
    if found is None:
        raise ValueError("metadata.yaml states no version")
    return found[1]


def content(name: Path, *, slim: bool) -> bytes:
    """What a file of the checkout says in the zip."""
    raw = (checkout.ROOT / name).read_bytes()
    return without_packages(raw.decode(), MODELS).encode() if slim and name == REQUIREMENTS else raw


def make_zip(folder: Path, *, slim: bool = False) -> Path:
    """Write `<plugin>-<version>.zip`, or `…-slim.zip`, into `folder` and return its path."""
    files = shipped_files()
    if Path("main.py") not in files:
        raise FileNotFoundError("main.py is not tracked by git: nothing to release")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{PLUGIN}-{version()}{'-slim' if slim else ''}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name in files:
            member = zipfile.ZipInfo(f"{PLUGIN}/{name.as_posix()}", EPOCH)
            member.external_attr = 0o644 << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(member, content(name, slim=slim))
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Write the release into dist/.")
    parser.add_argument("--slim", action="store_true", help="without models")
    print(make_zip(checkout.ROOT / "dist", slim=parser.parse_args().slim))
