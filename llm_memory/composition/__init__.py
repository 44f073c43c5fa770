"""An ``Engine`` over real parts, and what works on a store while no program has it open.

Entry: ``build_engine``.
"""
