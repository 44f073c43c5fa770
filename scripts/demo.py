"""Plays the story in a real AstrBot: `python scripts/demo.py [--exit] [--keep DIR] [--port N]`."""

import sys

import checkout

if __name__ == "__main__":
    checkout.register()
    from astrbot_plugin_scoped_memory.harness.demo import main

    sys.exit(main())
