"""A user of one's own: no setting or folder of the machine's reaches these tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.tests.support.dictionary import share_dictionary


@pytest.fixture
def own_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder, in which a project stands; the current folder is the project's. The home of
    the memories is ``memories`` below it, English, and without an embedder."""
    folder = tmp_path / "user"
    project = folder / "code" / "shop"
    (project / ".git").mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(folder))
    for name in [name for name in os.environ if name.startswith(("SCOPED_MEMORY_", "XDG_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LOCALAPPDATA", str(folder / ".local" / "share"))
    monkeypatch.setenv("SCOPED_MEMORY_HOME", str(folder / "memories"))
    monkeypatch.setenv("SCOPED_MEMORY_EMBEDDING", "lexical")
    monkeypatch.setenv("SCOPED_MEMORY_LANGUAGE", "en")
    share_dictionary(monkeypatch)
    monkeypatch.chdir(project)
    return folder
