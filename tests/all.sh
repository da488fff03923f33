#!/usr/bin/env bash
# Everything: the quick part, then the real stack. Runs in the workbench image, with the engine's socket.
set -euo pipefail
cd "$(dirname "$0")/.."
bash tests/quick.sh
printf '\n== fifty interviews of every lab, in two halves side by side\n'
half='health_check_storm or nbproc_ssl'
meanwhile=$(mktemp)
python -m pytest -q -m many --seeds 50 -k "$half" tests/test_interviews.py >"$meanwhile" 2>&1 &
other=$!
result=0
python -m pytest -q -m many --seeds 50 -k "not ($half)" tests/test_interviews.py || result=$?
wait $other || result=$?
cat "$meanwhile"
rm "$meanwhile"
[ "$result" = 0 ]
printf '\n== the browser that looks at the notebooks\n'
bash compose/browser.sh >/dev/null
printf '\n== the real stack: the gate, the box, the interruptions\n'
python -m pytest -m stack -v --durations 30 --durations-min 1
