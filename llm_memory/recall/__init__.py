"""One hybrid search: arms, fusion, floor, rerank, choice, explanation.

Entry: ``MemoryManager.comprehensive_recall``, which takes an already resolved scope filter.
"""
