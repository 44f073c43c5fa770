#!/usr/bin/env bash
# Prints the first Python >= 3.12 that runs. Candidates are tried, not looked up: a `python3.12` on the PATH can be a
# version manager's shim that fails. PYTHON, if set, is asked first.
set -u
shopt -s nullglob

# Folders with one folder per version. HOME can be a fresh one: the shims on the PATH still know where pyenv lives.
stores=("${PYENV_ROOT:-$HOME/.pyenv}/versions" "${UV_PYTHON_INSTALL_DIR:-$HOME/.local/share/uv/python}")
IFS=: read -r -a path <<<"$PATH"
for folder in "${path[@]}"; do
  case "$folder" in */shims | */shims/) stores+=("${folder%/shims*}/versions") ;; esac
done

candidates=("${PYTHON:-}" python3.12 python3.13 python3.14 python3 python)
for version in 3.12 3.13 3.14; do
  for store in "${stores[@]}"; do
    candidates+=("$store"/"$version"*/bin/python "$store"/cpython-"$version"*/bin/python)
  done
  candidates+=("/usr/local/bin/python$version" "/opt/homebrew/bin/python$version")
done

# venv and ensurepip: a distribution can ship a Python that cannot make an environment.
check='import sys, venv, ensurepip; assert sys.version_info >= (3, 12); print(sys.executable)'
for candidate in "${candidates[@]}"; do
  [ -n "$candidate" ] || continue
  if found=$("$candidate" -c "$check" 2>/dev/null </dev/null) && [ -n "$found" ]; then
    printf '%s\n' "$found"
    exit 0
  fi
done
echo "No Python >= 3.12 found. Install one, or say which: make PYTHON=/path/to/python" >&2
exit 1
