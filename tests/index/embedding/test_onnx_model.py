"""A folder with an ONNX export runs by its own files, and without torch."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.local_model import (
    LocalModelEmbedder,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.model_layout import (
    ModelLayout,
    Pooling,
    onnx_layout,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.onnx_model import (
    ONNX_TRIED,
    OnnxModel,
    open_onnx,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.native_probe import (
    NativeProbe,
    trial_command,
)
from astrbot_plugin_scoped_memory.llm_memory.storage.child_process import run_child
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx

pytestmark = [pytest.mark.unit, pytest.mark.model]

TEXT = "Anna prefers tea"
OTHERS = [{"type": "a.Transformer"}, {"type": "a.Pooling"}, {"type": "a.Dense"}]


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """An import of either raises."""
    for module in ("torch", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, module, None)


def opened(folder: Path, name: str = "tiny") -> OnnxModel:
    model = open_onnx(folder, name)
    assert model is not None
    return model


def layout(folder: Path, name: str = "tiny") -> ModelLayout:
    found = onnx_layout(folder, name)
    assert found is not None
    return found


def vector(folder: Path, text: str = TEXT) -> np.ndarray:
    (row,) = opened(folder).encode([text], "")
    return np.asarray(row)


def tokens(folder: Path) -> np.ndarray:
    """The vectors that the graph gives the tokens of TEXT."""
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    ids = np.array([Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids])
    graph = InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    # It asks for more than it uses, which is the ids.
    (rows,) = graph.run(
        ["last_hidden_state"], dict.fromkeys((i.name for i in graph.get_inputs()), ids)
    )
    return np.asarray(rows[0])


async def test_a_folder_is_run_whole_without_torch(tmp_path: Path) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny", graph="onnx/model.onnx")
    embedder = LocalModelEmbedder(str(folder), download_seconds=0.0)
    fingerprint = await embedder.prepare()
    assert (fingerprint.model, fingerprint.dim) == ("local:tiny", 64)
    documents = await embedder.embed_documents(["the printer needs paper", TEXT])
    assert int((np.stack(documents) @ await embedder.embed_query("Anna tea")).argmax()) == 1
    await embedder.close()


def mean(rows: np.ndarray) -> Any:
    return rows.mean(axis=0)


@pytest.mark.parametrize(
    ("made", "pooled"),
    [
        ({}, mean),
        ({"pooling": {"pooling_mode_mean_tokens": True}}, mean),
        ({"pooling": {"pooling_mode_cls_token": True}}, lambda rows: rows[0]),
        ({"pooling": {"pooling_mode": "lasttoken"}}, lambda rows: rows[-1]),
        ({"pooling": {"pooling_mode": "max"}}, lambda rows: rows.max(axis=0)),
        ({"inputs": ("input_ids",)}, mean),  # a graph is fed what it asks for
        ({"inputs": ("input_ids", "attention_mask", "position_ids")}, mean),
    ],
)
def test_the_vectors_of_tokens_are_pooled_as_the_folder_says(
    tmp_path: Path, made: dict[str, Any], pooled: Any
) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny", **made)
    assert np.allclose(vector(folder), pooled(tokens(folder)), atol=1e-5)


@pytest.mark.parametrize(
    ("name", "pooling"),
    [
        ("bge-small-zh-v1.5", Pooling.CLS),
        ("snowflake-arctic-embed-s", Pooling.CLS),
        ("Qwen3-Embedding-0.6B", Pooling.LAST),
        ("multilingual-e5-small", Pooling.MEAN),
        ("anything", Pooling.MEAN),
    ],
)
def test_without_a_pooling_file_the_family_decides(
    tmp_path: Path, name: str, pooling: Pooling
) -> None:
    folder = make_tiny_onnx(tmp_path / "model")
    assert layout(folder, f"owner/{name}").pooling is pooling
    (folder / "config.json").write_text(json.dumps({"_name_or_path": f"owner/{name}"}))
    assert layout(folder, "/models/mine").pooling is pooling


def test_prompts_are_the_folders_own_else_the_familys(tmp_path: Path) -> None:
    own = make_tiny_onnx(tmp_path / "own", prompts={"query": "Q: ", "document": "D: "})
    assert opened(own).prompts == ("Q: ", "D: ")
    plain = make_tiny_onnx(tmp_path / "plain")
    assert opened(plain, "owner/multilingual-e5-small").prompts == ("query: ", "passage: ")
    model = opened(plain)
    assert np.allclose(model.encode(["tea"], "question "), model.encode(["question tea"], ""))


def test_a_graph_that_makes_the_sentences_vector_is_left_to_it(tmp_path: Path) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny", sentence=True, pooling={"pooling_mode": "cls"})
    (folder / "modules.json").write_text(json.dumps(OTHERS))
    plain = make_tiny_onnx(tmp_path / "plain")
    assert np.allclose(vector(folder), -vector(plain), atol=1e-5)


def test_a_folder_that_needs_more_than_pooling_is_left_to_sentence_transformers(
    tmp_path: Path,
) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny")
    (folder / "modules.json").write_text(json.dumps(OTHERS))
    assert open_onnx(folder, "tiny") is None
    other = make_tiny_onnx(tmp_path / "other", pooling={"pooling_mode": ["mean", "max"]})
    assert open_onnx(other, "other") is None
    assert open_onnx(tmp_path, "no export at all") is None
    untold = make_tiny_onnx(tmp_path / "untold")
    (untold / "tokenizer.json").unlink()
    assert open_onnx(untold, "untold") is None


@pytest.mark.parametrize(
    ("file", "content", "tokens"),
    [
        (None, {}, 512),
        ("sentence_bert_config.json", {"max_seq_length": 7}, 7),
        ("tokenizer_config.json", {"model_max_length": 1e30}, 512),
        ("tokenizer_config.json", {"model_max_length": 256}, 256),
        ("config.json", {"max_position_embeddings": 100}, 100),
        ("sentence_bert_config.json", {"max_seq_length": None}, 512),
    ],
)
def test_a_text_is_cut_where_the_folder_says(
    tmp_path: Path, file: str | None, content: dict[str, Any], tokens: int
) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny")
    if file is not None:
        (folder / file).write_text(json.dumps(content))
    assert layout(folder).max_tokens == tokens
    words = "tea coffee " * 600
    cut = " ".join(words.split()[:tokens])
    assert np.allclose(vector(folder, words), vector(folder, cut), atol=1e-5)


async def failure(folder: Path) -> str:
    embedder = LocalModelEmbedder(str(folder), download_seconds=0.0)
    with pytest.raises(EmbeddingFailed) as caught:
        await embedder.prepare()
    await embedder.close()
    return str(caught.value)


@pytest.mark.parametrize("file", ["model.onnx", "tokenizer.json"])
@pytest.mark.parametrize("share", [0, 2])
async def test_a_file_that_is_cut_short_is_broken(tmp_path: Path, file: str, share: int) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny")
    content = (folder / file).read_bytes()
    (folder / file).write_bytes(content[: len(content) * share // 3])
    assert (await failure(folder)).startswith("broken_model")


@pytest.mark.parametrize(
    ("made", "code"),
    [
        ({"fill": np.nan}, "broken_model"),
        ({"inputs": ("input_ids", "past_key_values.0.key")}, "broken_model"),
    ],
)
async def test_a_graph_that_gives_no_numbers_or_asks_for_more_is_broken(
    tmp_path: Path, made: dict[str, Any], code: str
) -> None:
    assert (await failure(make_tiny_onnx(tmp_path / "tiny", **made))).startswith(code)


async def test_without_onnxruntime_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert await failure(folder) == "no_onnxruntime: onnxruntime"


def test_one_thread_computes(tmp_path: Path) -> None:
    """That of the caller: an open model keeps none of its own, as it would one for each other
    processor."""
    folder = make_tiny_onnx(tmp_path / "tiny")
    models = [opened(folder)]
    before = psutil.Process().num_threads()
    models += [opened(folder) for _ in range(5)]
    assert all(len(model.encode([TEXT], "")) == 1 for model in models)
    assert psutil.Process().num_threads() < before + 5


def test_the_probe_uses_the_library_and_lives(tmp_path: Path) -> None:
    """In a child: nothing of it is imported here."""
    end = run_child(trial_command(ONNX_TRIED), 120.0)
    assert (end.status, end.errors) == (0, "")


def test_what_would_end_the_process_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Dies(NativeProbe):
        def refusal(self) -> str:
            return "SIGILL"

    folder = make_tiny_onnx(tmp_path / "tiny")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)  # an import of it fails
    with pytest.raises(EmbeddingFailed, match="native: SIGILL"):
        open_onnx(folder, "tiny", Dies("onnxruntime", ONNX_TRIED, tmp_path / "record"))
