"""The MCP inspector and the Node that runs it, in `.node/`, for the tests that need them.

    python scripts/inspector.py

npm fetches both: the inspector asks for a newer Node than many systems have, and the npm package
`node` brings one. Where there is no npm, or it fails, one line says so, the exit status is 0 all
the same, and the tests that need the inspector are skipped.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".node"
INSPECTOR = "@modelcontextprotocol/inspector"
PACKAGE = {
    "private": True,
    "dependencies": {INSPECTOR: "2", "node": "22"},
    # Later releases of npm run no install script that is not named here; node's brings the program.
    "allowScripts": {INSPECTOR: False, "node": True},
}
INSTALL = (
    "install",
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
    "--ignore-scripts=false",  # a setting of the machine's would keep Node away
    "--engine-strict=false",  # it is not the system's Node that runs the inspector
)
SECONDS = 300


def prepare(folder: Path = FOLDER) -> str:
    """Install both if they are not there; an empty string, or why there is no inspector."""
    if command(folder) is not None:
        return ""
    npm = shutil.which("npm")
    if npm is None:
        return "there is no npm on the PATH"
    print(f"setting up {folder} (the MCP inspector) ...", flush=True)
    shutil.rmtree(folder, ignore_errors=True)  # half filled, or filled for an older commit
    try:
        folder.mkdir(parents=True)
        (folder / "package.json").write_text(_wanted(), encoding="utf-8")
        done = _run([npm, *INSTALL], folder)
        if done.returncode == 0:
            done = _run([*_command(folder), "--version"], folder)
        if done.returncode == 0:
            _stamp(folder).write_text(_wanted(), encoding="utf-8")
            return ""
    except (OSError, subprocess.SubprocessError) as error:
        return f"npm could not install it: {type(error).__name__}"
    said = done.stderr.strip().splitlines() or ["no word"]
    return f"npm could not install it: {said[0]}"


def command(folder: Path = FOLDER) -> list[str] | None:
    """What to put before `--cli` and its arguments; None where `prepare` has not installed it."""
    try:
        ready = _stamp(folder).read_text(encoding="utf-8") == _wanted()
    except OSError:
        return None
    return _command(folder) if ready else None


def _command(folder: Path) -> list[str]:
    modules = folder / "node_modules"
    node = modules / "node" / "bin" / ("node.exe" if os.name == "nt" else "node")
    # Not node_modules/.bin/mcp-inspector: it takes the first Node on the PATH.
    launcher = modules / INSPECTOR / "clients" / "launcher" / "build" / "index.js"
    return [str(node), str(launcher)]


def _stamp(folder: Path) -> Path:
    return folder / ".ready"


def _wanted() -> str:
    return json.dumps(PACKAGE, indent=2)


def _run(program: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        program,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=SECONDS,
        check=False,
    )


if __name__ == "__main__":
    if len(sys.argv) != 1:
        sys.exit("usage: python scripts/inspector.py")
    reason = prepare()
    if reason:
        print(f"no MCP inspector, its tests will be skipped: {reason}", flush=True)
