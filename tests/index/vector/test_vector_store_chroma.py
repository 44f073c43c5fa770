"""What only the real Chroma can show: its files, its processes, its crashes."""

import subprocess
import sys
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.folder_guard import FolderGuard
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import (
    SPACE,
    chroma_at,
    records,
    vectors,
)

pytestmark = [pytest.mark.process, pytest.mark.contract]

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"

WRITING_ONE = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
checkout.register()
from pathlib import Path
from astrbot_plugin_scoped_memory.llm_memory.index.vector.ports import IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Key
from astrbot_plugin_scoped_memory.tests.index.vector.vector_bench import SPACE, chroma_at, vectors

store = chroma_at(Path(sys.argv[2]))
store.open()
store.use(store.name_for(SPACE))
"""


def opened(folder: Path) -> ChromaVectorStore:
    store = chroma_at(folder)
    store.open()
    store.use(store.name_for(SPACE))
    return store


def some(count: int) -> tuple[list[IndexRecord], Vectors]:
    return records(count), vectors(count)


def test_a_record_holds_its_metadata_and_no_text(tmp_path: Path) -> None:
    """In a process of its own, which holds the text as code points only: hnswlib's files have room
    for more records, and in it whatever stood on the heap of the process that wrote them."""
    import chromadb

    text = "奶奶对花生过敏"
    metadata = {"kind": "knowledge", "strength": 80, "active": True, "created_at": 1.5}
    program = WRITING_ONE + (
        f"record = IndexRecord(Key('家', 'm-1'), {text!a}, 'h', {metadata!a})\n"
        "store.upsert([record], vectors(1))\n"
        "store.close()\n"
    )
    subprocess.run([sys.executable, "-c", program, str(SCRIPTS), str(tmp_path)], check=True)
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {"chroma.sqlite3", "data_level0.bin"} <= {file.name for file in files}
    assert [file for file in files if "奶奶".encode() in file.read_bytes()] == []
    settings = chromadb.Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(tmp_path, settings)
    name = ChromaVectorStore(EmbeddedChroma(tmp_path)).name_for(SPACE)
    stored = client.get_collection(name, embedding_function=None).get(["家/m-1"])
    client.close()
    ours = {"memory_scope": "家", "has_scope": 1, "content_hash": "h"}
    assert stored["metadatas"] == [{**metadata, **ours}]
    assert stored["documents"] == [None]


def test_a_second_opener_is_refused_and_the_first_goes_on(tmp_path: Path) -> None:
    first = opened(tmp_path / "index")
    second = ChromaVectorStore(EmbeddedChroma(tmp_path / "index"))
    with pytest.raises(IndexUnavailable, match="in use"):
        second.open()
    second.close()
    first.upsert(*some(3))
    assert first.count() == 3
    first.close()
    opened(tmp_path / "index").close()


def test_an_opening_that_failed_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chroma would hand out the half-started client of the failed attempt at the next one."""
    opened(tmp_path / "index").close()
    database = tmp_path / "index" / "chroma.sqlite3"
    sound = database.read_bytes()
    store = ChromaVectorStore(EmbeddedChroma(tmp_path / "index"))
    database.write_bytes(b"no database " * 1000)
    with monkeypatch.context() as patched:
        patched.setattr(FolderGuard, "admit", lambda _guard: None)
        patched.setattr(FolderGuard, "discard", lambda _guard, _reason, _detail: None)
        for _ in range(3):
            with pytest.raises(IndexUnavailable, match="opening the index"):
                store.open()
    database.write_bytes(sound)
    assert store.open() == ""
    assert store.use(store.name_for(SPACE))
    store.upsert(*some(3))
    assert store.count() == 3
    store.close()


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(IndexUnavailable):
        ChromaVectorStore(EmbeddedChroma(tmp_path / "file" / "index")).open()


def test_the_environment_does_not_speak_for_our_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bot's .env and variables reach Chroma's settings, whose names are plain words."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("MIGRATIONS=validate\n")  # would refuse a new directory
    monkeypatch.setenv("IS_PERSISTENT", "false")
    monkeypatch.setenv("PERSIST_DIRECTORY", str(tmp_path / "elsewhere"))
    store = opened(tmp_path / "index")
    store.upsert(*some(3))
    store.close()
    assert not (tmp_path / "elsewhere").exists()
