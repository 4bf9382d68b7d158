#!/usr/bin/env bash
# Builds mmconv and checks what it writes with fitsverify and astropy: see verify-outputs.py, which also takes names of
# cases. Looks for the tools where .ci/run puts them, then on the PATH; says what is missing, and fails, rather than
# check less.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/.."
target=${CARGO_TARGET_DIR:-target}
tools=$target/tools

PATH="$tools/bin:$PATH"
if ! command -v fitsverify >/dev/null; then
    echo "fitsverify is missing: apt-get install fitsverify, or run .ci/run once" >&2
    exit 1
fi

python=
for candidate in "${PYTHON:-}" "$tools/venv/bin/python" python3; do
    if [ -n "$candidate" ] && "$candidate" -c 'import astropy, numpy' 2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -z "$python" ]; then
    echo "no python3 with numpy and astropy: pip install numpy astropy, or run .ci/run once" >&2
    exit 1
fi

if [ -z "${MMCONV:-}" ]; then
    cargo build --release
    MMCONV=$target/release/mmconv
fi
"$python" "$here/smoothed.py"
MMCONV=$MMCONV "$python" "$here/verify-outputs.py" "$@"
