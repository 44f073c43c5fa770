"""Numbers of on-disk formats: a newer one is refused, what an older one lacks is added."""
