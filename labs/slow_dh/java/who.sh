#!/bin/sh
# who.sh SECONDS: which security provider serves a key pair, and to whom, while that time passes: JFR's
# jdk.SecurityProviderService, which Java 11 has not.
set -eu
[ $# = 1 ] || { echo "usage: who.sh SECONDS" >&2; exit 2; }
case $JRE in
  11.* | 17.*) echo "who: Java $JRE has no jdk.SecurityProviderService; 21.0.8 has (JRE in compose.yaml)" >&2; exit 2 ;;
esac
for process in /proc/[0-9]*; do
  [ "$(cat "$process/comm" 2>/dev/null)" != java ] || jvm=${process#/proc/}
done
recording=/run/service/who.jfr
jattach "$jvm" jcmd "JFR.start name=who settings=none +jdk.SecurityProviderService#enabled=true +jdk.SecurityProviderService#stackTrace=true" >/dev/null
sleep "$1"
jattach "$jvm" jcmd "JFR.stop name=who filename=$recording" >/dev/null
"/opt/jre/$JRE/bin/jfr" print --stack-depth 12 --events SecurityProviderService "$recording" \
  | awk 'BEGIN { RS = ""; ORS = "\n\n" } /type = "KeyPairGenerator"/'
rm "$recording"
