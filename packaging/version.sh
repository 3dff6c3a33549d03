#!/bin/sh
# version.sh VERSION: the version of packages of this commit, for what "git describe" says of
# it. A version begins with a number, and an rpm's has no hyphen. Without a tag it is
# 0.0.0~gitDATE.TIME.HASH, with the time of the commit in UTC: a later commit is a later
# version. Commits that are as old as the one before, or older, as after a rebase, count a
# second more than that. A tree with changes is after its commit and before the next one.
set -eu
version=$1 dirty=
case $version in
*-dirty) version=${version%-dirty} dirty=+dirty ;;
esac
git() { command git -c safe.directory='*' "$@"; }
# stamp HASH: when that was committed, in seconds; without git, SOURCE_DATE_EPOCH.
stamp() {
  git log --reverse --first-parent --format=%ct "$1" 2>/dev/null |
    awk '{ at = NR > 1 && $1 <= at ? at + 1 : $1 } END { if (NR) print at; else exit 1 }' ||
    echo "${SOURCE_DATE_EPOCH:-0}"
}
case $version in
v[0-9]*) version=${version#v} ;;
[0-9]*.*) ;;
*) version=0.0.0~git$(date -u -d "@$(stamp "$version")" +%Y%m%d.%H%M%S).$version ;;
esac
echo "$version" | tr - . | sed "s/\$/$dirty/"
