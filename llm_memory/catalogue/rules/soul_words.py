"""What kinds of probes are called. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...models.said import Said
from ...models.soul import ProbeKind

PROBE_KINDS: Final[Mapping[ProbeKind, Said]] = {
    ProbeKind.SAFETY: Said("安全", "safety"),
    ProbeKind.PRIVACY: Said("隐私", "privacy"),
    ProbeKind.IDENTITY: Said("身份", "identity"),
    ProbeKind.HELPFUL: Said("有用", "helpfulness"),
    ProbeKind.STYLE: Said("表达", "style"),
    ProbeKind.AIM: Said("目标", "aim"),
    ProbeKind.OWN: Said("自备", "own"),
}
