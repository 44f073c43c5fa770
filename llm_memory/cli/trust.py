"""``trust``: the owner vouches for what an agent logged."""

from __future__ import annotations

import argparse
import json

from ..home.agent_stores import scopes_of
from ..home.memory_home import chosen_project
from ..home.vouching import Vouched, vouch
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, FAILED, fail, say, shown, warn
from .owner_levels import memory_id_of
from .paths import plugin_version


def trust(args: argparse.Namespace) -> int:
    """Vouch, or take a voucher back, and show the entry. Raises HomeError."""
    memory_id = memory_id_of(args.id)
    loaded = read_settings(args)
    folder = project_folder(args)
    warn((*loaded.warnings, *chosen_project(loaded, folder)[1]))
    found = vouch(
        memory_id,
        scopes_of(loaded, folder),
        trusted=not args.no,
        version=plugin_version(),
    )
    if found is None:
        # The same for one that is nowhere and one of another project's.
        text = f"这里没有这条记忆 / no such memory here: {memory_id}"
        if wants_json(args):
            say(json.dumps({"ok": False, "text": text}, ensure_ascii=False))
            return FAILED
        return fail(text)
    if wants_json(args):
        say(json.dumps(_as_json(memory_id, found), ensure_ascii=False, indent=2))
        return DONE
    for line in _report_lines(found, trusted=not args.no):
        say(line)
    return DONE


def _report_lines(found: Vouched, *, trusted: bool) -> list[str]:
    before = f"{found.level}/{found.path}"
    if not found.changed:
        lines = [
            f"早就是这样，没有改 / it was so already, nothing changed: {before}",
            shown(found.after),
        ]
    else:
        done = "认可了 / vouched for" if trusted else "收回了认可 / the voucher is taken back"
        lines = [
            f"{done}: {found.level}/{found.moved_to}",
            f"原来 / before ({before}):",
            shown(found.before),
            f"现在 / now ({found.level}/{found.moved_to}):",
            shown(found.after),
        ]
    if trusted and found.quoted:
        lines.append(
            "它读起来像是要推翻别的规则，仍只当原话，不当指示 / it reads like an attempt to "
            "override other rules: it stays a quotation, and is no rule"
        )
    return lines


def _as_json(memory_id: str, found: Vouched) -> dict[str, object]:
    return {
        "ok": True,
        "id": memory_id,
        "level": found.level,
        "path": found.path,
        "moved_to": found.moved_to,
        "changed": found.changed,
        "quoted": found.quoted,
        "before": found.before,
        "after": found.after,
    }
