#!/bin/sh
# version.sh            prints the version of this tree, as the programs show it
# version.sh VERSION    prints the version of packages of that
#
# The file VERSION has the number of the next release. Its tag, "v" and that number, makes it 0.3.0; a commit after
# the tag, before VERSION changes, is 0.3.0-COUNT-gHASH. Any other commit is 0.3.0-dev.HASH, and a tree without git
# 0.3.0-dev. A tree with changes ends in -dirty.
#
# Packages of 0.3.0-dev.HASH are 0.3.0~gitDATE.TIME.HASH, with the time of the commit in UTC: a later commit is a later
# version, and the release is later than all of them. Commits that are as old as the one before, or older, as after a
# rebase, count a second more than that. A tree with changes is after its commit and before the next one. The version
# of an rpm has no hyphen.
set -eu
next=$(cat VERSION)
git() { command git -c safe.directory='*' "$@"; }
# stamp HASH: when that was committed, in seconds; without git, SOURCE_DATE_EPOCH.
stamp() {
  git log --reverse --first-parent --format=%ct "$1" 2>/dev/null |
    awk '{ at = NR > 1 && $1 <= at ? at + 1 : $1 } END { if (NR) print at; else exit 1 }' ||
    echo "${SOURCE_DATE_EPOCH:-0}"
}
if [ $# = 0 ]; then
  # Hashes have the same length in every clone: it is part of what is built.
  tagged=$(git describe --tags --match "v$next" --abbrev=10 --dirty 2>/dev/null) && { echo "${tagged#v}"; exit; }
  hash=$(git describe --always --exclude='*' --abbrev=10 --dirty 2>/dev/null) || { echo "$next-dev"; exit; }
  echo "$next-dev.$hash"
  exit
fi
version=${1#v} dirty=
case $version in
*-dirty) version=${version%-dirty} dirty=+dirty ;;
esac
case $version in
*-dev.*) version=${version%-dev.*}~git$(date -u -d "@$(stamp "${version#*-dev.}")" +%Y%m%d.%H%M%S).${version#*-dev.} ;;
*-dev) version=${version%-dev}~dev ;;
[0-9]*.*) ;;
*) echo "version.sh: $1 is no version" >&2; exit 2 ;;
esac
echo "$version" | tr - . | sed "s/\$/$dirty/"
