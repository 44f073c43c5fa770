"""``workflow.toml``: every wrong value is told in both languages, with what is done
instead; a hostile root is refused, and reading makes nothing."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError
from astrbot_plugin_scoped_memory.llm_memory.home.workflow import (
    is_workflow,
    project_workflow,
    role_names,
)
from astrbot_plugin_scoped_memory.llm_memory.models.workflow import Workflow, is_role
from astrbot_plugin_scoped_memory.llm_memory.texts import Said

pytestmark = pytest.mark.unit

HAN = re.compile("[\u4e00-\u9fff]")
posix = pytest.mark.skipif(os.name == "nt", reason="a Windows path is one there")


@pytest.fixture
def project(own_user: Path) -> Path:
    root = own_user / "code" / "shop"
    root.mkdir(parents=True, exist_ok=True)
    return root


def read(
    project: Path, text: str | bytes, environ: Mapping[str, str] | None = None
) -> Workflow | None:
    file = project / "workflow.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    home = project.parent.parent / "home"
    return project_workflow(file, {"HOME": str(home.parent)} | dict(environ or {}), home)


def taken(project: Path, text: str, environ: Mapping[str, str] | None = None) -> Workflow:
    workflow = read(project, text, environ)
    assert workflow is not None
    return workflow


def refusal(
    project: Path, text: str | bytes, environ: Mapping[str, str] | None = None
) -> tuple[str, str]:
    """The line in Chinese and in English, without the file that both begin with."""
    before = sorted(project.parent.parent.rglob("*"))
    with pytest.raises(HomeError) as caught:
        read(project, text, environ)
    assert set(project.parent.parent.rglob("*")) - set(before) <= {project / "workflow.toml"}
    return halves(project, caught.value.said)


def halves(project: Path, said: Said) -> tuple[str, str]:
    zh, en = said.text("zh"), said.text("en")
    start = f"{project / 'workflow.toml'}: "
    assert zh.startswith(start)
    assert en.startswith(start)
    zh, en = zh.removeprefix(start), en.removeprefix(start)
    assert HAN.search(zh)
    assert not HAN.search(en)
    assert "\n" not in zh + en
    return zh, en


def test_what_is_right_is_taken(project: Path) -> None:
    workflow = taken(
        project,
        '[memory]\nroot = "./memory"\nlayout = "project-only"\nauto_inject_topk = 0\n'
        'project = "商店"\n[roles]\nenabled = ["architect", "后端"]\n[other]\nours = false\n',
    )
    assert workflow == Workflow(
        project / "workflow.toml",
        project / "memory",
        has_roles=False,
        topk=0,
        project="商店",
        enabled=("architect", "后端"),
    )
    plain = taken(project, "[memory]\n")
    assert plain == Workflow(project / "workflow.toml")
    assert (plain.root, plain.has_roles, plain.topk, plain.enabled) == (None, True, None, None)
    assert taken(project, "\ufeff[roles]\r\nenabled = []\r\n").enabled == ()


@pytest.mark.parametrize("text", ["", '[tool]\nroot = "/"\n', "memory = 3\n", 'roles = ["a"]\n'])
def test_a_file_without_our_tables_is_not_ours(project: Path, text: str) -> None:
    assert read(project, text) is None
    assert not is_workflow(project / "workflow.toml")
    assert not is_workflow(project / "absent" / "workflow.toml")


NOT_A_ROOT = {
    "'/'": "user's own folder, or one above it",
    "'~'": "user's own folder",
    "'../..'": "user's own folder",
    "'~/home/memory'": "cannot lie in the memory's home",
    "'.git/hooks'": "cannot lie in .git",
    "'../bot/data'": "the data of a bot",
    "'../plugin_data/x/memory'": "the data of a bot",
    "'../elsewhere'": "the data of a bot",
    "'../site'": "the folder of another project",
    "'workflow.toml'": "cannot be a file",
    "''": "has to name a folder",
    "3": "has to name a folder",
    '"a\\u001b[2Jb"': "has to name a folder",
}
"""TOML values, and why they are refused."""


@pytest.mark.parametrize("root", NOT_A_ROOT)
def test_what_cannot_be_a_root_is_an_error(project: Path, root: str) -> None:
    code = project.parent
    (code / "site" / ".scoped-memory").mkdir(parents=True)
    (code / "bot" / "data").mkdir(parents=True)
    (code / "bot" / "data" / "cmd_config.json").touch()
    (code / "elsewhere").mkdir()
    (code / "elsewhere" / "owner.lock").touch()  # a bot's memory_root that lies elsewhere
    zh, en = refusal(project, f"[memory]\n\nroot = {root}\n")
    assert zh.startswith("root ")
    assert en.startswith("root ")
    assert NOT_A_ROOT[root] in en


@pytest.mark.parametrize(
    ("text", "en"),
    [
        ('[memory]\nroot = "D:\\memory"\n', "(at line 2, column 13)"),
        (b'[memory]\n# \xff\nroot = "a"\n', "line 2, column 3"),
        (b"[memory]\n#" + b"x" * 70_000, "too large"),
        ("[memory]\nroot = " + "[" * 5000, "nested too deeply"),
        ("[memory]\nauto_inject_topk = " + "1" * 5000, "digits"),
        ("memory.layout = 'project-only'\nmemory.root = '/'\n", "root cannot be"),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_place(
    project: Path, text: str | bytes, en: str
) -> None:
    assert en in refusal(project, text)[1]


def test_a_windows_path_in_double_quotes_is_told_how_to_be_written(project: Path) -> None:
    zh, en = refusal(project, '[memory]\nroot = "D:\\项目\\memory"\n')
    assert zh.endswith("Windows 路径请用单引号：'D:\\记忆'")
    assert en.endswith("Write Windows paths in single quotes: 'D:\\memory'")


@posix
@pytest.mark.parametrize(
    "root", ["D:\\memory", "d:/memory", "\\\\nas\\memory", "//nas/memory", "a\\b"]
)
def test_a_windows_path_makes_no_folder_here(project: Path, root: str) -> None:
    assert "is a Windows path" in refusal(project, f"[memory]\nroot = '{root}'\n")[1]
    refusal(project, "[memory]\nroot = '${WHERE}'\n", {"WHERE": root})
    assert {path.name for path in project.iterdir()} == {".git", "workflow.toml"}


@pytest.mark.parametrize("root", ["${ABSENT}/m", "${KEY}", "m/${TEAM}", "${TEAM", "${TEAM}m"])
def test_a_variable_that_is_no_folder_is_refused_and_not_shown(project: Path, root: str) -> None:
    environ = {"TEAM": str(project.parent / "team"), "KEY": "sk-live-0123456789"}
    zh, en = refusal(project, f'[memory]\nroot = "{root}"\n', environ)
    assert en.endswith("is not set, or no absolute path, or not at the beginning")
    assert "0123456789" not in zh + en


def test_a_root_is_the_real_path_that_it_leads_to(project: Path) -> None:
    team = project.parent / "team"
    team.mkdir()
    environ = {"TEAM": str(team)}
    assert taken(project, '[memory]\nroot = "${TEAM}/m"\n', environ).root == team / "m"
    assert taken(project, '[memory]\nroot = "${TEAM}"\n', environ).root == team
    assert taken(project, '[memory]\nroot = "~/notes"\n').root == project.parent.parent / "notes"
    assert taken(project, '[memory]\nroot = "../team/./m"\n').root == team / "m"
    assert taken(project, '[memory]\nroot = "."\n').root == project
    (project / "here").symlink_to(team, target_is_directory=True)
    assert taken(project, '[memory]\nroot = "here"\n').root == team


def test_a_link_is_not_read(project: Path) -> None:
    (project.parent / "theirs.toml").write_text("[memory]\n")
    (project / "workflow.toml").symlink_to(project.parent / "theirs.toml")
    with pytest.raises(HomeError) as caught:
        is_workflow(project / "workflow.toml")
    said = halves(project, caught.value.said)
    assert said == ("是链接，不跟随", "is a link, which is not followed")


@pytest.mark.parametrize(
    ("text", "en", "used"),
    [
        ("[memory]\nlayout = 'flat'\n", "layout {} project-only", {"has_roles": False}),
        *(
            (f"# 一\n[memory]\nauto_inject_topk = {value}\n", "auto_inject_topk {} 3", {"topk": 3})
            for value in ("true", "21", "-1", "2.0", "'3'", "nan", "1979-05-27")
        ),
        ("[roles]\n[memory]\nproject = 'a b'\n", "project {} not set", {"project": ""}),
        *(
            (f"[roles]\nenabled = [\n'qa',\n{name},\n]\n", "role", {"enabled": ("qa",)})
            for name in ("'../x'", "'qa'", "'QA'", "''", "3", "'con'", "'" + "x" * 65 + "'")
        ),
        ("[roles]\nenabled = 'qa'\n", "enabled {} not set", {"enabled": None}),
        ("[memory]\n\n'rooot' = 'x'\n", "unknown key 'rooot'", {"root": None}),
        ("x = 1\nroles = ['qa']\n[memory]\n", "[roles] {} not set", {"enabled": None}),
    ],
)
def test_a_wrong_value_is_told_and_what_is_done_instead(
    project: Path, text: str, en: str, used: dict[str, object]
) -> None:
    workflow = taken(project, text)
    (warning,) = workflow.warnings
    en = en.format("is not written as it should be, taken as")
    assert halves(project, warning)[1].startswith(en)
    assert {name: getattr(workflow, name) for name in used} == used


def test_warnings_are_few_and_hold_no_escape_of_a_terminal(project: Path) -> None:
    keys = '"\\u001b[2J" = 1\n' + "".join(f"k{number} = 1\n" for number in range(500))
    warnings = taken(project, "[memory]\n" + keys).warnings
    assert len(warnings) == 20
    assert not any("\x1b" in one.text("zh") + one.text("en") for one in warnings)


def test_roles_are_those_enabled_else_the_folders(project: Path) -> None:
    memory = project / "memory"
    for name in ("qa", "backend", "a%zz"):
        (memory / "roles" / name).mkdir(parents=True)
    (memory / "roles" / "note.md").touch()
    (memory / "roles" / "linked").symlink_to(project, target_is_directory=True)
    plain = Workflow(project)
    assert role_names(memory, plain) == role_names(memory, None) == ("backend", "qa")
    assert role_names(memory, Workflow(project, enabled=("ops",))) == ("ops",)
    assert role_names(memory, Workflow(project, enabled=())) == ()
    assert role_names(memory, Workflow(project, has_roles=False, enabled=("ops",))) == ()
    assert role_names(project / "absent", None) == ()


words = st.text(max_size=30).filter(lambda text: not any("\ud800" <= c <= "\udfff" for c in text))
paths = st.lists(
    st.sampled_from(
        ["..", ".", "~", "/", "\\", "C:", "D:\\", "\\\\", "//", "${HOME}", "${", "}", "${KEY}",
         "mem", "记忆", ".git", "con", "x" * 300, "\t", "\u202e", "$HOME", "%TEMP%", "home"]
    ),
    max_size=5,
).map("/".join)  # fmt: skip
values = st.one_of(
    st.booleans(), st.integers(-(2**70), 2**70), words, paths, st.lists(words, max_size=4)
)
keys = st.sampled_from(
    ["root", "layout", "auto_inject_topk", "project", "enabled", "rot", "a b", ""]
)


def written(value: Any) -> str:
    """JSON of these values is TOML, but for what JSON leaves as it is."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


@st.composite
def files(draw: st.DrawFn) -> bytes:
    text = ""
    for table in draw(st.permutations(["[memory]", "[roles]", "[tool.x]", ""])):
        content = draw(st.dictionaries(keys, values, max_size=4))
        lines = (f"{written(key)} = {written(value)}\n" for key, value in content.items())
        if table:
            text += f"{table}\n" + "".join(lines)
    return text.encode()


@given(st.one_of(files(), st.binary(max_size=200), words.map(str.encode)))
@example(b'[memory]\nroot = "\\uD800"\n')
@example(b"\xff\xfe[\x00m\x00e\x00m\x00o\x00r\x00y\x00]\x00")
@example(b"[memory]\nroot = 0x" + b"f" * 9000)
@example(b"[memory]\r[roles]\r")
def test_any_bytes_are_an_error_in_words_or_a_workflow(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    top = tmp_path_factory.mktemp("w")
    project = top / "code" / "shop"
    project.mkdir(parents=True)
    file = project / "workflow.toml"
    file.write_bytes(content)
    before = sorted(top.rglob("*"))
    environ = {"HOME": str(top), "KEY": "sk-live-0123456789"}
    try:
        workflow = project_workflow(file, environ, top / "home")
    except HomeError as error:
        said = [error.said.text("zh"), str(error)]
    else:
        assert workflow is None or isinstance(workflow, Workflow)
        told = workflow.warnings if workflow else ()
        said = [one.text(language) for one in told for language in ("zh", "en")]
        if workflow is not None:
            assert workflow.topk is None or 0 <= workflow.topk <= 20
            assert all(map(is_role, workflow.enabled or ()))
            assert workflow.root not in (top, top / "home", Path("/"))
            assert workflow.root is None or not set("\\\0") & set(str(workflow.root))
    assert sorted(top.rglob("*")) == before
    assert all(line.startswith(f"{file}: ") and line.isprintable() for line in said)
    assert not any("0123456789" in line for line in said)
