"""Recall by some of its arms, to compare them: no topic, person, date or reranker has a say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace

from astrbot_plugin_scoped_memory.llm_memory import ConversationId, Engine, Recall
from astrbot_plugin_scoped_memory.llm_memory.errors import IndexUnavailable
from astrbot_plugin_scoped_memory.llm_memory.index.records import WordMatches, WordQuery
from astrbot_plugin_scoped_memory.llm_memory.index.word_index import WordIndex
from astrbot_plugin_scoped_memory.llm_memory.models.passages import Passage
from astrbot_plugin_scoped_memory.llm_memory.models.recall import Arm
from astrbot_plugin_scoped_memory.llm_memory.models.scope import ScopeFilter
from astrbot_plugin_scoped_memory.llm_memory.models.turns import ContextLine
from astrbot_plugin_scoped_memory.llm_memory.recall.find import CandidateFinder
from astrbot_plugin_scoped_memory.llm_memory.recall.memory_manager import MemoryManager, Reranking
from astrbot_plugin_scoped_memory.llm_memory.recall.question import Ask, RecallRequest
from astrbot_plugin_scoped_memory.llm_memory.recall.whole_answers import Whole, WholeAnswers


async def recall_by(
    engine: Engine,
    arms: Collection[Arm] | None,
    query: str,
    conversation_id: ConversationId,
    *,
    limit: int = 5,
    token_budget: int = 9999,
    context: Sequence[ContextLine] = (),
    in_talk: bool = False,
) -> Recall:
    """LEXICAL, DENSE, or both, whatever the embedder is trusted; None for recall as it is. What is
    compared is neither explained nor counted as shown."""
    if arms is None:
        return await engine.service.recall(
            query,
            conversation_id=conversation_id,
            limit=limit,
            token_budget=token_budget,
            context=context,
            in_talk=in_talk,
        )
    parts = engine.parts
    alone = _ArmsAlone(parts.manager, arms)
    seen = parts.gate.look(conversation_id).seen
    request = RecallRequest(
        query, seen, limit, token_budget, context=tuple(context), in_talk=in_talk
    )
    return await alone.comprehensive_recall(request)


class _ArmsAlone(MemoryManager):
    """The parts of another, but for what asks the arms."""

    def __init__(self, manager: MemoryManager, arms: Collection[Arm]) -> None:
        vars(self).update(vars(manager))
        self._finder = _FinderBy(self._finder, arms)
        self._reranking = Reranking(None, self._settings)
        self.explanations = replace(manager.explanations, log=[])
        self.uses = replace(manager.uses, _counts=Counter(), _unwritten=Counter())


class _NothingWhole(WholeAnswers):
    async def of(self, ask: Ask) -> Whole:
        return Whole()


class _NoWords(WordIndex):
    def __init__(self) -> None:
        """Nothing is searched."""

    async def search(self, query: WordQuery, scope_filter: ScopeFilter, k: int) -> WordMatches:
        raise IndexUnavailable("not asked", code="not_ready")

    def newest(self, count: int) -> list[Passage]:
        return []


class _FinderBy(CandidateFinder):
    def __init__(self, finder: CandidateFinder, asked: Collection[Arm]) -> None:
        vars(self).update(vars(finder))
        self._asked = asked
        self._whole = _NothingWhole(*vars(self._whole).values())
        if Arm.LEXICAL not in asked:
            self._lexical = _NoWords()

    def trusts(self, ask: Ask) -> bool:
        return Arm.DENSE in self._asked
