#!/bin/sh
# dump.sh: what every thread of this JVM is doing.
set -eu
for process in /proc/[0-9]*; do
  [ "$(cat "$process/comm" 2>/dev/null)" != java ] || jvm=${process#/proc/}
done
jattach "$jvm" threaddump
