"""``build_engine``: one over real parts; and what works on a store that no program has open."""
