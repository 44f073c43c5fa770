"""``soul``: the owner reads and changes the manner that a bot's persona has learned."""

from __future__ import annotations

import argparse
import asyncio
from dataclasses import asdict

from ..catalogue.rules.soul_replies import outcome_words, request_of, view_words
from ..composition.engine import build_engine
from ..errors import EngineOff
from ..models.conversation import Actor
from ..models.data_models import Refused
from ..models.scope import ROLES_FOLDER, SOUL_FOLDER
from ..models.soul import SoulEvolution, SoulOutcome, SoulVerified, SoulView, soul_folder
from ..service.paths import EnginePaths
from .messages import DONE, FAILED, Refusal, show, show_json, shown, texts
from .paths import BotStore, plugin_version


def soul(args: argparse.Namespace, store: BotStore) -> int:
    """Carry out one of the actions, by the rules alone. A bot that runs is asked in a chat."""
    _check_role(store.paths, args.role)
    try:
        outcome = asyncio.run(_outcome(args, store))
    except EngineOff as error:
        if error.code != "directory_in_use":
            raise
        raise Refusal("cli.soul_in_use", line=f"/memory soul {args.action}") from error
    wrong = isinstance(outcome, Refused) or (isinstance(outcome, SoulVerified) and outcome.line > 0)
    code = FAILED if wrong else DONE
    if args.json:
        show_json({"code": code, "outcome": type(outcome).__name__, **asdict(outcome)})
        return code

    def how(action: str) -> str:
        role = f' --role "{args.role}"' if args.role else ""
        return f"scoped-memory soul {action}{role}"

    if isinstance(outcome, SoulView):
        off = store.settings().soul_evolution is SoulEvolution.OFF
        said = view_words(texts(), outcome, how, all_of_it=True, off=off)
    else:
        said = outcome_words(texts(), outcome, how)
    show(shown(said), failed=wrong)
    return code


async def _outcome(args: argparse.Namespace, store: BotStore) -> SoulOutcome:
    about = getattr(args, "wish", "") or getattr(args, "number", None) or ""
    request = request_of(args.action, str(about))
    if request is None:
        raise Refusal("cli.no_wish")
    async with build_engine(
        store.paths, store.settings(), version=plugin_version(), remembers=False
    ) as engine:
        return await engine.service.souls.ask(request, args.role, Actor("", "", admin=True))


def _check_role(paths: EnginePaths, persona: str) -> None:
    """Raises Refusal for a persona that has no folder: a soul is not begun for a slip."""
    tops = [paths.memory / name for name in (ROLES_FOLDER, SOUL_FOLDER)]
    if not persona or any((top / soul_folder(persona)).is_dir() for top in tops):
        return
    known = sorted({one.name for top in tops if top.is_dir() for one in top.iterdir()})
    there = ", ".join(known) or "-"
    raise Refusal("cli.no_persona", persona=persona, known=there)
