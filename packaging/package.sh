#!/bin/sh
# package.sh deb|rpm ARCH DIST VERSION: makes a package in DIST of what "make dist" has
# built there. ARCH is Go's name. The same commit gives the same bytes.
set -eu
kind=$1 version=$4
export ARCH=$2 DIST=$3
# A version begins with a number, and an rpm's has no hyphen.
case $version in
v[0-9]*) version=${version#v} ;;
[0-9]*.*) ;;
*) version=0.0.0~$version ;;
esac
PACKAGE_VERSION=$(echo "$version" | tr - .)
case $kind in
deb) UNITDIR=/lib/systemd/system ZSHDIR=/usr/share/zsh/vendor-completions ;;
rpm) UNITDIR=/usr/lib/systemd/system ZSHDIR=/usr/share/zsh/site-functions ;;
*) echo "package.sh: deb or rpm" >&2; exit 2 ;;
esac
export PACKAGE_VERSION UNITDIR ZSHDIR
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null || echo 0)
fi
export SOURCE_DATE_EPOCH
${GO:-go} -C packaging build -o "$PWD/bin/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
bin/nfpm package -f packaging/nfpm.yaml -p "$kind" -t "$DIST/"
