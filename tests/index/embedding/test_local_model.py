"""A local model: what can be wrong with it, and how it is fetched."""

from __future__ import annotations

import asyncio
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.local_model import (
    LocalModelEmbedder,
)
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_model import make_tiny_model

pytestmark = pytest.mark.unit

NAME = "owner/tiny"
ENDLESS = "import time; time.sleep(600)"


def local(folder: Path) -> LocalModelEmbedder:
    return LocalModelEmbedder(str(folder), download_seconds=0.0)


def fetched(cache: Path, program: str, seconds: float = 60.0) -> LocalModelEmbedder:
    """An embedder whose download is ``program``, with sys.argv[1:] = name, folder to fill."""

    def command(name: str, folder: Path) -> Sequence[str]:
        return (sys.executable, "-c", program, name, str(folder))

    return LocalModelEmbedder(NAME, download_seconds=seconds, cache_folder=cache, fetch=command)


async def reason(embedder: LocalModelEmbedder) -> str:
    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.prepare()
    return str(caught.value)


async def refused(embedder: LocalModelEmbedder) -> str:
    """Why it cannot be prepared at all; it is closed."""
    try:
        return await reason(embedder)
    finally:
        await embedder.close()
        assert embedder.progress is None


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny")


def in_hub_cache(model: Path, cache: Path) -> None:
    """Put a model where the hub's own library would."""
    repository = cache / "models--owner--tiny"
    shutil.copytree(model, repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")


@pytest.mark.model
async def test_a_models_prompts_are_put_before_its_texts_whatever_these_are(tmp_path: Path) -> None:
    prompts = {"query": "question ", "document": ""}
    embedder = local(make_tiny_model(tmp_path / "prompted", prompts=prompts))
    await embedder.prepare()
    plain, prompted = await embedder.embed_documents(["coffee", "question coffee"])
    query = await embedder.embed_query("coffee")
    assert np.allclose(query, prompted, atol=1e-5)
    assert not np.allclose(query, plain, atol=1e-2)
    await embedder.close()


@pytest.mark.model
@pytest.mark.parametrize("name", ["config.json", "model.safetensors"])
async def test_a_model_that_is_cut_off_is_broken(tiny: Path, tmp_path: Path, name: str) -> None:
    folder = Path(shutil.copytree(tiny, tmp_path / "cut"))
    for cut in folder.rglob(name):
        cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    assert (await refused(local(folder))).startswith("broken_model")


async def test_without_the_library_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert (await refused(local(tmp_path))).startswith("no_sentence_transformers")


async def test_a_missing_folder_and_a_name_that_may_not_be_fetched_ask_no_hub(
    tmp_path: Path,
) -> None:
    missing = LocalModelEmbedder(str(tmp_path / "none"), download_seconds=60.0)
    assert (await refused(missing)).startswith("no_such_folder")
    assert (await refused(fetched(tmp_path, ENDLESS, seconds=0.0))).startswith("not_on_disk")


async def test_it_embeds_nothing_before_it_is_prepared_or_after_it_is_closed(
    tmp_path: Path,
) -> None:
    embedder = local(tmp_path)
    with pytest.raises(EmbeddingFailed, match="not_prepared"):
        await embedder.embed_query("x")
    await embedder.close()
    await embedder.close()
    with pytest.raises(EmbeddingFailed, match="closed"):
        await embedder.embed_documents(["x"])
    assert await reason(embedder) == "closed"


async def test_while_it_downloads_it_says_so_and_closing_ends_it(tmp_path: Path) -> None:
    embedder = fetched(tmp_path, ENDLESS)
    assert (await reason(embedder)).startswith("downloading")
    assert (await reason(embedder)).startswith("downloading")
    assert embedder.progress is not None
    await embedder.close()
    assert embedder.progress is None


@pytest.mark.model
async def test_a_model_that_the_hubs_library_had_fetched_is_found(
    tiny: Path, tmp_path: Path
) -> None:
    in_hub_cache(tiny, tmp_path)
    embedder = fetched(tmp_path, ENDLESS)
    assert (await embedder.prepare()).model == "local:tiny"
    await embedder.close()


async def test_a_download_that_brings_nothing_is_an_error(tmp_path: Path) -> None:
    embedder = fetched(tmp_path, "pass")
    await reason(embedder)
    while embedder.progress is not None:  # noqa: ASYNC110  (polled, as the status does)
        await asyncio.sleep(0.01)
    assert (await refused(embedder)).startswith("download_failed")


@pytest.mark.model
async def test_a_query_overtakes_a_batch_of_documents(tiny: Path) -> None:
    embedder = local(tiny)
    await embedder.prepare()
    batch = asyncio.create_task(embedder.embed_documents(["coffee and tea " * 2000] * 24))
    await asyncio.sleep(0)
    await embedder.embed_query("tea")
    assert not batch.done()
    assert len(await batch) == 24
    await embedder.close()


@pytest.mark.model
async def test_one_torch_thread_encodes(tiny: Path) -> None:
    import torch

    embedder = local(tiny)
    await embedder.prepare()
    assert await embedder.in_thread(torch.get_num_threads) == 1
    await embedder.close()
