#!/usr/bin/env bash
# Prints the name of the image with the browser that looks at JupyterLab in the tests, and makes it where it is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
part=browser
# shellcheck source=compose/say.sh
. compose/say.sh
# shellcheck source=compose/image.sh
. compose/image.sh
browser_image
echo "$image"
