"""Numbers of on-disk formats, and the steps between them."""
