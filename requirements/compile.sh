#!/bin/sh
# Renew both locks: requirements/compile.sh [--upgrade]. Wants pip-tools in .venv.
# The locks hold names, versions and hashes only: no address, no path of this machine.
set -eu
cd "$(dirname "$0")/.."
for name in base dev; do
    .venv/bin/pip-compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
        --no-emit-index-url --no-emit-find-links --no-emit-trusted-host --no-emit-options \
        "$@" --output-file "requirements/$name.lock" "requirements/$name.in"
done
if grep -nE '://|--index|--find-links|/opt/|\+(cpu|local)' requirements/*.lock; then
    echo "A lock names an index, a path or a local build." >&2
    exit 1
fi
