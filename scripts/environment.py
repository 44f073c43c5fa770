"""A virtual environment, ready: made if missing, filled if what it should hold has changed.

    python scripts/environment.py .venv full

What was installed is remembered in the environment as a hash of the requirements, and of the
engine's files where the engine itself is installed, so that a second call costs nothing. uv
installs when it can be had (seconds instead of minutes), else pip.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("sentence-transformers",)  # brings torch

# A lower bound, no pin: a release can ask for what an index lacks yet; its neighbour is taken then.
ASTRBOT_NEWEST = "astrbot>=4.28"
ASTRBOT_OLDEST = "astrbot>=4.28,<4.29"


# The line of the SDK that a fresh environment gets. AstrBot holds the other levels on 1.x.
MCP_NEWEST = "mcp>=2,<3"

WHEEL = "scoped-memory"
WHEEL_SOURCES = ("llm_memory", "pyproject.toml", "metadata.yaml")
"""What the wheel of the checkout is built from."""


@dataclass(frozen=True)
class Level:
    """What an environment holds: single requirements and requirement files.

    Attributes:
        first: The requirement that the level is about.
        files: Requirement files of the checkout.
        heavy: Whether packages are wanted that bring torch.
        wheel: Whether the engine is installed, too, as `pip install` of the checkout does it.
    """

    first: str
    files: tuple[str, ...]
    heavy: bool = False
    wheel: bool = False

    def requirements(self) -> Iterator[str]:
        """One requirement a line, comments and (unless wanted) heavy packages left out."""
        yield self.first
        for name in self.files:
            for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
                requirement = line.split(" #")[0].strip()
                skipped = requirement.startswith("#" if self.heavy else ("#", *HEAVY))
                if requirement and not skipped:
                    yield requirement


LEVELS = {
    "demo": Level(ASTRBOT_NEWEST, ("requirements.txt",)),
    "dev": Level(ASTRBOT_NEWEST, ("requirements.txt", "requirements-dev.txt")),
    "full": Level(
        ASTRBOT_NEWEST,
        ("requirements.txt", "requirements-dev.txt", "requirements-models.txt"),
        heavy=True,
    ),
    "oldest": Level(ASTRBOT_OLDEST, ("requirements.txt",)),
    "agent": Level(MCP_NEWEST, (), wheel=True),
}
SATISFIES = {
    "demo": ("demo",),
    "dev": ("demo", "dev"),
    "full": ("demo", "dev", "full"),
    "oldest": ("oldest",),
    "agent": ("agent",),
}


def prepare(folder: Path, level: str) -> None:
    """Return when `folder` is an environment that holds `level`; else CalledProcessError."""
    python = make(folder)
    if is_ready(folder, level):
        return
    print(f"setting up {folder} ({level}) ...", flush=True)
    # Taken first: what is saved while the installer runs is installed by the next call.
    fingerprints = {satisfied: _fingerprint(satisfied) for satisfied in SATISFIES[level]}
    requirements = list(LEVELS[level].requirements())
    if LEVELS[level].wheel:
        requirements.append(str(ROOT))
    install(folder, python, requirements)
    for satisfied, fingerprint in fingerprints.items():
        (folder / f".ready-{satisfied}").write_text(fingerprint)


def is_ready(folder: Path, level: str) -> bool:
    """Whether `folder` was filled with what `level` asks for now."""
    stamp = folder / f".ready-{level}"
    return stamp.is_file() and stamp.read_text() == _fingerprint(level)


def python_of(folder: Path) -> Path:
    """The interpreter of the environment in `folder`, made or not."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _fingerprint(level: str) -> str:
    wanted = hashlib.sha256("\n".join(LEVELS[level].requirements()).encode())
    if LEVELS[level].wheel:
        for path in _wheel_sources():
            content = hashlib.sha256(path.read_bytes()).hexdigest()
            wanted.update(f"\n{path.relative_to(ROOT).as_posix()} {content}".encode())
    return wanted.hexdigest()


def _wheel_sources() -> list[Path]:
    """The files below WHEEL_SOURCES, sorted, without bytecode."""
    found = []
    for place in (ROOT / name for name in WHEEL_SOURCES):
        found += [path for path in place.rglob("*") if path.is_file()] or [place]
    return sorted(path for path in found if path.suffix != ".pyc")


def make(folder: Path) -> Path:
    python = python_of(folder)
    probe = [str(python), "-c", "import sys; sys.exit(sys.version_info < (3, 12))"]
    if python.exists() and subprocess.run(probe, check=False).returncode == 0:
        return python
    if folder.exists():  # half made, or its Python is gone
        shutil.rmtree(folder)
    print(f"making {folder} with Python {sys.version.split()[0]} ...", flush=True)
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return python


def install(folder: Path, python: Path, requirements: list[str]) -> None:
    uv = python.with_name("uv.exe" if os.name == "nt" else "uv")
    if not uv.exists():
        _pip(python, "--quiet", "uv", check=False)
    if uv.exists():
        # uv takes a wheel of the same version for the same wheel, whatever the folder holds now.
        again = ["--reinstall-package", WHEEL] if str(ROOT) in requirements else []
        command = [str(uv), "pip", "install", "--quiet", "--python", str(python), *again]
        command += requirements
        if subprocess.run(command, check=False).returncode == 0:
            return
        print(f"uv could not fill {folder}; trying pip, which takes longer ...", flush=True)
    _pip(python, *requirements, check=True)


def _pip(python: Path, *arguments: str, check: bool) -> None:
    has_pip = [str(python), "-c", "import pip"]
    if subprocess.run(has_pip, check=False, stderr=subprocess.DEVNULL).returncode != 0:
        subprocess.run([str(python), "-m", "ensurepip"], check=check)
    subprocess.run([str(python), "-m", "pip", "install", *arguments], check=check)


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[2] not in LEVELS:
        sys.exit(f"usage: python scripts/environment.py FOLDER {'|'.join(LEVELS)}")
    try:
        prepare(Path(sys.argv[1]), sys.argv[2])
    except subprocess.CalledProcessError as error:
        sys.exit(f"could not set up {sys.argv[1]}: {error}")
