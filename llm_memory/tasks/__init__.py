"""Tasks of a scope: what is to do, and what is done."""
