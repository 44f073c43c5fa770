"""``workflow.toml``: every wrong value is told with its line in both languages, with what is done
instead; a hostile root is refused, and reading makes nothing."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import HomeError
from astrbot_plugin_scoped_memory.llm_memory.home.workflow import (
    is_workflow,
    project_workflow,
    role_names,
)
from astrbot_plugin_scoped_memory.llm_memory.models.workflow import Workflow
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
        root_line=2,
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


@pytest.mark.parametrize(
    ("text", "zh", "en"),
    [
        (
            '[memory]\nroot = "D:\\memory"\n',
            "第 2 行第 13 列不是合法的 TOML：",
            "not valid TOML at line 2, column 13: ",
        ),
        ("[memory]\n\nroot = = 3", "第 3 行第 8 列", "line 3, column 8"),
        (b'[memory]\n# \xff\nroot = "a"\n', "第 2 行第 3 列", "line 2, column 3"),
        (b"[memory]\n#" + b"x" * 70_000, "太大", "too large"),
        ("[memory]\nroot = " + "[" * 5000, "嵌套太深", "nested too deeply"),
        ("[memory]\nauto_inject_topk = " + "1" * 5000, "第 2 行", "line 2"),
        (
            "[memory]\nroot = ''\n",
            "第 2 行：root 要写一个文件夹",
            "line 2: root has to name a folder",
        ),
        ("[memory]\nlayout = 'x'\nroot = 3\n", "第 3 行：root 要写", "line 3: root has to name"),
        ('[memory]\nroot = "a\\u001b[2Jb"\n', "第 2 行：root 要写", "line 2: root has to name"),
        ('[memory]\nroot = "a\\u0000b"\n', "第 2 行：root 要写", "line 2: root has to name"),
        (
            "memory.layout = 'project-only'\nmemory.root = '/'\n",
            "第 2 行：root 不能是用户的主目录或它的上级",
            "line 2: root cannot be the user's own folder, or one above it",
        ),
        ("[memory]\nroot = '~'\n", "第 2 行：root 不能是用户", "line 2: root cannot be the user's"),
        ("[memory]\nroot = '../..'\n", "第 2 行：root 不能是用户", "line 2: root cannot be the"),
        ("[memory]\nroot = '~/home'\n", "root 不能在记忆的家里", "root cannot lie in the memory's"),
        ("[memory]\nroot = '~/home/memory'\n", "root 不能在记忆的家里", "root cannot lie in the"),
        ("[memory]\nroot = '.git/hooks'\n", "root 不能在 .git 里", "root cannot lie in .git"),
        ("[memory]\nroot = '../bot/data'\n", "机器人的数据", "the data of a bot"),
        ("[memory]\nroot = '../plugin_data/x/memory'\n", "机器人的数据", "the data of a bot"),
        ("[memory]\nroot = '../elsewhere'\n", "机器人的数据", "the data of a bot"),
        ("[memory]\nroot = '../site'\n", "别的项目的文件夹", "the folder of another project"),
        ("[memory]\nroot = 'workflow.toml'\n", "root 不能是文件", "root cannot be a file"),
    ],
)
def test_what_cannot_be_used_is_an_error_in_either_language(
    project: Path, text: str | bytes, zh: str, en: str
) -> None:
    code = project.parent
    (code / "site" / ".scoped-memory").mkdir(parents=True)
    (code / "bot" / "data").mkdir(parents=True)
    (code / "bot" / "data" / "cmd_config.json").touch()
    (code / "elsewhere").mkdir()
    (code / "elsewhere" / "owner.lock").touch()  # a bot's memory_root that lies elsewhere
    said = refusal(project, text)
    assert zh in said[0]
    assert en in said[1]


def test_a_windows_path_in_double_quotes_is_told_how_to_be_written(project: Path) -> None:
    zh, en = refusal(project, '[memory]\nroot = "D:\\项目\\memory"\n')
    assert zh.endswith("Windows 路径请用单引号：'D:\\记忆'")
    assert en.endswith("Write Windows paths in single quotes: 'D:\\memory'")


@posix
@pytest.mark.parametrize(
    "root",
    ["D:\\memory", "d:/memory", "C:", "\\\\nas\\memory", "//nas/memory", ".\\memory", "a\\b"],
)
@pytest.mark.parametrize("by_variable", [False, True])
def test_a_windows_path_makes_no_folder_here(project: Path, root: str, by_variable: bool) -> None:
    text = "${WHERE}" if by_variable else root
    zh, en = refusal(project, f"[memory]\nroot = '{text}'\n", {"WHERE": root})
    if not by_variable or root.startswith("//"):
        assert zh == "第 2 行：root 是 Windows 的路径，这台机器用不了，也没有建文件夹"
        assert en.startswith("line 2: root is a Windows path")
    assert {path.name for path in project.iterdir()} == {".git", "workflow.toml"}


@pytest.mark.parametrize(
    "root", ["${ABSENT}/m", "${KEY}", "m/${TEAM}", "${TEAM", "${}", "${TEAM}m", "${a b}"]
)
def test_a_variable_that_is_no_folder_is_refused_and_not_shown(project: Path, root: str) -> None:
    environ = {"TEAM": str(project.parent / "team"), "KEY": "sk-live-0123456789"}
    zh, en = refusal(project, f'[memory]\nroot = "{root}"\n', environ)
    assert zh.endswith("没有设，或不是绝对路径，或不在开头")
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
    ("text", "zh", "en", "used"),
    [
        (
            "[memory]\nlayout = 'flat'\n",
            "第 2 行：layout 只能是 project-only 或 project+roles，按 project-only",
            "line 2: layout must be project-only or project+roles, taken as project-only",
            Workflow(Path(), has_roles=False),
        ),
        ("[memory]\nlayout = []\n", "第 2 行：layout", "line 2: layout", None),
        *(
            (
                f"# 一\n[memory]\nauto_inject_topk = {value}\n",
                "第 3 行：auto_inject_topk 要写 0–20 的整数，按 3",
                "line 3: auto_inject_topk must be a whole number, 0–20, taken as 3",
                Workflow(Path(), topk=3),
            )
            for value in ("true", "21", "-1", "2.0", "'3'", "nan", "1979-05-27")
        ),
        (
            "[roles]\n[memory]\nproject = 'a b'\n",
            "第 3 行：project 不是合法的名字，没有用；它只用来显示",
            "line 3: project is no legal name, not used; it is only shown",
            Workflow(Path()),
        ),
        *(
            (
                f"[roles]\nenabled = [\n  'qa',\n  {name},\n]\n",
                "第 2 行：角色名",
                "line 2: role",
                Workflow(Path(), enabled=("qa",)),
            )
            for name in (
                "'../x'",
                "'qa'",
                "'QA'",
                "''",
                "3",
                "'a/b'",
                "'con'",
                "'" + "x" * 65 + "'",
            )
        ),
        (
            "[roles]\nenabled = 'qa'\n",
            "第 2 行：enabled 要写成列表，没有读",
            "line 2: enabled must be a list, not read",
            Workflow(Path()),
        ),
        (
            "[memory]\n\n'rooot' = 'x'\n",
            "第 3 行：没有这个键：'rooot'；是不是 root？",
            "line 3: unknown key 'rooot'; did you mean root?",
            Workflow(Path()),
        ),
        (
            "x = 1\nroles = ['qa']\n[memory]\n",
            "第 2 行：要写成 [roles]，没有读",
            "line 2: write [roles], not read",
            Workflow(Path()),
        ),
    ],
)
def test_a_wrong_value_is_told_with_its_line_and_what_is_done_instead(
    project: Path, text: str, zh: str, en: str, used: Workflow | None
) -> None:
    workflow = taken(project, text)
    (warning,) = workflow.warnings
    said = halves(project, warning)
    assert said[0].startswith(zh)
    assert said[1].startswith(en)
    if used is not None:
        for name in ("root", "has_roles", "topk", "project", "enabled"):
            assert getattr(workflow, name) == getattr(used, name)


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
