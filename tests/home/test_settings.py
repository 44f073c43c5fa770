"""A home's settings in layers: the later wins, what is wrong is told, and a repository may set
nothing that could send memories away."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError
from astrbot_plugin_scoped_memory.llm_memory.home import setting_values
from astrbot_plugin_scoped_memory.llm_memory.home.places import default_home
from astrbot_plugin_scoped_memory.llm_memory.home.setting_values import KEYS
from astrbot_plugin_scoped_memory.llm_memory.home.settings import (
    LoadedSettings,
    load_settings,
)
from astrbot_plugin_scoped_memory.llm_memory.models.settings import PrivacyMode

pytestmark = [pytest.mark.unit, pytest.mark.property]

KEY = "sk-test-0123456789abcdef"
HAN = re.compile("[\u4e00-\u9fff]")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / ".scoped-memory").mkdir(parents=True)
    (tmp_path / "home").mkdir()
    return root


def load(project: Path, environ: Mapping[str, str] = {}, **flags: str) -> LoadedSettings:
    home = {"SCOPED_MEMORY_HOME": str(project.parent / "home")}
    return load_settings(flags=flags, environ={**home, **environ}, cwd=project)


def warned(read: LoadedSettings) -> list[str]:
    """The warnings in English, each of which stands in Chinese, too."""
    assert all(
        HAN.search(one.text("zh")) and not HAN.search(one.text("en")) for one in read.warnings
    )
    return [one.text("en") for one in read.warnings]


def in_home(project: Path, text: str) -> Path:
    return write(project.parent / "home" / "config.toml", text)


def in_project(project: Path, text: str) -> Path:
    return write(project / ".scoped-memory" / "config.toml", text)


def write(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_each_layer_covers_the_one_before_and_says_so(project: Path) -> None:
    def taken(environ: Mapping[str, str] = {}, **flags: str) -> tuple[int, str]:
        read = load(project, environ, **flags)
        assert read.warnings == ()
        return read.settings.max_tokens, read.origins["max_tokens"]

    assert taken() == (1500, "default")
    home = in_home(project, "max_tokens = 1000\n")
    assert taken() == (1000, str(home))
    own = in_project(project, "max_tokens = 900\n")
    assert taken() == (900, str(own))
    environ = {"SCOPED_MEMORY_MAX_TOKENS": "800"}
    assert taken(environ) == (800, "SCOPED_MEMORY_MAX_TOKENS")
    assert taken(environ, max_tokens="700") == (700, "--max-tokens")


def test_the_home_is_where_the_flag_the_environment_or_the_platform_says(tmp_path: Path) -> None:
    def home(environ: Mapping[str, str], **flags: str) -> Path:
        return load_settings(flags=flags, environ=environ, cwd=tmp_path).settings.home

    there = {"HOME": "/h", "SCOPED_MEMORY_HOME": "~/m"}
    assert home(there) == Path("/h/m")
    assert home(there, home="here") == tmp_path / "here"
    assert default_home({"HOME": "/h"}, "linux") == Path("/h/.local/share/scoped-memory")
    assert default_home({"HOME": "/h", "XDG_DATA_HOME": "/d"}, "linux") == Path("/d/scoped-memory")
    assert default_home({"HOME": "/h"}, "darwin").parts[-3:] == (
        "Library",
        "Application Support",
        "scoped-memory",
    )
    assert default_home({"USERPROFILE": "/u", "LOCALAPPDATA": "/l"}, "win32") == Path(
        "/l/scoped-memory"
    )


def test_an_unknown_key_is_named_with_the_one_that_was_meant(project: Path) -> None:
    file = in_home(project, f'max_token = 500\nembedding_key = "{KEY}"\n')
    read = load(project, {"SCOPED_MEMORY_EMBEDING": KEY, "SCOPED_MEMORY_ZZZ": "1"})
    assert read.settings == load(project).settings
    warnings = warned(read)
    assert f"{file}: " in warnings[0]
    assert warnings[0].endswith("did you mean max_tokens?")
    assert "embedding_key" in warnings[1]
    assert warnings[2].endswith("did you mean embedding?")
    assert "zzz" in warnings[3]
    assert KEY not in str(read.warnings)


WRONG = [
    "max_tokens = true", 'max_tokens = "many"', "max_tokens = 99", "max_tokens = 8001",
    "max_tokens = 1.5", "max_tokens = [500]", "language = 3", 'language = "fr"',
    'privacy_mode = "none"', 'embedding = "bundeled"', "embedding_model = {}",
    'embedding_url = "ftp://a"', 'embedding_url = "https://[::"',
    'embedding_url = "https://user:word@example.org/v1"', 'embedding_url = "https://e.org/?k=s"',
    'embedding_key_env = "sk-live-aB3"', 'embedding_key_env = ""', 'embedding_model = "a\\nb"',
    'embedding = "' + "x" * 999 + '"', "project = 5", 'home = "elsewhere"',
]  # fmt: skip


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_value_is_told_and_the_layer_before_stays(project: Path, line: str) -> None:
    plain = load(project)
    in_home(project, line + "\n")
    read = load(project)
    assert read.settings == plain.settings
    assert read.origins == plain.origins
    assert len(warned(read)) == 1
    value = line.partition(" = ")[2].strip('"')
    assert len(value) < 6 or value not in str(read.warnings)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"a = 1\nmax_tokens = = 2\n", "line 2, column 14"),
        (b"max_tokens = ", "end of document"),
        (b'# ok\nlanguage = "\xff"\n', "line 2, column 13"),
    ],
)
@pytest.mark.parametrize("whose", ["home", "project"])
def test_broken_toml_is_one_line_with_file_line_and_column(
    project: Path, content: bytes, place: str, whose: str
) -> None:
    folder = project.parent / "home" if whose == "home" else project / ".scoped-memory"
    file = folder / "config.toml"
    file.write_bytes(content)
    with pytest.raises(HomeError) as caught:
        load(project)
    text = str(caught.value)
    assert str(file) in text
    assert place in text
    assert "\n" not in text


def test_a_file_from_notepad_is_read_and_one_that_is_too_deep_or_too_large_refused(
    project: Path,
) -> None:
    in_home(project, "\ufeffmax_tokens = 500\r\n")
    assert load(project).settings.max_tokens == 500
    for text, why in (("project = " + "[" * 30_000, "deep"), ("#" * 70_000, "large")):
        in_project(project, text)
        with pytest.raises(HomeError, match=why):
            load(project)


HOSTILE = {
    "home": '"/tmp/theirs"',
    "embedding": '"http"',
    "embedding_url": '"https://evil.example/v1"',
    "embedding_model": '"theirs"',
    "embedding_key_env": '"AWS_SECRET_ACCESS_KEY"',
    "embedding_key_file": '"key"',
    "privacy_mode": '"off"',
}


def test_the_projects_file_sets_four_keys_and_no_others(project: Path) -> None:
    assert set(HOSTILE) == {name for name, key in KEYS.items() if not key.of_project}
    (project / ".scoped-memory" / "key").write_text(KEY)
    (project / ".scoped-memory" / "key").chmod(0o600)
    plain = load(project)
    own = 'project = "theirs"\nlanguage = "zh"\nmax_tokens = 200\nprimer_tokens = 300\n'
    in_project(project, own + "".join(f"{key} = {value}\n" for key, value in HOSTILE.items()))
    read = load(project)
    for key in HOSTILE:
        assert getattr(read.settings, key) == getattr(plain.settings, key)
        assert read.origins[key] == plain.origins[key]
        assert any(key in warning for warning in warned(read))
    assert len(read.warnings) == len(HOSTILE)
    settings = read.settings
    assert (settings.project, settings.language) == ("theirs", "zh")
    assert (settings.max_tokens, settings.primer_tokens) == (200, 300)


def test_a_link_in_the_projects_place_is_not_read(project: Path, tmp_path: Path) -> None:
    theirs = write(tmp_path / "elsewhere.toml", "max_tokens = 200\n")
    (project / ".scoped-memory" / "config.toml").symlink_to(theirs)
    read = load(project)
    assert read.settings.max_tokens == 1500
    assert "link" in warned(read)[0]


def test_a_terminal_escape_and_a_flood_of_keys_do_not_reach_the_terminal(project: Path) -> None:
    keys = '"\\u001b[2J" = 1\n' + "".join(f"k{number} = 1\n" for number in range(1000))
    in_project(project, keys)
    read = load(project)
    assert len(warned(read)) < 60
    assert not any("\x1b" in one.text("zh") + one.text("en") for one in read.warnings)


@pytest.mark.parametrize(
    ("said", "language"),
    [("zh_CN.UTF-8", "zh"), ("zh", "zh"), ("en_US.UTF-8", "en"), ("C.UTF-8", "en"), ("", "en")],
)
def test_the_language_is_the_machines(
    said: str, language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", said)
    monkeypatch.delenv("LANG", raising=False)
    monkeypatch.setattr(setting_values.locale, "getlocale", lambda: (None, None))
    assert setting_values.spoken("auto") == language


def test_a_model_folder_is_found_from_where_it_was_said(project: Path) -> None:
    model = project.parent / "home" / "models" / "small"
    model.mkdir(parents=True)
    in_home(project, 'embedding = "models/small"\nprivacy_mode = "reject"\n')
    settings = load(project).settings
    assert settings.embedding == str(model)
    assert settings.privacy_mode is PrivacyMode.REJECT


@pytest.mark.skipif(os.name == "nt", reason="a user's files are private there")
def test_a_key_file_that_cannot_be_used_leaves_no_key_at_all(project: Path) -> None:
    """Neither the file of a layer before nor the default variable: those are other services'."""
    file = write(project.parent / "home" / "key", KEY + "\n")
    file.chmod(0o600)
    in_home(project, 'embedding_key_file = "key"\nembedding_key_env = "MY_KEY"\n')
    settings = load(project).settings
    assert (settings.embedding_key_file, settings.embedding_key_env) == (file, "MY_KEY")
    for bad in ("/absent/" + KEY, KEY * 20, str(project)):
        read = load(project, {"SCOPED_MEMORY_EMBEDDING_KEY_FILE": bad})
        assert (read.settings.embedding_key_file, read.settings.embedding_key_env) == (None, "")
        assert KEY not in str(read.warnings)
    file.chmod(0o640)
    read = load(project)
    assert (read.settings.embedding_key_file, read.settings.embedding_key_env) == (None, "")
    assert "chmod 600" in warned(read)[0]
