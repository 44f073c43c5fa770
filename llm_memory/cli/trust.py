"""``trust``: the owner vouches for what an agent logged."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from ..home.agent_stores import chosen_project, scopes_of
from ..remember.vouching import HomeVouchers, Vouched, Voucher
from ..storage.formats.store_formats import StoreFormats
from ..texts import Said
from .home_flags import project_folder, read_settings, wants_json
from .messages import DONE, FAILED, fail, say, show, show_json, shown, warn, words
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
        StoreFormats(paths.memory, plugin_version()).check()
        vouchers = None if paths.owns_memory else HomeVouchers(paths.state)
        found = Voucher(paths.memory, store.scope, vouchers).vouch(memory_id, trusted=trusted)
        if found is not None:
            if wants_json(args):
                show_json({"ok": True, "id": memory_id, "level": level, **asdict(found)})
            else:
                _tell(level, found, trusted=trusted)
            return DONE
    # The same for one that is nowhere and one of another project's.
    nowhere = Said("memories.not_here", id=memory_id)
    if not wants_json(args):
        return fail(nowhere)
    show_json({"ok": False, "text": words(nowhere)})
    return FAILED


def _tell(level: str, found: Vouched, *, trusted: bool) -> None:
    before, now = f"{level}/{found.path}", f"{level}/{found.moved_to}"
    if found.changed:
        say("memories.vouched" if trusted else "memories.unvouched", path=now)
        say("memories.before", path=before)
        show(shown(found.before))
        say("memories.now", path=now)
    else:
        say("memories.same", path=before)
    show(shown(found.after))
    if trusted and found.quoted:
        say("memories.quoted")
