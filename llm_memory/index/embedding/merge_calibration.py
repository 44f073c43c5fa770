"""From which similarities on a model's neighbours may say the same: measured on a few pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..rules.deduplication import CAUTIOUS, MergeThresholds
from .languages import Language

if TYPE_CHECKING:
    from collections.abc import Collection

    from .ports import Vectors

_REWORDED = (
    (Language.CHINESE, "小林：我非常喜欢喝乌龙茶", "小林：我爱喝乌龙茶"),
    (Language.CHINESE, "小林：外公吃虾会过敏", "小林：姥爷对虾过敏"),
    (Language.CHINESE, "小林：明早我要去机场接人", "小林：我明早要去机场接人"),
    (Language.CHINESE, "小林：我母亲居住在苏州", "小林：我妈妈住在苏州"),
    (Language.ENGLISH, "Nora: I really like oolong tea", "Nora: I like oolong tea"),
    (Language.ENGLISH, "Nora: My dad does not eat shrimp", "Nora: My father doesn't eat shrimp"),
    (Language.ENGLISH, "Nora: Tonight I fly to Madrid", "Nora: I fly to Madrid tonight"),
    (Language.ENGLISH, "Nora: We bought a flat in York", "Nora: We purchased an apartment in York"),
)
_EXTENDED = (
    (Language.CHINESE, "小林：我住在苏州", "小林：我住在苏州，小区叫听雨轩"),
    (Language.CHINESE, "小林：我在学书法", "小林：我在学书法，每个星期天上午上课"),
    (Language.ENGLISH, "Nora: I live in York", "Nora: I live in York, close to the station"),
    (Language.ENGLISH, "Nora: I play chess", "Nora: I play chess, mostly with my neighbour"),
)
_PROBES = (*_REWORDED, *_EXTENDED)
MERGE_PROBES = tuple(text for _, old, new in _PROBES for text in (old, new))
"""Statements and what says the same, or the same and more; old and new take turns."""

_LEEWAY = 0.02
"""A few probes do not find the lowest: compare ``benchmarks/calibrate.py``."""

_LOWEST, _HIGHEST = 0.5, 0.99


def merge_thresholds(probes: Vectors, unsupported: Collection[Language]) -> MergeThresholds:
    """From the probes' unit vectors, shape ``(len(MERGE_PROBES), dim)``, in their order.

    Just below the least similar of the reworded statements, and of the extended ones, in the
    languages that the model can read.
    """
    similarity = (probes[0::2] * probes[1::2]).sum(axis=1)
    seen = [
        (float(value), place < len(_REWORDED))
        for place, ((language, _, _), value) in enumerate(zip(_PROBES, similarity, strict=True))
        if language not in unsupported
    ]
    if not seen:
        return CAUTIOUS
    reinforce = _bounded(min(value for value, reworded in seen if reworded))
    replace = _bounded(min(value for value, reworded in seen if not reworded))
    return MergeThresholds(reinforce, min(reinforce, replace))


def _bounded(similarity: float) -> float:
    return min(max(similarity - _LEEWAY, _LOWEST), _HIGHEST)
