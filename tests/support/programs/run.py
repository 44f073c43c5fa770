"""Runs a script that imports the checkout by its package's name.

python run.py SCRIPT ARGUMENTS
"""

import runpy
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "scripts"))
import checkout

checkout.register()
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
