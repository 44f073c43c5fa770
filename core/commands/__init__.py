"""The commands of ``/memory``: text in, text out."""
