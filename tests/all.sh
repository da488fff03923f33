#!/usr/bin/env bash
# Everything: the quick part, then the real stack. Runs in the workbench image, with the engine's socket.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=compose/parts.sh
. compose/parts.sh
# shellcheck source=tests/halves.sh
. tests/halves.sh
part bash tests/quick.sh
printf '\n== fifty interviews of every lab, and its replay, in two halves side by side\n'
half='health_check_storm or nbproc_ssl'
many=(-q -m many --seeds 50 tests/test_interviews.py tests/test_command.py)
halves "${many[@]}" -k "$half" -- "${many[@]}" -k "not ($half)"
printf '\n== the browser that looks at the notebooks\n'
part bash compose/browser.sh >/dev/null
printf '\n== the real stack: the gate, the box, the interruptions\n'
part python -m pytest -m stack -v --durations 30 --durations-min 1
