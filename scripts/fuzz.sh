#!/bin/sh
# fuzz.sh TIME: runs every fuzz target of the product and of the fleet for TIME, one after the other.
set -eu
go=${GO:-go}
for module in . fleet; do
  for pkg in $($go -C "$module" list ./...); do
    for target in $($go -C "$module" test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
      echo "== $pkg $target"
      $go -C "$module" test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-10s}" "$pkg"
    done
  done
done
