"""What the files of a model's folder say of how its ONNX export is to be run. Blocks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from .model_files import other_modules
from .model_folder import exported_graph
from .prompts import Prompts, prompts_of

_MOST_TOKENS: Final = 512
"""Models that read thousands take gigabytes for it; what a memory is about stands in these."""


class Pooling(StrEnum):
    """How the vectors of a text's tokens become one; named as sentence-transformers names them."""

    MEAN = "mean"
    CLS = "cls"
    LAST = "lasttoken"
    MAX = "max"


_OLD_NAMES: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    # Its vector is the mean's, but for the length, which is one in the end.
    "pooling_mode_mean_sqrt_len_tokens": "mean",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
_FAMILIES: Final = (
    # Well-known models whose exports come without a pooling file, from their model cards.
    ("bge-", Pooling.CLS),
    ("gte-multilingual", Pooling.CLS),
    ("granite-embedding", Pooling.CLS),
    ("arctic-embed", Pooling.CLS),
    ("qwen3-embedding", Pooling.LAST),
)


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """An ONNX export.

    Attributes:
        graph: Below the folder.
        pooling: Of the tokens' vectors; None where that takes more than pooling, so that only a
            graph which does it all itself can be run.
        max_tokens: Longer texts are cut.
        lower_case: Texts are lower-cased before the tokenizer sees them.
    """

    folder: Path
    graph: str
    pooling: Pooling | None
    prompts: Prompts
    max_tokens: int
    lower_case: bool

    @property
    def variant(self) -> str:
        """What else than files and prompts decides on the vectors."""
        return f"{self.graph} {self.pooling} {self.max_tokens}"


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
    config = _table(folder / "config.json")
    family = f"{Path(name).name} {config.get('_name_or_path', '')}".lower()
    sentences = _table(folder / "config_sentence_transformers.json")
    reading = _table(folder / "sentence_bert_config.json")
    prompts = sentences.get("prompts")
    default = sentences.get("default_prompt_name")
    limits = (
        reading.get("max_seq_length"),
        _table(folder / "tokenizer_config.json").get("model_max_length"),
        config.get("max_position_embeddings"),
    )
    return ModelLayout(
        folder,
        graph,
        _pooling(folder, family),
        prompts_of(prompts if isinstance(prompts, dict) else {}, default, family),
        min([_MOST_TOKENS, *(int(n) for n in limits if isinstance(n, int | float) and n > 0)]),
        bool(reading.get("do_lower_case")),
    )


def _pooling(folder: Path, family: str) -> Pooling | None:
    if other_modules(_json(folder / "modules.json")):
        return None
    pooling = _table(folder / "1_Pooling" / "config.json")
    if not pooling:
        return next((own for part, own in _FAMILIES if part in family), Pooling.MEAN)
    modes = pooling.get("pooling_mode") or [
        mode for old, mode in _OLD_NAMES.items() if pooling.get(old)
    ]
    mode = modes[0] if isinstance(modes, list) and len(modes) == 1 else modes
    if mode not in list(Pooling) or pooling.get("include_prompt") is False:
        return None
    return Pooling(mode)


def _table(path: Path) -> Mapping[str, Any]:
    content = _json(path)
    return content if isinstance(content, dict) else {}


def _json(path: Path) -> Any:
    """None where there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
