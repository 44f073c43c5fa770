"""An evaluation as a file of JSON. Pure."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, get_args

from ...models.soul import Both, Finding, ProbeKind, ProbeResult, SoulEvaluation
from ...texts import Said


def verdict_bytes(verdict: SoulEvaluation) -> bytes:
    """Returns the file."""
    text = json.dumps(asdict(verdict), ensure_ascii=False, indent=1, default=Said.both)
    return f"{text}\n".encode(errors="replace")  # a model's name may be any text


def verdict_of(raw: bytes) -> SoulEvaluation | None:
    """Returns the evaluation of such a file, None for anything else."""
    try:
        fields: dict[str, Any] = json.loads(raw)
        fields["findings"] = tuple(map(_finding, fields["findings"]))
        fields["probes"] = tuple(map(_probe, fields["probes"]))
        fields["why"] = Both(**fields["why"])
        return SoulEvaluation(**fields)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None


def _finding(fields: dict[str, Any]) -> Finding:
    return Finding(fields["rule"], Both(**fields["said"]), tuple(fields["lines"]))


def _probe(fields: dict[str, Any]) -> ProbeResult:
    before, after = fields.pop("digests")
    if fields["kind"] not in get_args(ProbeKind):
        raise ValueError(fields["kind"])
    return ProbeResult(digests=(before, after), **fields)
