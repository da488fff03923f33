#!/bin/sh
set -eu
touch /run/service/ready
exec nginx -g 'daemon off;'
