"""A model comes whole from a hub or a mirror, behind the bot; it goes on where it was cut off, ends
at its deadline, and can be given up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import Mock

import huggingface_hub.constants
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.child.program import Fault
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local import hub as hub_module
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local import on_disk
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.hub import fetch, hub_at
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.on_disk import ModelOnDisk
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
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"):  # set for all tests
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    with running(HubServer(model)) as server:
        yield server


def source(hub_url: str | None, fetched: Path, name: str = "owner/tiny") -> ModelOnDisk:
    return ModelOnDisk(name, fetched, mirror=hub_url)


async def reason(disk: ModelOnDisk) -> str:
    """What is said once the download has ended; the folder where it is there."""
    async with asyncio.timeout(100):
        while True:
            try:
                return str((await disk.where())["folder"])
            except EmbeddingFailed as error:
                if error.code != "downloading":
                    return str(error)
            await asyncio.sleep(0.02)


def content(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


async def test_what_is_needed_comes_whole_and_a_cut_connection_goes_on(
    hub: HubServer, model: Path, tmp_path: Path
) -> None:
    hub.cut, hub.cuts = 50_000, 2
    disk = source(hub.url, tmp_path)
    with pytest.raises(EmbeddingFailed, match="downloading: 0 of 0 MB"):
        await disk.where()
    found = Path(await reason(disk))
    unneeded = {"README.md", "model.safetensors"}
    assert content(found) == {n: data for n, data in content(model).items() if n not in unneeded}
    assert [path.name for path in tmp_path.iterdir()] == [found.name]
    again = source("http://127.0.0.1:9", tmp_path)  # it is on disk now, and nobody is asked
    assert (await again.where())["folder"] == str(found)


def fetched(hub: HubServer, folder: Path) -> None:
    fetch({"name": hub.name, "mirror": hub.url, "folder": folder}, b"")


def test_what_has_no_room_or_lies_outside_is_not_fetched(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch, pytest.raises(Fault, match="the disk is full") as caught:
        patch.setattr(hub_module, "_SPARE", 1 << 60)
        fetched(hub, tmp_path / "m")
    assert caught.value.code == "download_failed"
    listing = hub.listing()
    entry = next(e for e in listing["siblings"] if e["rfilename"] == "1_Pooling/config.json")
    names = ("../x_Pooling", "/etc/1_Pooling", "a\\..\\1_Pooling", "a/./b_Pooling", "c:1_Pooling")
    listing["siblings"] = [entry | {"rfilename": f"{name}/config.json"} for name in names]
    monkeypatch.setattr(hub, "listing", Mock(return_value=listing))
    with pytest.raises(Fault, match="no ONNX export"):
        fetched(hub, tmp_path / "m")
    assert not (tmp_path / "m").exists()
    assert hub.ranges == []


async def test_the_status_says_what_is_no_hub_and_has_no_such_model(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = [await reason(source(hub.url, tmp_path, "owner/unknown"))]
    assert "404" in told[0]
    for listing in ({"sha": "x", "siblings": ["config.json"]}, []):
        monkeypatch.setattr(hub, "listing", Mock(return_value=listing))
        told.append(await reason(source(hub.url, tmp_path)))
    assert [one.startswith("download_failed: ") and hub.url in one for one in told] == [True] * 3


async def test_what_may_not_be_fetched_asks_no_hub(hub: HubServer, tmp_path: Path) -> None:
    assert (await reason(source(None, tmp_path))).startswith("not_on_disk")
    assert (await reason(source(hub.url, tmp_path, "bare-name"))).startswith("not_on_disk")
    nowhere = source(hub.url, tmp_path, str(tmp_path / "no"))
    assert (await reason(nowhere)).startswith("no_such_folder")
    assert hub.asked == []


async def test_giving_it_up_or_a_deadline_ends_the_program(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.endless.add("listing")
    monkeypatch.setattr(on_disk, "_SECONDS", 1.0)
    slow = source(hub.url, tmp_path)
    assert await reason(slow) == "download_failed: SIGKILL"
    disk = source(hub.url, tmp_path)
    with pytest.raises(EmbeddingFailed, match="downloading"):
        await disk.where()
    await disk.close()
    await disk.close()
    await slow.close()
    assert "model download" not in {task.get_name() for task in asyncio.all_tasks()}


def test_the_owners_mirror_goes_first_and_sees_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    monkeypatch.setenv("HF_TOKEN", "")
    assert hub_at("") == ("https://huggingface.co", False)
    monkeypatch.setenv("HF_TOKEN", "hf_x")
    assert hub_at("") == ("https://huggingface.co", "hf_x")
    monkeypatch.setenv("HF_ENDPOINT", "http://env")
    assert hub_at("") == ("http://env", "hf_x")
    assert hub_at("http://own") == ("http://own", False)
    with pytest.raises(Fault, match="not the address of a hub: file:///etc"):
        hub_at("file:///etc")


def test_a_token_is_shown_to_the_hub_and_to_nobody_it_sends_us_to(
    hub: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HF_ENDPOINT", hub.url)
    fetch({"name": hub.name, "mirror": "", "folder": tmp_path / "m"}, b"")
    shown = {path.startswith("/cdn/"): token for path, token in hub.tokens.items()}
    assert shown == {False: "Bearer hf_secret", True: ""}
