"""A model comes whole from a hub or a mirror, goes on where it was cut off, or not at all; it comes
in a child process that can be watched, ends at its deadline, and can be killed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from email.message import Message
from functools import partial
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request

import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.download import hub_fetch
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.download.fetch_model import place
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.download.hub import Hub, SafeRedirects
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.download.hub_fetch import (
    FetchFailed,
    fetch,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.download.model_download import (
    ModelDownload,
    fetch_command,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.local_model import (
    LocalModelEmbedder,
)
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx
from astrbot_plugin_scoped_memory.tests.support.servers.hub_server import HubServer, running

pytestmark = pytest.mark.process

GRAPH = "onnx/model.onnx"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the hub has: a model, and what nobody needs."""
    folder = make_tiny_onnx(
        tmp_path_factory.mktemp("hub") / "tiny", graph=GRAPH, pooling={"pooling_mode": "mean"}
    )
    (folder / "README.md").write_text("# a model")
    (folder / "model.safetensors").write_bytes(b"x" * 10_000)
    (folder / "modules.json").write_text(json.dumps([{"type": "a.Transformer"}]))
    return folder


@pytest.fixture
def hub(model: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setattr(hub_fetch, "_FIRST_PAUSE", 0.0)
    with running(HubServer(model)) as server:
        yield server


def fetched(hub: HubServer, folder: Path, token: str = "") -> None:
    fetch(Hub(hub.url, hub.name, token), folder, torch=False)


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_what_is_needed_comes_and_nothing_else(hub: HubServer, model: Path, tmp_path: Path) -> None:
    fetched(hub, tmp_path / "m")
    unneeded = {"README.md", "model.safetensors"}
    expected = {name: data for name, data in content(model).items() if name not in unneeded}
    assert content(tmp_path / "m") == expected
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_a_broken_connection_goes_on_where_it_stopped(
    hub: HubServer, model: Path, tmp_path: Path
) -> None:
    hub.cut, hub.cuts = 50_000, 3
    fetched(hub, tmp_path / "m")
    assert (tmp_path / "m" / GRAPH).read_bytes() == (model / GRAPH).read_bytes()
    assert 50_000 in hub.ranges
    assert hub.ranges.count(0) == 2  # the graph and the tokenizer were each begun once


def test_a_later_attempt_goes_on_where_an_earlier_one_stopped(
    hub: HubServer, model: Path, tmp_path: Path
) -> None:
    part = tmp_path / "m.part"
    (part / "onnx").mkdir(parents=True)
    (part / GRAPH).write_bytes((model / GRAPH).read_bytes()[:123_456])
    fetched(hub, tmp_path / "m")
    assert (tmp_path / "m" / GRAPH).read_bytes() == (model / GRAPH).read_bytes()
    assert 123_456 in hub.ranges


@pytest.mark.parametrize("name", [GRAPH, "1_Pooling/config.json"])
def test_a_file_that_is_not_what_the_hub_says_is_refused(
    hub: HubServer, tmp_path: Path, name: str
) -> None:
    hub.spoiled.add(name)
    with pytest.raises(FetchFailed, match=f"wrong hash: {name}"):
        fetched(hub, tmp_path / "m")
    assert not (tmp_path / "m").exists()
    assert not (tmp_path / "m.part" / name).exists()
    hub.spoiled.clear()
    fetched(hub, tmp_path / "m")
    assert (tmp_path / "m" / name).is_file()


def test_of_a_broken_folder_what_is_whole_stays(
    hub: HubServer, model: Path, tmp_path: Path
) -> None:
    fetched(hub, tmp_path / "m")
    (tmp_path / "m" / GRAPH).write_bytes(b"x" * (model / GRAPH).stat().st_size)
    (tmp_path / "m" / "onnx" / "model_quantized.onnx").write_bytes(b"of an older commit")
    hub.asked.clear()
    fetched(hub, tmp_path / "m")
    assert (tmp_path / "m" / GRAPH).read_bytes() == (model / GRAPH).read_bytes()
    assert not (tmp_path / "m" / "onnx" / "model_quantized.onnx").exists()
    assert [path for path in hub.asked if path.startswith("/cdn/")] == [f"/cdn/{GRAPH}"]


def test_what_has_no_end_is_read_as_far_as_the_listing_says(
    hub: HubServer, model: Path, tmp_path: Path
) -> None:
    hub.endless |= {GRAPH, "config.json"}
    fetched(hub, tmp_path / "m")
    for name in hub.endless:
        assert (tmp_path / "m" / name).read_bytes() == (model / name).read_bytes()


def test_nobody_follows_to_what_is_no_web_server_or_no_encrypted_one(
    hub: HubServer, tmp_path: Path
) -> None:
    for target in ("ftp://127.0.0.1:9/x", "file:///etc/hostname"):
        hub.redirect = target
        with pytest.raises(HTTPError, match="302"):
            fetched(hub, tmp_path / "m")
    follow = SafeRedirects().redirect_request
    asked, headers = Request("https://hub/x", headers={"Authorization": "Bearer x"}), Message()
    with pytest.raises(HTTPError, match="nobody follows"):
        follow(asked, None, 302, "Found", headers, "http://hub/x")
    assert follow(asked, None, 302, "Found", headers, "https://cdn/x") is not None


def without_hashes(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    listing = hub.listing()
    for entry in listing["siblings"]:
        entry.pop("blobId")
    monkeypatch.setattr(hub, "listing", lambda: listing)


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (without_hashes, "the hub says no hash of it"),
        (lambda hub, _: setattr(hub, "cuts", 100), "the connection was closed"),
        (lambda _, patch: patch.setattr(hub_fetch, "_SPARE", 1 << 60), "the disk is full"),
    ],
)
def test_what_cannot_be_had_whole_is_given_up(
    hub: HubServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    harm: Callable[[HubServer, pytest.MonkeyPatch], None],
    said: str,
) -> None:
    harm(hub, monkeypatch)
    with pytest.raises(FetchFailed, match=said):
        fetched(hub, tmp_path / "m")
    assert hub.ranges == [] or said != "the disk is full"


def test_a_token_is_shown_to_the_hub_and_to_nobody_it_sends_us_to(
    hub: HubServer, tmp_path: Path
) -> None:
    fetched(hub, tmp_path / "m", token="hf_secret")
    shown = {path.startswith("/cdn/"): token for path, token in hub.tokens.items()}
    assert shown == {False: "Bearer hf_secret", True: ""}


def test_a_listing_cannot_name_a_file_outside(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        "../x_Pooling/config.json",
        "/etc/1_Pooling/config.json",
        "a\\..\\1_Pooling/config.json",
    ]
    listing = hub.listing()
    entry = next(e for e in listing["siblings"] if e["rfilename"] == "1_Pooling/config.json")
    listing["siblings"] += [entry | {"rfilename": name} for name in names]
    monkeypatch.setattr(hub, "listing", lambda: listing)
    fetched(hub, tmp_path / "deep" / "m")
    assert [path.name for path in tmp_path.iterdir()] == ["deep"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["m"]


def named(hub_url: str, cache: Path, name: str = "owner/tiny") -> LocalModelEmbedder:
    command = partial(fetch_command, mirror=hub_url)
    return LocalModelEmbedder(name, download_seconds=60.0, cache_folder=cache, fetch=command)


async def reason(embedder: LocalModelEmbedder) -> str:
    """What ``prepare`` says once the download has ended."""
    with pytest.raises(EmbeddingFailed, match="downloading"):
        await embedder.prepare()
    while embedder.progress is not None:  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    try:
        await embedder.prepare()
    except EmbeddingFailed as error:
        return str(error)
    finally:
        await embedder.close()
    return ""


async def test_a_named_model_is_fetched_behind_and_runs(hub: HubServer, tmp_path: Path) -> None:
    hub.cut, hub.cuts = 50_000, 1
    assert await reason(named(hub.url, tmp_path)) == ""
    again = named("http://127.0.0.1:9", tmp_path)  # it is on disk now, and nobody is asked
    assert (await again.prepare()).model == "local:tiny"
    await again.close()


async def test_the_status_says_what_was_wrong(hub: HubServer, tmp_path: Path) -> None:
    hub.spoiled.add(GRAPH)
    assert f"download_failed: wrong hash: {GRAPH}" in await reason(named(hub.url, tmp_path))
    unknown = await reason(named(hub.url, tmp_path, "owner/unknown"))
    assert unknown.startswith("download_failed: HTTP 404")
    nobody = await reason(named("http://127.0.0.1:9", tmp_path, "owner/other"))
    assert nobody.startswith("download_failed: ")
    assert "http://127.0.0.1:9" in nobody


@pytest.mark.parametrize("listing", [{"sha": "x", "siblings": ["config.json"]}, [], None])
async def test_the_status_says_what_is_no_hub(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, listing: Any
) -> None:
    if listing is None:
        hub.endless.add("listing")
    else:
        monkeypatch.setattr(hub, "listing", lambda: listing)
    assert "does not answer like a hub" in await reason(named(hub.url, tmp_path))


async def test_an_address_that_is_none_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "file:///etc")
    assert "not the address of a hub: file:///etc" in await reason(named("", tmp_path))


NOWHERE = Path("/no/such/folder")
ENDLESS = "import time; time.sleep(600)"


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


async def finished(download: ModelDownload) -> str:
    while not download.done:  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    return download.failure


FAILS_WITH_WORDS = "import sys; print('x' * 300_000, file=sys.stderr); sys.exit('no such model')"


@pytest.mark.parametrize(
    ("program", "seconds", "failure"),
    [
        ("pass", 60.0, ""),
        (FAILS_WITH_WORDS, 60.0, "no such model"),
        ("raise SystemExit(3)", 60.0, "exit status 3"),
        (ENDLESS, 0.2, "not done after 0.2 s"),
    ],
    ids=["success", "the last line", "the status", "the deadline"],
)
async def test_how_it_ended_is_told(program: str, seconds: float, failure: str) -> None:
    assert await finished(ModelDownload(python(program), seconds, NOWHERE)) == failure


async def test_closing_kills_the_child(tmp_path: Path) -> None:
    started = tmp_path / "started"
    program = f"open({str(started)!r}, 'w').close(); {ENDLESS}"
    download = ModelDownload(python(program), 600.0, NOWHERE)
    while not started.exists():  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    await download.close()
    assert download.done
    assert download.failure == "closed"


async def test_progress_counts_what_lies_in_the_unfinished_folder(tmp_path: Path) -> None:
    part = tmp_path / "model.part"
    part.mkdir()
    (part / "model.onnx").write_bytes(b"x" * 2_000_000)
    (part / ".total").write_text("5000000")
    program = "import time; time.sleep(0.01)"
    download = ModelDownload(python(program), 600.0, tmp_path / "model")
    await finished(download)
    assert download.progress.megabytes == pytest.approx(2.0, abs=0.01)
    assert download.progress.total == 5.0
    assert download.progress.deadline_seconds == 600.0


@pytest.mark.parametrize("command", [(), ("no-such-program-anywhere",)])
async def test_where_no_process_can_be_started_it_fails(command: tuple[str, ...]) -> None:
    assert await finished(ModelDownload(command, 60.0, NOWHERE))


async def test_the_real_program_fails_at_once_when_it_may_not_go_online(tmp_path: Path) -> None:
    """HF_HUB_OFFLINE is set for all tests, and the child inherits it."""
    command = fetch_command("owner/model", tmp_path / "model")
    assert "offline" in await finished(ModelDownload(command, 60.0, tmp_path / "model"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("mirror", "environment", "found"),
    [
        ("", {}, ("https://huggingface.co", "")),
        ("", {"HF_TOKEN": "hf_x"}, ("https://huggingface.co", "hf_x")),
        ("", {"HF_ENDPOINT": "http://env", "HF_TOKEN": "hf_x"}, ("http://env", "hf_x")),
        ("http://own", {"HF_ENDPOINT": "http://env", "HF_TOKEN": "hf_x"}, ("http://own", "")),
    ],
)
def test_the_owners_mirror_goes_first_and_sees_no_token(
    mirror: str, environment: dict[str, str], found: tuple[str, str]
) -> None:
    assert place(mirror, environment) == found


def test_a_token_stands_in_no_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    command = fetch_command("owner/model", Path("/m"))
    assert "owner/model" in command[-1]
    assert "hf_secret" not in " ".join(command)
