"""Drives a real AstrBot from outside: a scripted model, a OneBot client, the panel.

The demo and the end-to-end tests share it. Everything listens on loopback only, and nothing
here imports AstrBot or the plugin.
"""
