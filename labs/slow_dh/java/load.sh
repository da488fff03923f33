#!/bin/sh
# load.sh ADDRESS CLIENTS SECONDS PATIENCE_MS [each]: clients with one request at a time each; prints what became of them.
exec /opt/jre/21.0.8/bin/java -XX:+UseSerialGC -Xmx48m -cp /opt/acks/load.jar incidentlabs.load.Load "$@"
