#!/bin/sh
# profile.sh EVENT REQUESTS: profiles this JVM with async-profiler while the client answers, and prints collapsed stacks,
# and how much compiled code the JVM dropped meanwhile ("made not entrant" in its log).
# EVENT: wall, java.lang.Thread.start (a method, instrumented), JVM_StartThread (the JVM's own function), or none.
set -eu
[ $# = 2 ] || { echo "usage: profile.sh wall|java.lang.Thread.start|JVM_StartThread|none REQUESTS" >&2; exit 2; }

library=/opt/profiler/linux-x64/libasyncProfiler.so
out=/run/service/profile.collapsed log=/run/service/compilation.log
for process in /proc/[0-9]*; do
  [ "$(cat "$process/comm" 2>/dev/null)" != java ] || jvm=${process#/proc/}
done

tell() { jattach "$jvm" "$@" >/run/service/jattach.log 2>&1 || { tail -n 2 /run/service/jattach.log >&2; exit 1; }; }
dropped() { grep -c 'made not entrant' "$log" || :; }

# For a clock the interval is a time; for events it is a number of them, and every one is wanted.
every=''
[ "$1" != wall ] || every=,interval=2ms
tell jcmd "VM.log output=$log what=jit+compilation=debug"
before=$(dropped)
if [ "$1" != none ]; then
  tell load "$library" true "start,event=$1$every,file=$out"
  # Whatever becomes of the requests, the profiler shall not stay on.
  trap 'tell load "$library" true "stop,file=$out,collapsed"' EXIT
fi
curl --insecure --silent --show-error --fail-with-body --output /run/service/answer "https://localhost:8443/bench?n=$2" \
  || { cat /run/service/answer >&2; exit 1; }
if [ "$1" != none ]; then
  trap - EXIT
  tell load "$library" true "stop,file=$out,collapsed"
  cat "$out"
fi
echo "# made not entrant: $(($(dropped) - before))"
