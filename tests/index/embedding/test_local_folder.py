"""Which model lies in a folder, which names mean one, what of a repository is fetched, and how an
export is run: by its own files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.encoders import (
    OnnxModel,
    open_onnx,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.folder import (
    best_graph,
    content_revision,
    exported_graph,
    first_model,
    folder_of,
    is_hub_name,
    needed,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.layout import (
    most_tokens,
    pooling_of,
    prompts_of,
)
from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_onnx import make_tiny_onnx

pytestmark = pytest.mark.unit

BIG = 3 << 20
TEXT = "Anna prefers tea"
OTHERS = [{"type": "a.Transformer"}, {"type": "a.Pooling"}, {"type": "a.Dense"}]


def test_a_revision_tells_other_files_and_another_way_to_run_them(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    (folder / "1_Pooling").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"\0" * BIG)
    moved = folder.rename(tmp_path / "elsewhere")
    seen = [content_revision(moved, ""), content_revision(moved, "otherwise")]
    (moved / "README.md").write_text("new words")
    (moved / ".cache").mkdir()
    (moved / ".cache" / "x.json").write_text("{}")
    assert content_revision(moved, "") == seen[0]
    (tmp_path / "linked").mkdir()
    (moved / "onnx").symlink_to(tmp_path / "linked")
    for name, content in (
        ("config.json", b'{"a": 1}'),
        ("1_Pooling/config.json", b"[]"),
        ("tokenizer.json", b"{}"),
        ("onnx/model.onnx", b"graph"),
        ("model.safetensors", b"\1" + b"\0" * (BIG - 1)),
        ("model.safetensors", b"\0" * (BIG - 1) + b"\1"),
        ("model.safetensors", b"\0" * (BIG + 1)),
    ):
        (moved / name).write_bytes(content)
        seen.append(content_revision(moved, ""))
    assert len(set(seen)) == len(seen) == 9
    assert exported_graph(moved) == "onnx/model.onnx"


def test_names_of_the_hub_are_told_from_paths_and_from_no_folder(tmp_path: Path) -> None:
    assert all(map(is_hub_name, ("all-MiniLM-L6-v2", "BAAI/bge-small-zh-v1.5")))
    paths = ("/a/b", "./a", "../a", "~/a", "a/b/c", "C:\\models", "", "a//b", "C:/models", "a/..")
    others = ("a\n", "作者/模型", "a b/c", "a/b?c", "a/b:1", "a/b|c")
    assert not any(map(is_hub_name, (*paths, *others)))
    for name in ("x" * 300, "~somebody-else/model", "sk-\ud800", "a\0b"):
        assert folder_of(name, tmp_path) is None


@pytest.mark.parametrize(
    ("defined", "default", "name", "prompts"),
    [
        ({"query": "Q: ", "passage": "P: "}, None, "model", ("Q: ", "P: ")),
        ({"query": "Q: "}, None, "multilingual-e5-small", ("Q: ", "")),
        ({"all": "A: ", "query": "Q: "}, "all", "model", ("Q: ", "A: ")),
        ({"query": ""}, None, "Multilingual-E5-small", ("query: ", "passage: ")),
        ({"query": None}, None, "bge-m3", ("", "")),
        (None, None, "bge-small-zh-v1.5", ("为这个句子生成表示以用于检索相关文章：", "")),
    ],
)
def test_prompts_are_the_models_own_else_those_of_its_family(
    tmp_path: Path, defined: Any, default: str | None, name: str, prompts: tuple[str, str]
) -> None:
    told = json.dumps({"prompts": defined, "default_prompt_name": default})
    (tmp_path / "config_sentence_transformers.json").write_text(told)
    assert prompts_of(tmp_path, name) == prompts


def test_a_model_that_must_not_be_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a-of-root", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    whole = Path.stat

    def stat(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if "a-of-root" in str(self):  # as users are refused, and root is not
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)
    assert first_model(tmp_path, torch=False) is None
    assert first_model(tmp_path, torch=True) == tmp_path / "b"


@pytest.mark.parametrize(
    ("names", "best"),
    [
        ([], None),
        (["README.md", "decoder.onnx", "onnx/vision/model.onnx", "model.onnx_data"], None),
        (["onnx/model_O4.onnx", "onnx/model_qint8_avx512_vnni.onnx", "model.onnx"], "model.onnx"),
        (["onnx/model.onnx", "onnx/model_quantized.onnx"], "onnx/model_quantized.onnx"),
        (["model_q4.onnx", "model_qint8_arm64.onnx"], "model_qint8_arm64.onnx"),
        (["model_fp16.onnx"], "model_fp16.onnx"),
    ],
)
def test_the_graph_that_suits_a_processor_is_taken(names: list[str], best: str | None) -> None:
    assert best_graph(names) == best


BASIC = {"config.json", "modules.json", "tokenizer.json", "1_Pooling/config.json"}
REST = {"README.md", ".gitattributes", "tf_model.h5", "openvino/openvino_model.xml"}
WEIGHTS = {"model.safetensors", "pytorch_model.bin"}
GRAPH = {"onnx/model.onnx", "onnx/model.onnx_data"}
GRAPHS = {*GRAPH, "onnx/model_O4.onnx"}
DENSE = {"2_Dense/model.safetensors", "model.safetensors"}


@pytest.mark.parametrize(
    ("names", "torch", "wanted"),
    [
        (BASIC | REST | WEIGHTS | GRAPHS, True, BASIC | GRAPH),
        # Needs another module: for sentence-transformers, if that is there.
        (BASIC | GRAPHS | DENSE, False, BASIC | GRAPH),
        (BASIC | GRAPHS | DENSE, True, BASIC | DENSE),
        (BASIC | REST | WEIGHTS, True, BASIC | {"model.safetensors"}),
        # Could not be run here.
        (BASIC | WEIGHTS, False, set()),
        (GRAPHS, False, set()),
    ],
)
def test_one_model_and_its_configuration_are_needed_of_a_repository(
    names: set[str], torch: bool, wanted: set[str]
) -> None:
    assert set(needed(names, torch=torch)) == wanted


def opened(folder: Path) -> OnnxModel:
    model = open_onnx(folder, "tiny")
    assert model is not None
    return model


def vector(folder: Path) -> np.ndarray:
    return np.asarray(opened(folder).encode([TEXT], is_query=False)[0])


def tokens(folder: Path) -> np.ndarray:
    """The vectors that the graph gives the tokens of TEXT."""
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    ids = np.array([Tokenizer.from_file(str(folder / "tokenizer.json")).encode(TEXT).ids])
    graph = InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    asked = {one.name: ids for one in graph.get_inputs()}  # it uses nothing but the ids
    return np.asarray(graph.run(["last_hidden_state"], asked)[0][0])


@pytest.mark.model
@pytest.mark.parametrize(
    ("made", "pooled"),
    [
        ({}, lambda rows: rows.mean(axis=0)),
        ({"pooling": {"pooling_mode_cls_token": True}}, lambda rows: rows[0]),
        ({"pooling": {"pooling_mode": "lasttoken"}}, lambda rows: rows[-1]),
        ({"pooling": {"pooling_mode": "max"}}, lambda rows: rows.max(axis=0)),
        # A graph is fed what it asks for.
        ({"inputs": ("input_ids",)}, lambda rows: rows.mean(axis=0)),
        ({"inputs": ("input_ids", "position_ids")}, lambda rows: rows.mean(axis=0)),
    ],
)
def test_the_vectors_of_tokens_are_pooled_as_the_folder_says(
    tmp_path: Path, made: dict[str, Any], pooled: Any
) -> None:
    folder = make_tiny_onnx(tmp_path / "tiny", **made)
    assert np.allclose(vector(folder), pooled(tokens(folder)), atol=1e-5)


def test_without_a_pooling_file_the_family_decides(tmp_path: Path) -> None:
    config = tmp_path / "config.json"
    for name, pooling in {
        "owner/bge-small-zh-v1.5": "cls",
        "owner/snowflake-arctic-embed-s": "cls",
        "owner/Qwen3-Embedding-0.6B": "lasttoken",
        "owner/multilingual-e5-small": "mean",
    }.items():
        config.unlink(missing_ok=True)
        assert pooling_of(tmp_path, name) == pooling
        config.write_text(json.dumps({"_name_or_path": name}))
        assert pooling_of(tmp_path, "/models/mine") == pooling


@pytest.mark.model
def test_a_folder_that_needs_more_than_pooling_is_left_to_a_graph_that_does_it_or_to_torch(
    tmp_path: Path,
) -> None:
    whole = make_tiny_onnx(tmp_path / "whole", sentence=True, pooling={"pooling_mode": "cls"})
    folder = make_tiny_onnx(tmp_path / "tiny")
    plain = make_tiny_onnx(tmp_path / "plain")
    for place in (whole, folder):
        (place / "modules.json").write_text(json.dumps(OTHERS))
    assert np.allclose(vector(whole), -vector(plain), atol=1e-5)
    other = make_tiny_onnx(tmp_path / "other", pooling={"pooling_mode": ["mean", "max"]})
    untold = make_tiny_onnx(tmp_path / "untold")
    (untold / "tokenizer.json").unlink()
    for place in (folder, other, untold, tmp_path):
        assert open_onnx(place, "x") is None


def test_a_text_is_cut_where_the_folder_says(tmp_path: Path) -> None:
    for file, content, tokens in (
        ("sentence_bert_config.json", {"max_seq_length": None}, 512),
        ("tokenizer_config.json", {"model_max_length": 1e30}, 512),
        ("config.json", {"max_position_embeddings": 100}, 100),
        ("sentence_bert_config.json", {"max_seq_length": 7}, 7),
    ):
        (tmp_path / file).write_text(json.dumps(content))
        assert most_tokens(tmp_path) == tokens


@pytest.mark.model
def test_one_thread_computes_behind_the_prompts_of_the_folder_and_longer_texts_are_cut(
    tmp_path: Path,
) -> None:
    """That of the caller: an open model keeps none of its own, as it would one for each other
    processor."""
    folder = make_tiny_onnx(tmp_path / "own", prompts={"query": "question ", "document": ""})
    models = [opened(folder)]
    before = psutil.Process().num_threads()
    models += [opened(folder) for _ in range(5)]
    for model in models:
        asked = model.encode(["tea"], is_query=True)
        assert np.allclose(asked, model.encode(["question tea"], is_query=False))
        long = model.encode(["tea coffee " * 600, "tea coffee " * 256], is_query=False)
        assert np.allclose(*long, atol=1e-5)
    assert psutil.Process().num_threads() < before + 5
