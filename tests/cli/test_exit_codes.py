"""What each command ends with: the table of ``docs/mcp.md``, a case for each promise in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import checkout
import pytest

from astrbot_plugin_scoped_memory.llm_memory.__main__ import main
from astrbot_plugin_scoped_memory.llm_memory.cli import migration
from astrbot_plugin_scoped_memory.llm_memory.errors import VaultWriteFailed
from astrbot_plugin_scoped_memory.llm_memory.home import file_changes, shared_store
from astrbot_plugin_scoped_memory.llm_memory.home.trusted_roots import trust_root
from astrbot_plugin_scoped_memory.llm_memory.storage.directory_lock import DirectoryLock
from astrbot_plugin_scoped_memory.llm_memory.transfer import store_reader

pytestmark = [pytest.mark.engine, pytest.mark.process]

NAMED: Final = "## The staging port is 6432 ^m-port1\n> 可信：否\n"
HEADER: Final = '{"type": "header", "format": "scoped-memory", "version": 1}\n'


class Place:
    """A user's home with two memories, a project, and a bot's data folder."""

    def __init__(self, user: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self.home, self.shop, self.bot = user / "memories", user / "shop", user / "bot"
        self.patch, self.stack = patch, stack
        self.public = self.home / "memory" / "scopes" / "public"
        for scope in (self.public, self.bot / "memory" / "scopes" / "public"):
            scope.mkdir(parents=True)
            (scope / "decisions.md").write_text(
                NAMED + NAMED.replace("port", "tea"), encoding="utf-8"
            )
        (self.shop / ".git").mkdir(parents=True)
        patch.chdir(self.shop)

    def file(self, name: str, text: str) -> None:
        (self.shop / name).write_text(text, "utf-8")

    def held(self) -> None:
        """Another program has the home's store open, and does not answer."""
        self.patch.setattr(
            shared_store.SharedStore.__init__, "__kwdefaults__", {"endpoint": None, "timeout": 0.2}
        )
        lock = DirectoryLock(self.home)
        lock.acquire()
        self.stack.callback(lock.release)

    def own_store(self) -> None:
        """And the project has a store of its own, which is free."""
        self.held()
        (self.shop / ".scoped-memory" / "memory").mkdir(parents=True)
        trust_root(self.home, self.shop)

    def full(self, after: int) -> None:
        """The disk takes so many files more."""
        real, left = file_changes.replace_durably, [None] * after

        def write(*what: Any) -> None:
            if not left:
                raise VaultWriteFailed("no space")
            left.pop()
            real(*what)

        self.patch.setattr(file_changes, "replace_durably", write)

    def large(self) -> None:
        """The bot has a file that is too large to be taken along."""
        (self.bot / "memory" / "scopes" / "public" / "page.md").write_text("Some words", "utf-8")
        self.patch.setattr(store_reader, "MAX_FILE", 4)

    def reversed(self) -> None:
        """A migration, some of whose records have changed since."""

        async def reverse(_: object) -> tuple[int, int]:
            return 2, 1

        self.patch.setattr(migration.Migrations, "reverse", reverse)


def nothing(_: Place) -> None:
    pass


CASES: Final[list[tuple[str, int, Callable[[Place], object]]]] = [
    ("list --limit 0", 2, nothing),
    ("config", 2, lambda place: (place.home / "config.toml").write_text("= 1", "utf-8")),
    ("status --project ../x", 2, nothing),
    ("log words", 1, Place.held),
    ("primer", 0, nothing),
    ("search port", 0, nothing),
    ("read global/decisions.md", 0, nothing),
    ("log 'The door is green'", 0, nothing),
    ("log ok", 1, nothing),
    ("read nowhere.md", 1, nothing),
    ("search x --level project --project-folder ..", 2, nothing),
    ("recall port", 2, nothing),
    ("recall --hook", 0, nothing),
    ("recall --hook --no-such-flag", 0, nothing),
    ("tasks", 0, nothing),
    ("tasks {bad", 2, nothing),
    ('tasks \'[{"title": "ok"}, {"title": "Dust the shelf"}]\'', 3, nothing),
    ("tasks '[{\"title\": \"ok\"}]'", 1, nothing),
    ("list", 0, nothing),
    ("list nowhere", 0, nothing),
    ("list --level project --project-folder ..", 2, nothing),
    ("forget m-port1", 0, nothing),
    ("forget m-nowhere1", 1, nothing),
    ("forget n-abcd1234", 2, nothing),
    ("forget m-port1 m-nowhere1", 3, nothing),
    ("edit m-port1 'The staging port is 7000'", 0, nothing),
    ("edit m-port1 ' '", 1, nothing),
    ("edit port words", 2, nothing),
    ("undo", 2, nothing),
    ("undo m-nowhere1", 1, nothing),
    ("undo port", 2, nothing),
    ("undo m-port1 m-nowhere1", 3, lambda _: main(["forget", "m-port1"])),
    ("trust m-port1", 0, nothing),
    ("trust m-nowhere1", 1, nothing),
    ("trust m-nowhere1", 1, lambda place: (place.public / "x.md").write_bytes(b"## \xff ^m-x")),
    ("trust port", 2, nothing),
    ("decide list", 0, nothing),
    ("decide accept m-port1", 1, nothing),
    ("decide withdraw D-0001 --yes", 1, nothing),
    ("decide accept port", 2, nothing),
    ("status", 0, nothing),
    ("status", 3, Place.held),
    ("index", 0, nothing),
    ("index", 1, Place.held),
    ("index", 3, Place.own_store),
    ("init", 0, nothing),
    ("init --claude", 1, lambda place: place.full(0)),
    ("init --claude", 2, lambda place: place.file(".mcp.json", "[]")),
    ("init --claude", 3, lambda place: place.full(2)),
    ("config", 0, nothing),
    ("serve --http 0", 2, nothing),
    ("export out.jsonl", 0, nothing),
    ("export there.jsonl", 1, lambda place: place.file("there.jsonl", HEADER)),
    ("export out.jsonl", 3, Place.large),
    ("restore there.jsonl", 1, nothing),
    ("restore there.jsonl", 3, lambda place: place.file("there.jsonl", f"{HEADER}{{}}\n")),
    ("import there.jsonl --scope x", 1, lambda place: place.file("there.jsonl", HEADER)),
    ("import there.jsonl --scope public", 3, lambda place: place.file("there.jsonl", HEADER)),
    ("transcript m-port1", 1, nothing),
    ("transcript port", 2, nothing),
    ("soul", 0, nothing),
    ("soul apply", 1, nothing),
    ("soul apply x", 2, nothing),
    ("migrate-scope", 0, nothing),
    ("migrate-scope --take-back b-nothing", 1, nothing),
    ("migrate-scope --reverse", 3, Place.reversed),
]  # fmt: skip


@pytest.fixture
def place(own_user: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(own_user, monkeypatch, stack)


@pytest.mark.parametrize(("line", "code", "prepare"), CASES)
def test_a_command_ends_with_the_code_that_is_promised(
    place: Place, line: str, code: int, prepare: Callable[[Place], object]
) -> None:
    prepare(place)
    arguments = shlex.split(line)
    if arguments[0] in ("export", "restore", "import", "migrate-scope", "soul", "transcript"):
        arguments = ["--data", str(place.bot), *arguments]
    assert ended_with(arguments) == code


def ended_with(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as error:
        return int(error.code or 0)


def promised() -> set[tuple[str, int]]:
    """Each command of the page's table, with each code that has words in its row."""
    page = (checkout.ROOT / "docs" / "mcp.md").read_text("utf-8")
    table = page.partition("## 退出码")[2].partition("\n## ")[0]
    found = set()
    for row in re.findall(r"^\| (`.*) \|$", table, re.MULTILINE):
        names, *cells = re.split(r"\s*\|\s*", row)
        for name in re.findall("`([a-z-]+)`", names):
            found |= {(name, code) for code, cell in enumerate(cells, 1) if cell.strip()}
    return found


def test_each_promise_of_the_page_has_a_case_and_each_failure_is_promised() -> None:
    assert promised() == {(line.split()[0], code) for line, code, _ in CASES if code}
