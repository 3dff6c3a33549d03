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
{
  # In the shell, since newer mawk reads a pipe to its end before it says a word.
  modules=0 packages=0 at=0
  while IFS= read -r said; do
    case $said in
    'go: downloading'*) modules=$((modules + 1)) ;;
    'go: finding'* | 'go: extracting'*) ;;
    *[\ :]* | [!a-z0-9]* | '') printf '%s\n' "$said" >&2; continue ;;
    *) packages=$((packages + 1)) ;;
    esac
    # A line moves on a terminal; elsewhere one every five seconds is enough.
    now=$(date +%s)
    if [ -z "$last" ] && [ "$now" -lt $((at + 5)) ]; then continue; fi
    at=$now
    # shellcheck disable=SC2059 # it has the terminal's signs
    printf "$line" "building $what: $modules modules fetched, $packages packages compiled" >&2
  done
  # shellcheck disable=SC2059
  if [ "$at" != 0 ]; then printf "$last" >&2; fi
}
exit "$(cat "$status")"
