"""How a model's folder is to be run, by its own files; what they do not say, by the family of its
name. Blocks.

``families.json`` has the families, from the models' cards; the names that models give their
prompts; and the poolings as older files name them: the mean by the square root of the length is the
mean, whose length is one in the end.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from .folder import exported_graph

_MOST_TOKENS: Final = 512
"""Models that read thousands take gigabytes for it; what a memory is about stands in these."""
_RUN_BY_US: Final = frozenset({"Transformer", "Pooling", "Normalize"})
_POOLINGS: Final = ("mean", "cls", "lasttoken", "max")
"""How the vectors of a text's tokens become one; named as sentence-transformers names them."""


class Prompts(NamedTuple):
    """Put in front of a text; may be empty."""

    query: str
    document: str


class ModelLayout(NamedTuple):
    """An ONNX export.

    Attributes:
        graph: Below the folder.
        pooling: Of the tokens' vectors; empty where that takes more, so that only a graph which
            does it all itself can be run.
        max_tokens: Longer texts are cut.
    """

    folder: Path
    graph: str
    pooling: str
    prompts: Prompts
    max_tokens: int


def onnx_layout(folder: Path, name: str) -> ModelLayout | None:
    """Of the folder's ONNX export; None without one, or without ``tokenizer.json``.

    Args:
        folder: A model's folder.
        name: As configured, for what the files do not say.

    Raises:
        ValueError: a file is no JSON.
    """
    graph = exported_graph(folder)
    if graph is None:
        return None
    config = _json(folder / "config.json")
    family = f"{Path(name).name} {config.get('_name_or_path', '')}"
    sentences = _json(folder / "config_sentence_transformers.json")
    limits = (
        _json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _json(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    )
    return ModelLayout(
        folder,
        graph,
        _pooling(folder, family),
        prompts_of(sentences.get("prompts") or {}, sentences.get("default_prompt_name"), family),
        min([_MOST_TOKENS, *(int(n) for n in limits if isinstance(n, int | float) and n > 0)]),
    )


def _pooling(folder: Path, family: str) -> str:
    modules = _json(folder / "modules.json")  # a list
    kinds = {str(one.get("type", "")).rpartition(".")[2] for one in modules}
    if not kinds <= _RUN_BY_US:
        return ""
    pooling = _json(folder / "1_Pooling" / "config.json")
    if not pooling:
        return _of_family(family, "pooling") or "mean"
    old = [mode for name, mode in _known()["old_poolings"].items() if pooling.get(name)]
    modes = pooling.get("pooling_mode") or old
    mode = modes[0] if isinstance(modes, list) and len(modes) == 1 else modes
    return mode if mode in _POOLINGS and pooling.get("include_prompt") is not False else ""


def prompts_of(
    defined: Mapping[str, str | None], default_name: str | None, model_name: str
) -> Prompts:
    """The model's own prompts; else those of its family; else none.

    Args:
        defined: ``SentenceTransformer.prompts``; a name may be there without a prompt.
        default_name: ``SentenceTransformer.default_prompt_name``.
        model_name: As configured, for the family.
    """
    default = (defined.get(default_name) if default_name else None) or ""
    query, document = (
        next((prompt for name in names if (prompt := defined.get(name))), "")
        for names in _known()["prompts"].values()
    )
    if query or document or default:
        return Prompts(query or default, document or default)
    return Prompts(_of_family(model_name, "query"), _of_family(model_name, "document"))


def _of_family(name: str, what: str) -> str:
    """Of the first family whose parts all stand in the name; empty where it says nothing."""
    for family in _known()["families"]:
        if all(part in name.lower() for part in family["all_of"]):
            return str(family.get(what, ""))
    return ""


@cache
def _known() -> Any:
    return _json(Path(__file__).with_name("families.json"))


def _json(path: Path) -> Any:
    """A table, empty where there is no such file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
