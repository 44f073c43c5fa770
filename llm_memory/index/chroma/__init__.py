"""Chroma, where vectors are stored: a folder of ours, or a server of the owner's."""
