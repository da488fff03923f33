#!/usr/bin/env bash
# The interviewer's commands.
#
# interview.sh make LAB FOR SEED OUT LIVE   two archives into the folder OUT: candidate.zip and interviewer.zip; LIVE=yes: with the stack
# interview.sh grade ANSWERS KEY       points for a filled sheet; without KEY it is looked for beside the sheet and in interviews/
#
# Files go through a pipe: they may lie anywhere, and the workbench sees the repository only.
set -euo pipefail
here=$PWD
cd "$(cd "$(dirname "$0")/.." && pwd -P)"

part=interview
# shellcheck source=compose/say.sh
. compose/say.sh

make_one() {
  local lab=$1 whom=$2 seed=$3 live=${5:+--live}
  out=$4
  [[ $whom =~ ^[[:alnum:]][[:alnum:]\ ._-]{0,39}$ ]] || die "FOR=$whom: whom is it for? up to 40 letters, digits, spaces, dots and dashes"
  out=$(from_here "${out:-interviews/${whom// /-}}")
  for archive in candidate.zip interviewer.zip; do
    [ ! -e "$out/$archive" ] || die "$out/$archive: there already; take another OUT, or move it away"
  done
  { mkdir -p "$out" 2>/dev/null && [ -w "$out" ]; } || die "$out: $(me) cannot write there; take another OUT"
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"; rmdir "$out" 2>/dev/null || :' EXIT
  trap 'exit 130' INT TERM HUP
  bash compose/workbench.sh python -m workbench interview --for "$whom" --lab "$lab" --seed "$seed" ${live:+"$live"} >"$fresh/both.tar"
  tar -x -m -f "$fresh/both.tar" -C "$fresh"
  mv "$fresh/candidate.zip" "$fresh/interviewer.zip" "$out/"
  say "$out/candidate.zip is for the candidate, $out/interviewer.zip for you alone"
}

grade_one() {
  local answers=$1 key=$2 number=0 each
  [ -n "$answers" ] || die "which sheet? make grade ANSWERS=file"
  answers=$(from_here "$answers")
  [ -f "$answers" ] || die "$1: no such file"
  [ -r "$answers" ] || die "$1: cannot be read by $(me)"
  fresh=$(mktemp -d)
  trap 'rm -rf "$fresh"' EXIT
  trap 'exit 130' INT TERM HUP
  # Apart from the keys: a candidate brings none of his own.
  mkdir "$fresh/handed-in" "$fresh/keys"
  case $answers in
    *.tar.gz) tar -x -z -f "$answers" -C "$fresh/handed-in" 2>/dev/null || die "$1: not an archive that make hand-in made" ;;
    *) cp "$answers" "$fresh/handed-in/answers.toml" ;;
  esac
  if [ -n "$key" ]; then
    key=$(from_here "$key")
    [ -r "$key" ] || die "$2: no such file, or not to be read by $(me)"
    cp "$key" "$fresh/keys/0.zip"
  else
    for each in "$(dirname "$answers")/interviewer.zip" interviews/*/interviewer.zip; do
      [ ! -r "$each" ] || cp "$each" "$fresh/keys/$((number++)).zip"
    done
  fi
  tar -c -f - -C "$fresh" . | bash compose/workbench.sh python -m workbench grade "$1"
}

case ${1:-} in
  make) make_one "${2:-}" "${3:-}" "${4:-}" "${5:-}" "${6:-}" ;;
  grade) grade_one "${2:-}" "${3:-}" ;;
  *) die "make or grade?" ;;
esac
