"""What is fetched of a repository that holds the same model five times."""

from __future__ import annotations

import pytest

from astrbot_plugin_scoped_memory.llm_memory.index.embedding.local.model_files import (
    NothingToRun,
    best_graph,
    needed,
)

pytestmark = pytest.mark.unit

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
