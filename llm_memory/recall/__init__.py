"""One hybrid search: arms, order, decision, rerank, choice, explanation.

Entry: ``MemoryManager.comprehensive_recall``, which takes an already resolved scope filter.
"""
