#!/usr/bin/env bash
# Everything: the quick part, then the real stack. Runs in the workbench image, with the engine's socket.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tests/quick.sh
printf '\n== the browser that looks at the notebooks\n'
bash compose/browser.sh >/dev/null
printf '\n== the real stack: the gate, the box, the interruptions\n'
python -m pytest -m stack -v --durations 30 --durations-min 1
