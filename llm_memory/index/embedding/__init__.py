"""Embedding models: bundled, local, or a provider's, and the checks around them."""
