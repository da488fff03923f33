#!/bin/sh
# The way to the instance, with the tracking that its size and its security group bring; every second what has passed and
# what was lost, how many a second the instance bears (0: any), and whether it answers when it is asked past the tracking.
set -eu
case $INSTANCE in
  c3.large) rate=225 burst=450 ;;
  c3.xlarge) rate=2500 burst=5000 ;;
  *) echo "INSTANCE=$INSTANCE: c3.large or c3.xlarge" >&2; exit 2 ;;
esac
case $SECURITY_GROUP in
  mesh-port) tracking=/opt/tracking.nft bears=$rate ;;
  allow-all) tracking='' bears=0 ;;
  *) echo "SECURITY_GROUP=$SECURITY_GROUP: mesh-port or allow-all" >&2; exit 2 ;;
esac
address=$(getent ahostsv4 instance-a | awk '{ print $1; exit }')
# shellcheck disable=SC2086
sed -e "s/{instance}/$address/; s/{rate}/$rate/; s/{burst}/$burst/" /opt/way.nft $tracking | nft -f -
while sleep 1; do
  answers=$(curl --silent --max-time 1 --output /dev/null --write-out '%{http_code}' "http://$address:8080/" || :)
  nft list counters | awk -v now="$(date +%s.%N)" -v answers="$answers" -v bears="$bears" '
    $1 == "counter" { name = $2 }
    $1 == "packets" { packets[name] = $2 }
    END { printf "{\"time\": %.3f, \"opened\": %d, \"lost\": %d, \"bears\": %d, \"answers\": %d}\n", now, packets["opened"], packets["lost"], bears, answers == 200 }
  '
done
