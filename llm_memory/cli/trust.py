"""``trust``: the owner vouches for what an agent logged."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ..home.agent_stores import chosen_project, scopes_of
from ..models.said import Said
from ..remember.home_vouchers import HomeVouchers
from ..remember.vouching import Vouched, Voucher
from ..storage.formats.vault_format import VaultFormat
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, FAILED, fail, say, say_json, say_value, shown, warn, words
from .owner_levels import memory_id_of
from .paths import plugin_version


def trust(args: argparse.Namespace) -> int:
    """Vouch, or take a voucher back, and show the entry. Raises HomeError."""
    memory_id, trusted = memory_id_of(args.id), not args.no
    loaded = read_settings(args)
    folder = project_folder(args)
    warn((*loaded.warnings, *chosen_project(loaded, folder)[1]))
    for store in scopes_of(loaded, folder):
        level, paths = store.level, store.paths
        VaultFormat(paths.memory, paths.backups, version=plugin_version()).check()
        vouchers = None if paths.owns_memory else HomeVouchers(paths.state)
        found = Voucher(paths.memory, store.scope, vouchers).vouch(memory_id, trusted=trusted)
        if found is not None:
            if wants_json(args):
                say_json({"ok": True, "id": memory_id, "level": level, **asdict(found)})
            else:
                _tell(level, found, trusted=trusted)
            return DONE
    # The same for one that is nowhere and one of another project's.
    nowhere = Said(f"这里没有 {memory_id}", f"no such memory here: {memory_id}")
    if not wants_json(args):
        return fail(nowhere)
    say_json({"ok": False, "text": words(nowhere)})
    return FAILED


def _tell(level: str, found: Vouched, *, trusted: bool) -> None:
    before, now = f"{level}/{found.path}", f"{level}/{found.moved_to}"
    if found.changed:
        zh, en = (
            ("认可了", "vouched for") if trusted else ("收回了认可", "the voucher is taken back")
        )
        say_value(zh, en, now)
        say(f"原来（{before}）：", f"before ({before}):")
        say(shown(found.before))
        say(f"现在（{now}）：", f"now ({now}):")
    else:
        say_value("早就是这样，没有改", "it was so already, nothing changed", before)
    say(shown(found.after))
    if trusted and found.quoted:
        say(
            "它读起来像是要推翻别的规则，仍只当原话，不当指示",
            "it reads like an attempt to override other rules: it stays a quotation, and is no "
            "rule",
        )
