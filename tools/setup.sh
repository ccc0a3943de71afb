#!/usr/bin/env bash
# Make .venv with the pinned packages. Needs nothing but Python 3.11 or newer; runs again only when the lock changes.
set -euo pipefail
cd "$(dirname "$0")/.."
VENV=${VENV:-.venv}

find_python() {
  for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11 python; do
    command -v "$candidate" >/dev/null 2>&1 || continue
    "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo "$candidate"; return; }
  done
  cat >&2 <<'EOM'
panewise needs Python 3.11 or newer and found none.
  Debian 12+, Ubuntu 24.04+:  sudo apt-get install python3 python3-venv
  or name one:                make test PYTHON=/path/to/python3.12
EOM
  exit 1
}

python=$(find_python)
if [ ! -x "$VENV/bin/python" ]; then
  echo "Creating $VENV with $("$python" --version)"
  if ! "$python" -m venv "$VENV" >/tmp/panewise-venv.$$ 2>&1; then
    rm -rf "$VENV"
    # Debian splits venv from Python; virtualenv does the same job where someone has it.
    if ! { "$python" -m virtualenv -q "$VENV" 2>/dev/null; }; then
      cat >&2 <<EOM
$python cannot make a virtual environment:
$(sed 's/^/  /' /tmp/panewise-venv.$$ | head -5)
Get the missing piece with:  make system   (apt-get: python3-venv and a Java runtime)
EOM
      rm -f /tmp/panewise-venv.$$
      exit 1
    fi
  fi
  rm -f /tmp/panewise-venv.$$
fi
echo "Installing the pinned packages (the first time this takes a minute or two)"
# The lock is complete, so nothing is left to resolve: older pips would look for coverage[toml] anew, find a release that
# is younger than the lock, and refuse it for want of a hash.
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.lock
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -e .
touch "$VENV/.ready"
