#!/usr/bin/env bash
# gate.sh LAB: every scenario of a lab, then each of them as a learner writes it, every cheat, and its live interview. Runs in the workbench.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=compose/parts.sh
. compose/parts.sh
part python -m workbench run "$1" --scenario all
part python -m pytest -m stack -v tests/stack/test_by_hand.py tests/stack/test_live_interview.py --every --only "$1"
