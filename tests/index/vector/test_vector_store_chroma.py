"""What only the real Chroma can show: its files, its processes, its crashes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.ports import Vectors
from astrbot_plugin_scoped_memory.llm_memory.index.ports import IndexRecord
from astrbot_plugin_scoped_memory.llm_memory.index.vector.embedded import EmbeddedChroma
from astrbot_plugin_scoped_memory.llm_memory.index.vector.folder_guard import FolderGuard
from astrbot_plugin_scoped_memory.llm_memory.index.vector.vector_store import ChromaVectorStore
from astrbot_plugin_scoped_memory.llm_memory.models.key import Key
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import (
    DIM,
    FAMILY,
    SPACE,
    Index,
    chroma_at,
    records,
    vectors,
)

pytestmark = [pytest.mark.process, pytest.mark.contract]

SCRIPTS = Path(__file__).resolve().parents[3] / "scripts"

PRELUDE = """
import sys
sys.path.insert(0, sys.argv[1])
import checkout
checkout.register()
from pathlib import Path
from astrbot_plugin_scoped_memory.tests.index.vector.index_bench import (
    SPACE, chroma_at, records, vectors,
)

store = chroma_at(Path(sys.argv[2]))
store.open()
store.use(store.name_for(SPACE))
"""
WRITER = """
for number in range(100_000):
    store.upsert(records(7, 7 * number), vectors(7, 7 * number))
    print(number, flush=True)
"""


def opened(folder: Path) -> ChromaVectorStore:
    store = chroma_at(folder)
    store.open()
    store.use(store.name_for(SPACE))
    return store


def some(count: int) -> tuple[list[IndexRecord], Vectors]:
    return records(count), vectors(count)


def test_chroma_is_not_imported_before_it_is_opened(tmp_path: Path) -> None:
    program = (
        PRELUDE.split("store.open()")[0]
        + "print('chromadb' in sys.modules); store.open(); print('chromadb' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(SCRIPTS), str(tmp_path / "index")],
        capture_output=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.split() == [b"False", b"True"]


def test_a_record_holds_its_metadata_and_no_text(tmp_path: Path) -> None:
    """In a process of its own, which holds the text as code points only: hnswlib's files have room
    for more records, and in it whatever stood on the heap of the process that wrote them."""
    import chromadb

    text = "奶奶对花生过敏"
    metadata = {"kind": "knowledge", "strength": 80, "active": True, "created_at": 1.5}
    program = PRELUDE + (
        "from dataclasses import replace\n"
        "from astrbot_plugin_scoped_memory.llm_memory.models.key import Key\n"
        f"record = replace(records(1)[0], key=Key('家', 'm-1'), text={text!a},"
        f" content_hash='h', metadata={metadata!a})\n"
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


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts handles in /proc")
def test_twenty_reloads_leak_no_file_handle_and_no_thread(tmp_path: Path) -> None:
    def held() -> tuple[int, int]:
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))  # noqa: PTH208

    def reload() -> None:
        store = opened(tmp_path)
        store.upsert(*some(60))
        assert len(store.query(np.ones(DIM, dtype=np.float32), FAMILY, 5).found) == 5
        assert store.count() == 60
        store.close()

    reload()  # pools that live as long as the process are made once
    time.sleep(0.5)
    before = held()
    for _ in range(20):
        reload()
    for _ in range(100):  # Chroma's own threads close their files a moment after close()
        if all(now <= then for now, then in zip(held(), before, strict=True)):
            break
        time.sleep(0.1)
    files, threads = held()
    assert files <= before[0]
    assert threads <= before[1]


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


def killed_while_writing(index: Index, after: int) -> set[Key]:
    """A process writes and is killed at once when so many writes were acknowledged."""
    writer = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + WRITER, str(SCRIPTS), str(index.folder)],
        stdout=subprocess.PIPE,
        cwd=index.root,
    )
    acknowledged = -1
    try:
        assert writer.stdout is not None
        while acknowledged < after:
            line = writer.stdout.readline()
            assert line, "the writer died by itself"
            acknowledged = int(line)
    finally:
        writer.kill()
        writer.communicate()
    return {record.key for record in records(7 * (acknowledged + 1))}


def kill_and_mend(index: Index, after: int) -> None:
    """In a process of its own, which a broken folder may end."""
    expected = killed_while_writing(index, after)
    store, reason = index.opened(index.worker())
    assert reason or store.count() >= len(expected)  # it happens; then the vault rebuilds it
    missing = sorted(expected - set(store.hashes()), key=lambda key: key.memory_id)
    store.upsert([IndexRecord(key, "t", "h") for key in missing], vectors(len(missing)))
    assert expected <= set(store.hashes())
    found = store.query(vectors(1)[0], FAMILY, 10 * len(expected)).found
    assert expected <= {neighbour.key for neighbour in found}
    store.close()


@pytest.mark.parametrize("after", [3, 40])
def test_what_a_kill_took_is_missed_and_can_be_written_again(tmp_path: Path, after: int) -> None:
    kill_and_mend(Index(tmp_path), after)
