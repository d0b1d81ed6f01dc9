#!/bin/sh
# Installs Node (20 or newer), npm and a Chromium if missing, for `make test-web`, without asking for a password.
# A Chromium elsewhere than on PATH is named in CHROMIUM.
set -eu
"$(dirname "$0")/node.sh"
has_chromium() {
    command -v "${CHROMIUM:-chromium}" >/dev/null
}
has_chromium || "$(dirname "$0")/install.sh" chromium >&2 || true
has_chromium || { echo "browser: chromium is missing: install it, or say where one is in CHROMIUM" >&2; exit 1; }
