"""What lies on the disk carries a format number: read, refused, upgraded here.

A change of a format is a new number, a step from the old one, and a new folder in ``tests/data``.
"""
