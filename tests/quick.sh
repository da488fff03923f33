#!/usr/bin/env bash
# The part of the tests under two minutes: what can be said without a stack. Runs in the workbench image.
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=compose/parts.sh
. compose/parts.sh
# shellcheck source=tests/halves.sh
. tests/halves.sh
say() { printf '\n== %s\n' "$*"; }

say "lint: Python"
ruff check --no-cache .
ruff format --no-cache --check workbench labs template tests notebooks
say "lint: shell"
git ls-files --cached --others --exclude-standard | while read -r file; do
  case $file in *.sh | .ci/run) echo "$file" ;; esac
done | xargs shellcheck
say "lint: Dockerfiles"
# Debian's packages are pinned by their suite: a version of its own would vanish with the next point release.
git ls-files --cached --others --exclude-standard '*Dockerfile' | xargs hadolint --failure-threshold warning --ignore DL3008 --ignore DL3006
say "lab.toml"
python -m workbench labs
say "unit tests, compose files and notebooks, in two halves side by side"
# What talks over loopback shares its ports, so it stays in one half; what asks compose for its models is the other, which asks once.
half=(tests/test_{invariants,learner,matrix,notebooks}.py)
halves -m "not stack and not many" "${half[@]}" -- -m "not stack and not many" "${half[@]/#/--ignore=}"
