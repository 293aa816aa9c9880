#!/bin/sh
# Make the environment from a lock: PYTHON=python3 VENV=.venv install.sh base|dev
# Does nothing when it was made from this very lock before.
set -eu
cd "$(dirname "$0")/.."
kind=$1
version=$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

stamp_of() { echo "$VENV/.apportion-$1"; }
wanted_for() { echo "$version $(cksum <"requirements/$1.lock")"; }
is_current() { [ -f "$(stamp_of "$1")" ] && [ "$(cat "$(stamp_of "$1")")" = "$(wanted_for "$1")" ]; }
works() { "$VENV/bin/python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$version')"; }

if works 2>/dev/null; then
    # What tests need includes what running needs.
    if is_current dev || { [ "$kind" = base ] && is_current base; }; then
        exit 0
    fi
else
    echo "Making $VENV with Python $version"
    rm -rf "$VENV"
    if ! "$PYTHON" -m venv "$VENV"; then
        rm -rf "$VENV"
        echo "$PYTHON cannot make environments; on Debian: apt-get install python3-venv" >&2
        exit 1
    fi
fi
echo "Installing requirements/$kind.lock into $VENV (once; later starts skip this)"
rm -f "$(stamp_of "$kind")"
"$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --no-input \
    --require-hashes --only-binary :all: --requirement "requirements/$kind.lock"
wanted_for "$kind" >"$(stamp_of "$kind")"
