"""The checkout under the plugin's own name, whatever its folder is called.

AstrBot imports a plugin as a package named like its folder. Tests and tools need the same view: one
name for every module and one copy of every class. `register()` gives it to the running interpreter,
`farm()` to tools that look a package up on a path: mypy, and import-linter, which does not see
relative imports under bare root packages. `files()` says what belongs to the checkout at all.

    python scripts/checkout.py FOLDER     build a farm in FOLDER
"""

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parent.parent
NAME = "astrbot_plugin_scoped_memory"
MADE = (
    "build", "dist", "__pycache__", ".git", ".venv*", ".node", ".hypothesis", ".*_cache",
    "*.egg-info",
)  # fmt: skip
MEMBERS = ("__init__.py", "main.py", "core", "tools", "llm_memory", "harness")


def register() -> ModuleType:
    """The checkout, imported as `astrbot_plugin_scoped_memory`; the same module at each call."""
    present = sys.modules.get(NAME)
    if present is not None:
        return present
    spec = importlib.util.spec_from_file_location(
        NAME, ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"{ROOT / '__init__.py'} cannot be loaded as a package")
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules[NAME]
        raise
    return package


def farm(target: Path, *, copy: bool = False) -> Path:
    """`target`, with one folder in it: the package, whose members are links to the checkout's.

    With `copy`, or where links are not allowed, the members are copied, so that a test may change
    them. Members that the checkout lacks are left out.
    """
    package = target / NAME
    package.mkdir(parents=True, exist_ok=True)
    wanted = {package / name: ROOT / name for name in MEMBERS if (ROOT / name).exists()}
    for place in package.iterdir():
        # What is right stays: another run may be reading it.
        if copy or not place.is_symlink() or wanted.get(place) != place.readlink():
            _remove(place)
    for place, source in wanted.items():
        if not place.is_symlink() and (copy or not _link(source, place)):
            _copy(source, place)
    return target


def _link(source: Path, place: Path) -> bool:
    try:
        place.symlink_to(source, target_is_directory=source.is_dir())
    except OSError:  # no right to make links (Windows), or a file system without them
        return False
    return True


def _copy(source: Path, place: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, place, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy2(source, place)


def _remove(place: Path) -> None:
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    else:
        place.unlink()


def files(*, new: bool = False) -> list[Path]:
    """The files that git tracks, sorted; with `new` also those that the next `git add` would take.

    Where git cannot be asked (an export, a checkout that somebody else owns): all files that no
    tool of ours has made.
    """
    command = ["git", "ls-files", "-z", "--cached"]
    if new:
        command += ["--others", "--exclude-standard"]
    try:
        answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return sorted(_walk(ROOT))
    paths = {ROOT / name for name in answer.decode().split("\0") if name}
    return sorted(path for path in paths if path.is_file())


def _walk(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if any(path.match(pattern) for pattern in MADE):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python scripts/checkout.py FOLDER")
    farm(Path(sys.argv[1]))
