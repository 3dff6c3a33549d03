#!/bin/sh
# model.sh [quick]: checks docs/model with spin, one play on each processor at a time. A line of
# the list has the result, "holds", or "caught" for a planted bug; a model; and its options.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
# play WANT MODEL [-DOPTION...]: fails unless that comes out.
play() {
  want=$1 model=$2; shift 2
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  cd "$work"
  cp "$top/docs/model/$model.pml" .
  began=$(date +%s)
  spin "$@" -a "$model.pml" >spin.out 2>&1 || { cat spin.out; exit 1; }
  # All but one are so small that optimising takes longer than playing.
  case "$*" in *RESTARTS1*) fast=-O2 ;; *) fast=-O0 ;; esac
  flags='-DSAFETY -DNOREDUCE -DCOLLAPSE -DMEMLIM=3000' run='-m1000000 -w26'
  [ "$model" != progress ] || flags='' run='-a -f -m100000'
  # shellcheck disable=SC2086 # lists of words
  { gcc $fast -w $flags -o pan pan.c && ./pan $run >pan.out 2>&1; } || true
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out) got=caught
  states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out | head -1)
  [ "$errors" != 0 ] || got=holds
  if grep -q -e 'max search depth too small' -e 'out of memory' -e 'reached -DMEMLIM' pan.out || [ -z "$errors" ]; then got=unfinished; fi
  printf '%-10s %-7s %s states, %s s: %s\n' "$model" "$got" "$states" $(($(date +%s) - began)) "$*"
  [ "$got" != "$want" ] || exit 0
  echo "  want: $want"; grep -e 'pan:' -e assertion pan.out | head -3
  if [ "$got" = caught ]; then spin "$@" -t "$model.pml" | grep -E '^ *[01] [a-z]' | head -40 || true; fi
  exit 1
}

if [ "${1:-}" = play ]; then shift; play "$@"; fi
list() {
  cat <<'LIST'
# Both begin at once, with retries: both ends agree on one session.
holds handshake -DATT=2 -DATT1=1 -DQUIET
holds handshake -DATT=2 -DATT0=1 -DQUIET
holds handshake -DATT=3 -DATT1=1 -DQUIET
holds handshake -DATT=3 -DATT0=1 -DQUIET
# What is sent to a mute address proves nothing.
holds handshake -DATT=2 -DATT1=1 -DMUTE
holds handshake -DATT=2 -DATT0=1 -DMUTE
# Each end may be started again: recorded handshakes, tokens, incarnations.
holds handshake -DATT=1 -DRESTARTS=1
# False cookies from anywhere stop nothing.
holds progress
# Each rule has a bug that breaks it.
caught handshake -DATT=2 -DATT0=1 -DQUIET -DBUG_CROSS
caught handshake -DATT=2 -DATT1=1 -DQUIET -DBUG_FORGET
caught handshake -DATT=2 -DATT0=1 -DQUIET -DBUG_RETIRE
caught handshake -DATT=2 -DATT1=1 -DMUTE -DBUG_COPY
caught handshake -DATT=2 -DATT1=1 -DMUTE -DBUG_LAST
caught handshake -DATT=1 -DBUG_TWICE
caught handshake -DATT=1 -DRESTARTS=1 -DBUG_BELIEVE
caught handshake -DATT=1 -DRESTARTS=1 -DBUG_FIRST
caught progress -DBUG_ABANDON
LIST
  [ "$1" = quick ] || echo 'holds handshake -DATT=2 -DATT0=1 -DRESTARTS=1 -DRESTARTS1=0'
}
list "${1:-}" | grep -v '^#' | xargs -P "$(nproc)" -L 1 "$top/scripts/model.sh" play
