#!/bin/sh
# fuzz.sh TIME: runs every fuzz target of the module for TIME, one after the other.
set -eu
go=${GO:-go}
for pkg in $($go list ./...); do
  for target in $($go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
    echo "== $pkg $target"
    $go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-10s}" "$pkg"
  done
done
