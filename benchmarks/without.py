"""Recall without one of its mechanisms, to see what that one is worth.

While a mechanism is out, its public function is replaced by one that does nothing, wherever the
engine has bound it. Nothing is fitted anew: what a fit without it would gain back does not show.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from inspect import getattr_static
from types import MappingProxyType
from typing import Any, Final
from unittest import mock

from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.asked import Talk
from astrbot_plugin_scoped_memory.llm_memory.recall.rules.order import FEATURES
from astrbot_plugin_scoped_memory.llm_memory.text.normalising import preview

PACKAGE: Final = "astrbot_plugin_scoped_memory.llm_memory"

type Stand = Callable[[Any], Callable[..., Any]]
"""From the real function to what stands in its place."""


def _gives(value: object) -> Stand:
    return lambda real: lambda *given, **named: value


def _first(real: Any) -> Callable[..., Any]:
    return lambda first, *given, **named: first


def _with(change: Callable[[Any], Any]) -> Stand:
    """What the real one gives, changed."""
    return lambda real: lambda *given, **named: change(real(*given, **named))


def _unavailable(real: Any) -> Callable[..., Any]:
    async def found(*given: Any) -> None:
        raise IndexUnavailable("left out", code="not_ready")

    return found


def _times_unread(real: Any) -> Callable[..., Any]:
    def read(request: Any, *given: Any) -> Any:
        ask = real(request, *given)
        return ask if request.on else replace(ask, times=(), subject=ask.text)

    return read


READ: Final = "recall.question:read_question"
TALK: Final = "recall.rules.asked:talk_for"
WITHOUT: Final[Mapping[str, tuple[str, Stand]]] = MappingProxyType({
    # What is asked.
    "parts": ("recall.rules.asked:parts_of", lambda real: lambda message: (message,)),
    "times": (READ, _times_unread),
    "asker": (READ, _with(lambda ask: replace(ask, asker=frozenset()))),
    "shape": (READ, _with(lambda ask: replace(ask, asks=True))),
    "talk": (TALK, _gives(Talk())),
    "around": (TALK, _with(lambda talk: replace(talk, around=""))),
    "pointed": (TALK, _with(lambda talk: replace(talk, pointed=""))),
    "carried": (TALK, _with(lambda talk: Talk() if talk.carried else talk)),
    "stop-words": (
        "text.tokenizer:Tokenizer.query_tokens", lambda real: lambda self, text: self.tokens(text),
    ),
    "word-weights": ("index.question:says", _gives(0.5)),
    # What is found.
    "heads": ("recall.rules.asked:asked_for", _gives(None)),
    "days": ("recall.rules.asked:asked_of_days", _gives(None)),
    "of-days": ("recall.whole_answers:WholeAnswers.said_on", _gives(())),
    "lexical": ("index.word_index:WordIndex.search", _unavailable),
    "dense": ("index.semantic:Semantic.neighbours", _unavailable),
    "asks": ("catalogue.rules.passage_text:asks_text", _gives("")),
    "only-asks": ("recall.rules.asked:only_asks", _gives(False)),
    "neighbours": ("index.scoring:beside", _first),
    "rarity": (
        "index.question:Question.weights",
        lambda real: lambda self, *given: [self.factors.get(term, 0.0) for term in self.terms],
    ),
    "long-texts": (
        "index.scoring:coverage",
        lambda real: lambda *given: real(*given[:3], given[3] * 0, *given[4:]),
    ),
    # How it is weighed.
    "trust": ("recall.embedder_trust:EmbedderTrust.weight", _gives(1.0)),
    "common-part": ("recall.embedder_trust:EmbedderTrust.common", _gives(())),
    "trust-scale": (
        "recall.embedder_trust:EmbedderTrust.chance", _with(lambda chance: (0.0, chance[1])),
    ),
    "uses": ("recall.afterwards:UseCounts.of", _gives(0)),
    **{
        name: ("recall.rules.order:terms", _with(lambda terms, name=name: terms | {name: 0.0}))
        for name in FEATURES
    },
    # Whether anything is said.
    "probe": ("recall.weights:RecallWeights.probe", _gives(0.0)),
    "length": (
        "recall.weights:RecallWeights.chance",
        lambda real: lambda self, trust, values: real(self, trust, values | {"length": 0.5}),
    ),
    "within": (
        "recall.rules.order:decide",
        lambda real: lambda weights, *given, **named: real(
            replace(weights, within=100.0), *given, **named
        ),
    ),
    # What is done with the order.
    "closed": ("recall.rules.tell_once:closed_last", _first),
    "same-fact": ("recall.rules.tell_once:merge_same_facts", _first),
    "newer": ("recall.rules.tell_once:newer_first", _first),
    "brief-days": (
        "recall.rules.order:choose",
        lambda real: lambda *given, **named: real(*given, **named | {"briefly": False}),
    ),
    "excerpt": (
        "recall.rules.order:excerpt", lambda real: lambda text, _, limit: preview(text, limit),
    ),
})  # fmt: skip
"""By the name of the mechanism: a function of the engine, as module:name below ``llm_memory``, and
what stands in its place."""


@contextmanager
def without(names: Iterable[str]) -> Iterator[Counter[str]]:
    """Recall without these mechanisms; what is given counts how often each was missed.

    Raises:
        ValueError: there is no mechanism of such a name; or its function is gone.
    """
    missed: Counter[str] = Counter()
    with ExitStack() as swaps:
        for name in names:
            if name not in WITHOUT:
                raise ValueError(f"nothing is called {name!r}: {', '.join(sorted(WITHOUT))}")
            target, stand = WITHOUT[name]
            for owner, attribute, kept in _swapped(name, target, stand, missed):
                swaps.enter_context(mock.patch.object(owner, attribute, kept))
        yield missed


def _swapped(
    name: str, target: str, stand: Stand, missed: Counter[str]
) -> Iterator[tuple[Any, str, Any]]:
    """Whose attributes are replaced, and by what: of a function those of all modules of the engine
    that have it."""
    module_name, _, path = target.partition(":")
    *classes, attribute = path.split(".")
    try:
        owner: Any = import_module(f"{PACKAGE}.{module_name}")
        for one in classes:
            owner = getattr(owner, one)
        found = getattr_static(owner, attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"{name}: the engine has no {target}") from error
    real = getattr(owner, attribute)
    instead = stand(real)

    def counted(*given: Any, **named: Any) -> Any:
        missed[name] += 1
        return instead(*given, **named)

    if classes:
        yield (
            owner,
            attribute,
            staticmethod(counted) if isinstance(found, staticmethod) else counted,
        )
        return
    for key, module in list(sys.modules.items()):
        if key.startswith(PACKAGE) and vars(module).get(attribute) is real:
            yield module, attribute, counted
