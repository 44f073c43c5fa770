"""Makes a home: its folders, its settings file, and a project's own store."""

from __future__ import annotations

import os
import site
import sys
import sysconfig
from pathlib import Path
from typing import Final

from ..errors import HomeError
from ..service.paths import EnginePaths
from ..storage.files import PRIVATE, make_folder
from ..texts import at
from ..vault.rules.templates import role_template, shared_templates
from .clients import Launch
from .file_changes import Change, planned, refuse_links
from .places import CONFIG, PROJECT_FOLDER
from .project import Project
from .setting_values import spoken
from .settings import DEFAULT, PREFIX, HomeSettings, config_text
from .workflow import role_names

_PACKAGE: Final = Path(__file__).resolve().parent.parent


def missing_folders(home: Path, project: Project | None) -> list[Path]:
    """Returns the folders that are to be made: the home's, and those of a store of the project's
    own, if it is to have one. Raises HomeError where a file or a link stands in the place of one.
    """
    wanted = [home, _scopes(EnginePaths.under(home).memory), home / "projects"]
    if project is not None and project.own_store:
        top, memory = _memory_below(project)
        wanted.append(_scopes(memory))
        refuse_links(top, wanted[-1])
    for folder in wanted:
        nearest = next(step for step in (folder, *folder.parents) if os.path.lexists(step))
        if not nearest.is_dir():
            raise HomeError(at(nearest, "path.not_folder"))
    return [folder for folder in wanted if not folder.exists()]


def make_folders(folders: list[Path], home: Path) -> None:
    """Make folders; the home's can be looked into by its user alone. Raises OSError."""
    if home in folders:
        home.parent.mkdir(parents=True, exist_ok=True)
        home.mkdir(mode=PRIVATE)
    for folder in folders:
        make_folder(folder)


def plan_config(home: Path, language: str) -> Change:
    """Plan the home's settings file, with all defaults as comments; one that is there stays.
    Raises HomeError."""
    return planned(home, CONFIG, lambda text: text or config_text(language))


def plan_mark(root: Path, name: str, language: str) -> Change:
    """Plan the file that makes a folder a project, and names it; one that is there stays. Raises
    HomeError."""
    relative = f"{PROJECT_FOLDER}/{CONFIG}"
    return planned(root, relative, lambda text: text or config_text(language, name))


def plan_layout(project: Project, language: str) -> list[Change]:
    """Plan the files of a project's memory root that are not there yet: those of ``shared/``, and
    the page of each role. Raises HomeError."""
    english = spoken(language) == "en"
    top, memory = _memory_below(project)
    texts = dict(shared_templates(english=english))
    for role in role_names(memory, project.workflow):
        path, text = role_template(role, english=english)
        texts[path] = text
    below = memory.relative_to(top)
    return [
        planned(top, (below / path).as_posix(), text.__add__)  # to nothing: there is no file
        for path, text in texts.items()
        if not os.path.lexists(memory / path)
    ]


def launch_of(settings: HomeSettings, home_origin: str) -> Launch:
    """Returns how other programs start this memory: with this interpreter, from where this package
    lies, and with this home if it is not the platform's."""
    variables = {}
    if not finds_itself(_PACKAGE.parent):
        variables["PYTHONPATH"] = str(_PACKAGE.parent)
    if home_origin != DEFAULT:
        variables[PREFIX + "HOME"] = str(settings.home)
    return Launch(sys.executable, variables)


def finds_itself(folder: Path) -> bool:
    """Returns True if this interpreter finds packages in ``folder`` by itself, in any folder that
    it is started in."""
    paths = sysconfig.get_paths()
    known = [paths["purelib"], paths["platlib"], *site.getsitepackages()]
    if site.ENABLE_USER_SITE:
        known.append(site.getusersitepackages())
    return any(folder == Path(place).resolve() for place in known)


def _memory_below(project: Project) -> tuple[Path, Path]:
    """Returns a project's memory root, and the folder above which links do not matter."""
    stated = project.stated_root
    return (stated, stated) if stated else (project.root, project.root / PROJECT_FOLDER / "memory")


def _scopes(memory: Path) -> Path:
    return memory / "scopes" / "public"
