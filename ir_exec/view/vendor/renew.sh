#!/usr/bin/env bash
# Fetch a release of the layout library from npm: ./renew.sh 3.1.3
# Writes dagre.js with its licence at the top, LICENSE-dagre.txt, and dagre.json with version and digest.
set -euo pipefail
cd "$(dirname "$0")"
version="${1:?expected a version of @dagrejs/dagre}"
folder="$(mktemp -d)"
trap 'rm -r "$folder"' EXIT

npm pack --silent --pack-destination "$folder" "@dagrejs/dagre@$version" >/dev/null
tar --extract --file "$folder"/*.tgz --directory "$folder"
from="$folder/package"

cp "$from/LICENSE" LICENSE-dagre.txt
{
  echo "/*! @dagrejs/dagre $version, with @dagrejs/graphlib in it; both under this licence:"
  echo
  cat "$from/LICENSE"
  echo "*/"
  # HTML and XML do not allow control characters. These occur only in strings, and are replaced by escapes.
  grep --invert-match --extended-regexp '^(/\*! For license|//# sourceMappingURL)' "$from/dist/dagre.min.js" |
    perl -pe 's/([\x00-\x08\x0b-\x1f\x7f])/sprintf("\\x%02x", ord($1))/ge'
} > dagre.js
printf '{\n  "name": "@dagrejs/dagre",\n  "version": "%s",\n  "license": "MIT",\n  "sha256": "%s"\n}\n' \
  "$version" "$(sha256sum dagre.js | cut -d' ' -f1)" > dagre.json
