"""Roles of a project: one holder at a time, and what its sessions leave in ``roles/<role>/``."""
