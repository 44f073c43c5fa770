"""A session of a role writes into its own folder alone, once, beside what people write there. A
role has one holder at a time: the second is told who it is, and takes over at its death."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from astrbot_plugin_scoped_memory.llm_memory.models.data_models import Refused
from astrbot_plugin_scoped_memory.llm_memory.models.roles import Noted, RoleLease, RoleNote
from astrbot_plugin_scoped_memory.llm_memory.models.settings import PrivacyMode
from astrbot_plugin_scoped_memory.llm_memory.roles.role_notes import MOST_CHARACTERS, RoleNotes
from astrbot_plugin_scoped_memory.llm_memory.roles.role_seat import RoleSeat, lease_file, not_held
from astrbot_plugin_scoped_memory.llm_memory.service.paths import EnginePaths
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import HeldFile, is_held_with
from astrbot_plugin_scoped_memory.llm_memory.vault.markdown.marked_block import BEGIN, END
from astrbot_plugin_scoped_memory.llm_memory.vault.pages import MAX_PAGE, PagesOnDisk
from astrbot_plugin_scoped_memory.tests.support.engines import group, person, running

pytestmark = pytest.mark.unit

AT = datetime(2026, 11, 27, 14, 5, tzinfo=timezone(timedelta(hours=8)))
DAY = "roles/backend/2026-11-27.md"
SINCE = "2026-11-27T10:20:31+08:00"
needs_links = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")


class Desk:
    """A memory root, and a process that holds the role ``backend``."""

    def __init__(self, folder: Path, mode: PrivacyMode = PrivacyMode.REDACT) -> None:
        self.root = folder / "memory"
        (self.root / "scopes").mkdir(parents=True)
        self.leases = folder / "state" / "roles"
        self.held = HeldFile(lease_file(self.leases, "backend"))
        assert self.held.take({"client": "cursor", "pid": 4711, "since": SINCE})
        self.notes = RoleNotes(PagesOnDisk(self.root), self.leases, mode, False)

    def says(self, text: str, lease: RoleLease | None = None, at: datetime = AT) -> object:
        mine = RoleLease("backend", self.held.token)
        return self.notes.append(RoleNote(lease or mine, text, "cursor"), at)

    def put(self, path: str, content: bytes) -> None:
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_bytes(content)
        os.utime(self.root / path, (1_700_000_000, 1_700_000_000))

    def files(self) -> dict[str, bytes]:
        """All below the root, links by what they lead to."""
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.held.release()


def test_the_bytes_of_a_note_and_of_the_roles_page(desk: Desk) -> None:
    text = "接好了连接池；跑了 300 个用例。\n剩下的风险：没有在 Windows 上试。"
    assert desk.says(text) == Noted(DAY)
    assert desk.says("改了超时。", at=AT + timedelta(minutes=1)) == Noted(DAY)
    assert {path: content.decode() for path, content in desk.files().items()} == {
        DAY: "# 2026-11-27\n\n"
        "## 14:05 · backend · cursor\n接好了连接池；跑了 300 个用例。\n"
        "剩下的风险：没有在 Windows 上试。\n\n"
        "## 14:06 · backend · cursor\n改了超时。\n",
        "roles/backend/MEMORY.md": f"# backend\n\n{BEGIN}\n"
        "- 2026-11-27 14:06 改了超时。 (2026-11-27.md)\n"
        "- 2026-11-27 14:05 接好了连接池；跑了 300 个用例。 (2026-11-27.md)\n"
        f"{END}\n",
        "roles/backend/archive/MEMORY.md": (
            "- 2026-11-27 14:05 接好了连接池；跑了 300 个用例。 (2026-11-27.md)\n"
        ),
    }


def test_the_same_words_are_one_block_today_and_the_day_after(desk: Desk) -> None:
    desk.says("改了超时。")
    before = desk.files()
    for later in (timedelta(0), timedelta(minutes=5), timedelta(hours=23)):
        found = desk.says("改了超时。\n", at=AT + later)
        assert isinstance(found, Noted)
        assert found.again
    assert desk.files() == before
    desk.says("改了超时。", at=AT + timedelta(days=2))
    assert "roles/backend/2026-11-29.md" in desk.files()


@example(["待定", "改了超时"], "", False)
@example(["待定"], "", True)
@given(
    st.lists(st.text(max_size=60), min_size=1, max_size=4),
    st.text(st.characters(exclude_characters="`~<\0", exclude_categories=["Cs"]), max_size=40),
    st.booleans(),
)
def test_what_people_wrote_there_stays_byte_for_byte(
    notes: list[str], person: str, windows: bool
) -> None:
    with TemporaryDirectory() as folder:
        desk = Desk(Path(folder), PrivacyMode.OFF)
        newline = "\r\n" if windows else "\n"
        mine = f"# my own{newline}{person}".encode()
        others = {"shared/DECISIONS.md": b"# D\n", "roles/qa/2026-11-27.md": b"# qa\n"}
        for path in (DAY, "roles/backend/MEMORY.md", *others):
            desk.put(path, others.get(path, mine))
        written = 0
        for number, note in enumerate(notes):
            answer = desk.says(f"{note}{number}")
            assert isinstance(answer, Noted), answer
            assert answer.file or answer.left_out  # any words may say that all is open
            written += bool(answer.file)
        files = desk.files()
        desk.held.release()
    assert files[DAY].startswith(mine)
    assert files[DAY].count(b"\n## 14:05 ") == written
    assert files["roles/backend/MEMORY.md"].startswith(mine)
    if written:
        assert files["roles/backend/MEMORY.md"].endswith(f"{END}{newline}".encode())
    assert {path: files[path] for path in others} == others


def test_who_does_not_hold_the_role_writes_nothing_and_is_told_who_does(desk: Desk) -> None:
    token, nobody = desk.held.token, Refused("role_held", detail="process ? (?)")
    copy = lease_file(desk.leases, "qa")  # of the token, without the lock
    copy.write_bytes(lease_file(desk.leases, "backend").read_bytes())
    for wrong in ("", "x" * 43, token + "x"):
        told = desk.says("改了超时。", RoleLease("backend", wrong))
        assert told == Refused("role_held", detail=f"cursor ({SINCE})")
    for folder in ("qa", "../backend", "", "backend/../qa", "BACKEND", "\0"):
        assert desk.says("改了超时。", RoleLease(folder, token)) == nobody
    desk.held.release()
    assert desk.says("改了超时。", RoleLease("backend", token)) == nobody
    assert desk.files() == {}


@needs_links
@pytest.mark.parametrize("where", ["roles", "roles/backend", DAY, "hard"])
def test_a_link_to_shared_or_to_another_role_is_refused(desk: Desk, where: str) -> None:
    desk.put("shared/DECISIONS.md", b"# D\n")
    desk.put("shared/backend/x.md", b"x\n")
    path = desk.root / (DAY if where == "hard" else where)
    path.parent.mkdir(parents=True, exist_ok=True)
    if where == "hard":
        path.hardlink_to(desk.root / "shared" / "DECISIONS.md")
    else:
        path.symlink_to(desk.root / "shared" / ("DECISIONS.md" if where == DAY else ""))
    before = desk.files()
    answer = desk.says("改了超时。")
    assert isinstance(answer, Refused)
    assert where != "hard" or "link" in answer.detail
    assert desk.files() == before


@needs_links
def test_a_page_that_cannot_be_written_is_left_and_the_note_is_kept(desk: Desk) -> None:
    page, elsewhere = desk.root / "roles/backend/MEMORY.md", desk.root / "shared/CONSTITUTION.md"
    damaged = f"mine\n{BEGIN}\n".encode()
    desk.put("shared/CONSTITUTION.md", damaged)
    for number, take in enumerate((page.hardlink_to, page.symlink_to, None)):
        page.unlink(missing_ok=True)
        page.parent.mkdir(parents=True, exist_ok=True)
        take(elsewhere) if take else page.write_bytes(damaged)
        assert desk.says(f"改了超时{number}。") == Noted(DAY, page_left=True)
        assert page.read_bytes() == elsewhere.read_bytes() == damaged
    assert desk.files()[DAY].count(b"\n## ") == 3


@needs_links
@pytest.mark.parametrize("linked", [False, True])
def test_yesterdays_file_that_cannot_be_read_costs_today_no_note(desk: Desk, linked: bool) -> None:
    yesterday = "roles/backend/2026-11-26.md"
    desk.put("shared/x.md", b"x\n")
    desk.put(yesterday, b"x" * (MAX_PAGE + 1))
    if linked:
        (desk.root / yesterday).unlink()
        (desk.root / yesterday).symlink_to(desk.root / "shared/x.md")
    before = desk.files()
    assert desk.says("改了超时。") == Noted(DAY)
    written = {path: raw for path, raw in desk.files().items() if before.get(path) != raw}
    assert written.keys() == {DAY, "roles/backend/MEMORY.md"}
    assert all("改了超时。" in raw.decode() for raw in written.values())


@pytest.mark.parametrize(
    ("mode", "written", "left_out"),
    [
        (PrivacyMode.OFF, "\n问 电话 13800138000\n", []),
        (PrivacyMode.REDACT, "已隐藏", []),
        (PrivacyMode.REJECT, "改了超时。\n", ["private"]),
    ],
)
def test_private_data_is_hidden_or_its_line_left_out_as_the_setting_says(
    tmp_path: Path, mode: PrivacyMode, written: str, left_out: list[str]
) -> None:
    desk = Desk(tmp_path, mode)
    answer = desk.says("改了超时。\n问 电话 13800138000")
    desk.held.release()
    assert isinstance(answer, Noted)
    assert [code for code, _ in answer.left_out] == left_out
    told = f"{desk.files()[DAY].decode()}{answer.left_out}"
    assert "改了超时。\n" in told
    assert written in told
    assert ("13800138000" in told) is (mode is PrivacyMode.OFF)


@pytest.mark.parametrize(
    ("content", "note", "detail"),
    [
        (b"# mine\n```\nx\n", "改了超时。", "2"),
        (b"\xff\xfe#\0", "改了超时。", "UTF-8"),
        (b"# mine\n", "长" * (MOST_CHARACTERS + 1), str(MOST_CHARACTERS)),
    ],
)
def test_a_note_that_is_too_long_or_would_be_swallowed_is_refused_whole(
    desk: Desk, content: bytes, note: str, detail: str
) -> None:
    desk.put(DAY, content)
    refused = desk.says(note)
    assert isinstance(refused, Refused)
    assert refused.detail.endswith(detail)
    assert desk.files() == {DAY: content}


# Who holds a role


def seat(folder: Path, role: str = "后端") -> RoleSeat:
    return RoleSeat(folder, role, lambda: datetime.fromisoformat(SINCE))


def test_the_second_is_told_who_holds_the_role_until_it_is_given_back(tmp_path: Path) -> None:
    folder = tmp_path / "roles"
    first, second, other = seat(folder), seat(folder), seat(folder, "../x")
    lease = first.take("cursor")
    assert isinstance(lease, RoleLease)
    assert first.take("another name") == lease
    assert is_held_with(lease_file(folder, lease.folder), lease.token)
    assert second.take("codex") == Refused("role_held", detail=f"cursor ({SINCE})")
    assert isinstance(other.take(), RoleLease)
    assert {path.parent for path in tmp_path.rglob("*.lock")} == {folder}
    first.release()
    taken = second.take("codex")
    assert isinstance(taken, RoleLease)
    assert taken.token != lease.token
    for held in (second, other):
        held.release()
    free = Refused("role_held", detail="process ? (?)")
    assert not_held(lease_file(folder, lease.folder)) == free


@pytest.mark.engine
@pytest.mark.parametrize("broken", [False, True])
async def test_off_the_record_or_where_the_map_is_broken_no_role_is_written(
    tmp_path: Path, broken: bool
) -> None:
    here = group(777, persona="backend")
    async with running(tmp_path, {here.umo: "no/scope" if broken else "家人"}, follow=False) as rig:
        held, service = seat(EnginePaths.under(tmp_path).leases, "backend"), rig.engine.service
        lease = held.take("cursor")
        assert isinstance(lease, RoleLease)
        if not broken:
            await service.pause(conversation_id=here, actor=person(1, admin=True))
        note = RoleNote(lease, "连接池的上限定为 40。", "cursor")
        assert isinstance(await service.note_role(note, conversation_id=here), Refused)
        held.release()
    assert not (tmp_path / "memory" / "roles").exists()
