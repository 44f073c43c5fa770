"""Builds an ``Engine`` from real parts, and wires the packages below.

Entry: ``build_engine``.
"""
