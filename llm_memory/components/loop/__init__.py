"""What the memory loop keeps, in ``state/loop.sqlite``."""
