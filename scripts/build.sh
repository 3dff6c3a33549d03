#!/bin/sh
# build.sh WHAT [build flags] FOLDER: go build, and how far it is. The first build fetches modules and
# compiles the standard library, which takes a minute or two without a word. GO names the go command;
# the folder may be of another module, and paths in flags are absolute then.
set -eu
what=$1; shift
for folder; do :; done
go=${GO:-go}
if [ -t 2 ]; then line='\r\033[K%s' last='\n'; else line='%s\n' last=; fi
status=$(mktemp)
trap 'rm -f "$status"' EXIT
# The last argument is the folder; what is before it are flags.
module=$folder
until [ -e "$module/go.mod" ]; do module=$(dirname "$module"); done
if [ "$module" != . ]; then
  cd "$folder"
  set -- "$@" .
  # Drop the folder, which is here now.
  n=$#; i=0
  for a; do
    i=$((i + 1))
    shift
    [ "$i" = $((n - 1)) ] || set -- "$@" "$a"
  done
fi
{ code=0; "$go" build -v "$@" 2>&1 || code=$?; echo "$code" >"$status"; } |
  awk -v what="$what" -v line="$line" -v last="$last" '
    function show(text) { printf line, text >"/dev/stderr"; fflush("/dev/stderr"); shown = 1; at = now }
    { srand(); now = srand() }
    /^go: downloading/ { modules++ }
    /^[a-z0-9][^ :]*$/ { packages++ }
    !/^go: (downloading|finding|extracting)/ && !/^[a-z0-9][^ :]*$/ { print >"/dev/stderr"; next }
    # A line moves on a terminal; elsewhere one every five seconds is enough.
    last != "" || !shown || now >= at + 5 { show("building " what ": " modules + 0 " modules fetched, " packages + 0 " packages compiled") }
    END { if (shown) printf last >"/dev/stderr" }'
exit "$(cat "$status")"
