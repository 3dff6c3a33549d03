#!/bin/sh
# beside.sh FIRST SECOND: runs two shell commands at once, and fails if one does. FIRST mostly
# waits, so SECOND gives way to it. What SECOND says is seen as it comes, and what FIRST has
# said is shown when both have ended; but at once if it fails, and each test of it that fails
# is told then (testsum, by descriptor 3).
set -eu
log=$(mktemp)
first='' second=''
# Each has a session of its own, so that all of it can be ended: what a shell starts in the
# background would ignore an interrupt from the terminal.
end() {
  for s in $first $second; do kill -s TERM -- "-$s" 2>/dev/null || true; done
  wait
  exit "$1"
}
trap 'rm -f "$log"' EXIT
trap 'end 130' INT
trap 'end 143' TERM
echo "beside what follows, with its output at the end, but for failures: $1"
# shellcheck disable=SC2016 # for the shell inside
TESTSUM_ALARM=3 setsid sh -c 'sh -c "$1" >"$2" 2>&1 && exit
  code=$?; exec 3>&-; printf "FAILED: %s\n%s\n" "$1" "$(cat "$2")"; exit "$code"' sh "$1" "$log" 3>&1 &
first=$!
setsid nice -n 10 sh -c "$2" 3>&- &
second=$!
code=0 failed=''
wait "$second" || { code=$?; failed=" $2;"; }
second=''
one=0
wait "$first" || one=$?
first=''
if [ "$one" = 0 ]; then cat "$log"; else code=$one failed=" $1;$failed"; fi
if [ "$code" != 0 ]; then echo "FAILED:${failed%;}"; fi
exit "$code"
