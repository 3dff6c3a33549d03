#!/bin/sh
# model.sh [quick]: checks docs/model with spin. Each line names a model, its options and what
# must come out: "holds", or "caught" for a bug that is planted.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed=0

# play MODEL WHAT [-DOPTION...]
play() {
  model=$1 want=$2; shift 2
  cp "$top/docs/model/$model.pml" .
  began=$(date +%s)
  rm -f pan* ./*.trail
  spin "$@" -a "$model.pml" >spin.out 2>&1 || { cat spin.out; exit 1; }
  case $model in
  progress) gcc -O2 -w -o pan pan.c && ./pan -a -f -m100000 >pan.out 2>&1 ;;
  *) gcc -O2 -w -DSAFETY -DNOREDUCE -DCOLLAPSE -DMEMLIM=3000 -o pan pan.c && ./pan -m1000000 -w26 >pan.out 2>&1 ;;
  esac || true
  errors=$(sed -n 's/.*errors: \([0-9]*\).*/\1/p' pan.out)
  states=$(sed -n 's/ *\([0-9.e+]*\) states, stored.*/\1/p' pan.out | head -1)
  got=holds
  [ "$errors" = 0 ] || got=caught
  if grep -q -e 'max search depth too small' -e 'out of memory' -e 'reached -DMEMLIM' pan.out || [ -z "$errors" ]; then got=unfinished; fi
  printf '%-10s %-7s %s states, %s s: %s\n' "$model" "$got" "$states" $(($(date +%s) - began)) "$*"
  if [ "$got" != "$want" ]; then
    failed=1; echo "  want: $want"; grep -e 'pan:' -e assertion pan.out | head -3
    if [ "$got" = caught ]; then spin "$@" -t "$model.pml" | grep -E '^ *[01] [a-z]' | head -40 || true; fi
  fi
}

# Both begin at once, with retries: both ends agree on one session.
play handshake holds -DATT=2 -DATT1=1 -DQUIET
play handshake holds -DATT=2 -DATT0=1 -DQUIET
play handshake holds -DATT=3 -DATT1=1 -DQUIET
play handshake holds -DATT=3 -DATT0=1 -DQUIET
# What is sent to a mute address proves nothing.
play handshake holds -DATT=2 -DATT1=1 -DMUTE
play handshake holds -DATT=2 -DATT0=1 -DMUTE
# Each end may be started again: recorded handshakes, tokens, incarnations.
play handshake holds -DATT=1 -DRESTARTS=1
[ "${1:-}" = quick ] || play handshake holds -DATT=2 -DATT0=1 -DRESTARTS=1 -DRESTARTS1=0
# False cookies from anywhere stop nothing.
play progress holds
# Each rule has a bug that breaks it.
play handshake caught -DATT=2 -DATT0=1 -DQUIET -DBUG_CROSS
play handshake caught -DATT=2 -DATT1=1 -DQUIET -DBUG_FORGET
play handshake caught -DATT=2 -DATT0=1 -DQUIET -DBUG_RETIRE
play handshake caught -DATT=2 -DATT1=1 -DMUTE -DBUG_COPY
play handshake caught -DATT=2 -DATT1=1 -DMUTE -DBUG_LAST
play handshake caught -DATT=1 -DBUG_TWICE
play handshake caught -DATT=1 -DRESTARTS=1 -DBUG_BELIEVE
play handshake caught -DATT=1 -DRESTARTS=1 -DBUG_FIRST
play progress caught -DBUG_ABANDON
exit $failed
