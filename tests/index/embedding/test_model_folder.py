"""Which model lies in a folder, which names mean one, and what of a repository is fetched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from astrbot_plugin_scoped_memory.llm_memory import EnginePaths, EngineSettings
from astrbot_plugin_scoped_memory.llm_memory.errors import EmbeddingFailed
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.model_files import (
    NothingToRun,
    best_graph,
    needed,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.model_folder import (
    content_revision,
    find_model,
    first_model,
    hub_name,
    is_hub_name,
)
from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.prompts import (
    Prompts,
    prompts_of,
)
from astrbot_plugin_scoped_memory.llm_memory.service.indexes import local_embedder

pytestmark = pytest.mark.unit

NO_PROMPTS = Prompts("", "")
BIG = 3 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    model = tmp_path / "model"
    (model / "1_Pooling").mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (model / "1_Pooling" / "config.json").write_text("{}")
    (model / "model.safetensors").write_bytes(b"\0" * BIG)
    return model


def test_the_same_files_give_the_same_revision(folder: Path, tmp_path: Path) -> None:
    moved = folder.rename(tmp_path / "elsewhere")
    before = content_revision(moved, NO_PROMPTS)
    (moved / "README.md").write_text("new words")
    (moved / ".cache").mkdir()
    (moved / ".cache" / "x.json").write_text("{}")
    assert content_revision(moved, NO_PROMPTS) == before
    assert len(before) == 16


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", b'{"a": 1}'),
        ("1_Pooling/config.json", b"[]"),
        ("tokenizer.json", b"{}"),
        ("model.safetensors", b"\1" + b"\0" * (BIG - 1)),
        ("model.safetensors", b"\0" * (BIG - 1) + b"\1"),
        ("model.safetensors", b"\0" * (BIG + 1)),
    ],
    ids=["config", "module config", "new file", "first weight", "last weight", "more weights"],
)
def test_other_files_give_another_revision(folder: Path, name: str, content: bytes) -> None:
    before = content_revision(folder, NO_PROMPTS)
    (folder / name).write_bytes(content)
    assert content_revision(folder, NO_PROMPTS) != before


def test_other_prompts_give_another_revision(folder: Path) -> None:
    assert content_revision(folder, NO_PROMPTS) != content_revision(folder, Prompts("q: ", ""))


NO_NAMES = (
    *("/a/b", "./a", "../a", "~/a", "a/b/c", "C:\\models", "", "a//b", "C:/models", "a/..", "a\n"),
    *("作者/模型", "a b/c", "a/b?c", "a/b:1", "a/b|c"),
)


def test_names_of_the_hub_are_told_from_paths() -> None:
    assert all(map(is_hub_name, ("all-MiniLM-L6-v2", "BAAI/bge-small-zh-v1.5")))
    assert [name for name in NO_NAMES if is_hub_name(name)] == []


def test_a_bare_name_belongs_to_the_sentence_transformers_project() -> None:
    assert hub_name("all-MiniLM-L6-v2") == "sentence-transformers/all-MiniLM-L6-v2"
    assert hub_name("BAAI/bge-m3") == "BAAI/bge-m3"


@pytest.mark.parametrize(
    ("defined", "default", "name", "prompts"),
    [
        ({}, None, "model", Prompts("", "")),
        ({"query": None, "document": None}, None, "model", Prompts("", "")),
        ({"query": "Q: ", "passage": "P: "}, None, "model", Prompts("Q: ", "P: ")),
        ({"query": "Q: "}, None, "multilingual-e5-small", Prompts("Q: ", "")),
        ({"all": "A: ", "query": "Q: "}, "all", "model", Prompts("Q: ", "A: ")),
        ({"query": ""}, None, "Multilingual-E5-small", Prompts("query: ", "passage: ")),
        ({}, None, "bge-m3", Prompts("", "")),
    ],
)
def test_prompts_are_the_models_own_else_those_of_its_family(
    defined: dict[str, str | None], default: str | None, name: str, prompts: Prompts
) -> None:
    assert prompts_of(defined, default, name) == prompts


def test_a_chinese_bge_has_a_prompt_for_queries_only() -> None:
    prompts = prompts_of({}, None, "bge-small-zh-v1.5")
    assert prompts.query
    assert not prompts.document


def forbidden(monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    """Whoever looks at a path with ``part`` in it is refused, as users are and root is not."""
    whole = Path.stat

    def stat(self: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        if part in str(self):
            raise PermissionError(13, "Permission denied", str(self))
        return whole(self, follow_symlinks=follow_symlinks)

    monkeypatch.setattr(Path, "stat", stat)


def test_a_model_that_must_not_be_read_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a-of-root", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text("{}")
    forbidden(monkeypatch, "a-of-root")
    assert first_model(tmp_path, torch=True) == tmp_path / "b"
    forbidden(monkeypatch, str(tmp_path))
    assert first_model(tmp_path, torch=True) is None


@pytest.mark.parametrize("name", ["x" * 300, "~somebody-else/model", "sk-\ud800", "a\0b"])
def test_what_can_be_no_folder_is_said_to_be_none(tmp_path: Path, name: str) -> None:
    settings = EngineSettings(model_mirror=None)
    paths = EnginePaths.under(tmp_path)
    paths.models.mkdir(parents=True)
    local_embedder(paths, name, settings=settings, worker=None)  # choosing it must not fail
    try:
        assert find_model(name, None) is None
    except EmbeddingFailed as error:
        assert error.code == "no_such_folder"


CONFIGURATION = {"config.json", "modules.json", "tokenizer.json", "1_Pooling/config.json"}
REST = {"README.md", ".gitattributes", "tf_model.h5", "openvino/openvino_model.xml", "vocab.txt"}
WEIGHTS = {"model.safetensors", "pytorch_model.bin"}
GRAPHS = {"onnx/model.onnx", "onnx/model_O4.onnx", "onnx/model_qint8_avx512_vnni.onnx"}
MODULES = [{"type": "sentence_transformers.models.Transformer"}, {"type": "x.Pooling"}]
DENSE = [*MODULES, {"type": "sentence_transformers.models.Dense"}]


@pytest.mark.parametrize(
    ("names", "best"),
    [
        ([], None),
        (["README.md", "decoder.onnx", "onnx/vision/model.onnx", "model.onnx_data"], None),
        (["model.onnx"], "model.onnx"),
        (sorted(GRAPHS), "onnx/model.onnx"),
        (["onnx/model.onnx", "onnx/model_quantized.onnx"], "onnx/model_quantized.onnx"),
        (["onnx/model_fp16.onnx", "onnx/model_int8.onnx"], "onnx/model_int8.onnx"),
        (["model_q4.onnx", "model_qint8_arm64.onnx"], "model_qint8_arm64.onnx"),
        (["model_fp16.onnx"], "model_fp16.onnx"),
    ],
)
def test_the_graph_that_suits_a_processor_is_taken(names: list[str], best: str | None) -> None:
    assert best_graph(names) == best


@pytest.mark.parametrize("torch", [True, False])
def test_of_an_export_one_graph_its_weights_and_the_configuration_are_needed(torch: bool) -> None:
    beside = {"onnx/model.onnx_data"}
    found = needed(CONFIGURATION | REST | WEIGHTS | GRAPHS | beside, MODULES, torch=torch)
    assert set(found) == CONFIGURATION | {"onnx/model.onnx"} | beside


def test_without_an_export_one_format_of_weights_is_needed() -> None:
    found = needed(CONFIGURATION | REST | WEIGHTS, MODULES, torch=True)
    assert set(found) == CONFIGURATION | {"vocab.txt", "model.safetensors"}
    old = needed(CONFIGURATION | {"pytorch_model.bin"}, None, torch=True)
    assert set(old) == CONFIGURATION | {"pytorch_model.bin"}


def test_what_needs_other_modules_is_fetched_for_sentence_transformers_if_that_is_there() -> None:
    everything = CONFIGURATION | WEIGHTS | GRAPHS | {"2_Dense/model.safetensors"}
    assert "2_Dense/model.safetensors" in needed(everything, DENSE, torch=True)
    assert "onnx/model.onnx" in needed(everything, DENSE, torch=False)


@pytest.mark.parametrize(
    ("names", "torch"),
    [(CONFIGURATION | WEIGHTS, False), (CONFIGURATION | REST, True), (GRAPHS, False)],
)
def test_nothing_is_fetched_that_could_not_be_run(names: set[str], torch: bool) -> None:
    with pytest.raises(NothingToRun):
        needed(names, None, torch=torch)
