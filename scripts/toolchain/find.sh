#!/bin/sh
# find.sh: prints the go command to build with: an installed one that is new enough for go.mod, else the
# one beside this script, which fetches Go when it is first called.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
oldest=$(sed -n 's/^go //p' "$here/../../go.mod")
# sudo drops the folder where Go usually is from PATH.
for go in "$(command -v go || true)" /usr/local/go/bin/go; do
  [ -x "$go" ] || continue
  has=$(GOTOOLCHAIN=local "$go" version 2>/dev/null | sed -n 's/^go version .*go\([0-9][0-9.]*\).*/\1/p')
  if [ "$(printf '%s\n' "$oldest" "$has" | sort -V | head -n 1)" = "$oldest" ]; then echo "$go"; exit; fi
done
echo "$here/go"
