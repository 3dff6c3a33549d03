#!/bin/sh
# beside.sh FIRST SECOND: runs two shell commands at once, and fails if one does. FIRST mostly
# waits, so SECOND gives way to it. What SECOND says is seen as it comes, and what FIRST has
# said is shown at the end.
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
echo "beside what follows, with its output at the end: $1"
setsid sh -c "$1" >"$log" 2>&1 &
first=$!
setsid nice -n 10 sh -c "$2" &
second=$!
code=0
wait "$second" || code=$?
second=''
wait "$first" || code=$?
first=''
cat "$log"
exit "$code"
