"""A real ONNX export of a megabyte, made on the spot: the table of tokens of ``tiny_model``.

The graph is written as the protobuf that onnxruntime reads, by hand: the package that makes such
files is large, and this is a dozen messages of https://github.com/onnx/onnx/blob/main/onnx/onnx.proto.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from astrbot_plugin_scoped_memory.tests.support.embedders.tiny_model import ENGLISH, tiny_tokenizer

FLOAT, INT64 = 1, 7

type Shape = Sequence[str | int]


def make_tiny_onnx(
    folder: Path,
    *,
    graph: str = "model.onnx",
    dim: int = 64,
    seed: int = 0,
    inputs: Sequence[str] = ("input_ids", "attention_mask", "token_type_ids"),
    sentence: bool = False,
    pooling: Mapping[str, Any] | None = None,
    prompts: Mapping[str, str] | None = None,
    fill: float | None = None,
    corpus: Iterable[str] = ENGLISH,
) -> Path:
    """A folder with a tokenizer trained on ``corpus`` and a table of random vectors behind it.

    Args:
        graph: Where the graph lies below the folder.
        inputs: What the graph asks for; it uses the first alone.
        sentence: Give the graph a ``sentence_embedding``, the mean with its sign turned.
        pooling: The content of ``1_Pooling/config.json``; none without.
        fill: Put this in place of all numbers.
        prompts: Those of ``config_sentence_transformers.json``; none without.
    """
    tokenizer = tiny_tokenizer(corpus)
    table = np.random.default_rng(seed).standard_normal((tokenizer.get_vocab_size(), dim))
    table[tokenizer.token_to_id("[UNK]")] = 0.0  # else all that is unknown looks alike
    if fill is not None:
        table[:] = fill
    (folder / graph).parent.mkdir(parents=True)
    (folder / graph).write_bytes(table_graph(table.astype(np.float32), inputs, sentence=sentence))
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text("{}")
    if pooling is not None:
        (folder / "1_Pooling").mkdir()
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    if prompts is not None:
        content = json.dumps({"prompts": dict(prompts), "default_prompt_name": None})
        (folder / "config_sentence_transformers.json").write_text(content)
    return folder


def table_graph(table: np.ndarray, inputs: Sequence[str], *, sentence: bool = False) -> bytes:
    """``last_hidden_state = table[input_ids]``."""
    nodes = [_node("Gather", ["table", inputs[0]], ["last_hidden_state"])]
    outputs = [_value("last_hidden_state", FLOAT, ("batch", "tokens", table.shape[1]))]
    if sentence:
        mean = [_integers("axes", [1]), _integer("keepdims", 0)]
        nodes.append(_node("ReduceMean", ["last_hidden_state"], ["mean"], mean))
        nodes.append(_node("Neg", ["mean"], ["sentence_embedding"]))
        outputs.append(_value("sentence_embedding", FLOAT, ("batch", table.shape[1])))
    graph = b"".join(
        [
            *(_message(1, node) for node in nodes),
            _text(2, "tiny"),
            _message(5, _tensor("table", table)),
            *(_message(11, _value(name, INT64, ("batch", "tokens"))) for name in inputs),
            *(_message(12, output) for output in outputs),
        ]
    )
    # IR version 8; operators of set 13, in which ReduceMean still takes its axes as an attribute.
    return _number(1, 8) + _message(7, graph) + _message(8, _number(2, 13))


def _tensor(name: str, values: np.ndarray) -> bytes:
    dims = b"".join(_number(1, size) for size in values.shape)
    return dims + _number(2, FLOAT) + _text(8, name) + _message(9, values.tobytes())


def _value(name: str, kind: int, shape: Shape) -> bytes:
    dims = b"".join(
        _message(1, _number(1, one) if isinstance(one, int) else _text(2, one)) for one in shape
    )
    return _text(1, name) + _message(2, _message(1, _number(1, kind) + _message(2, dims)))


def _node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Sequence[bytes] = ()
) -> bytes:
    return b"".join(
        [
            *(_text(1, name) for name in inputs),
            *(_text(2, name) for name in outputs),
            _text(4, kind),
            *(_message(5, attribute) for attribute in attributes),
        ]
    )


def _integer(name: str, value: int) -> bytes:
    return _text(1, name) + _number(3, value) + _number(20, 2)


def _integers(name: str, values: Sequence[int]) -> bytes:
    return _text(1, name) + b"".join(_number(8, value) for value in values) + _number(20, 7)


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*parts, value))
