"""How a model's folder is to be run, by its own files; what they do not say, by the family of its
name. Blocks.

``families.json`` has the families, from the models' cards; the names that models give their
prompts; and the poolings as older files name them: the mean by the square root of the length is the
mean, whose length is one in the end.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

_MOST_TOKENS: Final = 512
"""Models that read thousands take gigabytes for it; what a memory is about stands in these."""
_RUN_BY_US: Final = frozenset({"Transformer", "Pooling", "Normalize"})
_POOLINGS: Final = ("mean", "cls", "lasttoken", "max")
"""How the vectors of a text's tokens become one; named as sentence-transformers names them."""


class Prompts(NamedTuple):
    """Put in front of a text; may be empty."""

    query: str
    document: str


def most_tokens(folder: Path) -> int:
    """Longer texts are cut. Raises ValueError: a file is no JSON."""
    limits = (
        _json(folder / "sentence_bert_config.json").get("max_seq_length"),
        _json(folder / "tokenizer_config.json").get("model_max_length"),
        _json(folder / "config.json").get("max_position_embeddings"),
    )
    return min([_MOST_TOKENS, *(int(n) for n in limits if isinstance(n, int | float) and n > 0)])


def pooling_of(folder: Path, name: str) -> str:
    """Of the tokens' vectors; empty where that takes more, so that only a graph which does it all
    itself can be run. ``name``: as configured, for what the files do not say."""
    modules = _json(folder / "modules.json")  # a list
    kinds = {str(one.get("type", "")).rpartition(".")[2] for one in modules}
    if not kinds <= _RUN_BY_US:
        return ""
    pooling = _json(folder / "1_Pooling" / "config.json")
    if not pooling:
        return _of_family(folder, name, "pooling") or "mean"
    old = [mode for name, mode in _known()["old_poolings"].items() if pooling.get(name)]
    modes = pooling.get("pooling_mode") or old
    mode = modes[0] if isinstance(modes, list) and len(modes) == 1 else modes
    return mode if mode in _POOLINGS and pooling.get("include_prompt") is not False else ""


def prompts_of(folder: Path, name: str) -> Prompts:
    """The model's own prompts; else those of its family; else none. ``name``: as configured."""
    told = _json(folder / "config_sentence_transformers.json")
    defined = told.get("prompts") or {}
    default = defined.get(told.get("default_prompt_name")) or ""
    query, document = (
        next((prompt for name in names if (prompt := defined.get(name))), default)
        for names in _known()["prompts"].values()
    )
    if query or document:
        return Prompts(query, document)
    return Prompts(_of_family(folder, name, "query"), _of_family(folder, name, "document"))


def _of_family(folder: Path, name: str, what: str) -> str:
    """Of the first family whose parts all stand in the name, as configured or as the model was
    saved under; empty where it says nothing."""
    saved = _json(folder / "config.json").get("_name_or_path", "")
    names = f"{Path(name).name} {saved}".lower()
    for family in _known()["families"]:
        if all(part in names for part in family["all_of"]):
            return str(family.get(what, ""))
    return ""


@cache
def _known() -> Any:
    return _json(Path(__file__).with_name("families.json"))


def _json(path: Path) -> Any:
    """A table, empty where there is no such file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
