"""Builds an ``Engine`` from real parts: the only package that knows which class stands behind
which port.

Entry: ``build_engine``.
"""
