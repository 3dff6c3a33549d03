#!/bin/sh
# release.sh OUT: makes all files of a release in OUT, a folder that is made anew: static programs, packages,
# images, manual pages, a bill of materials for each program, SHA256SUMS. The same commit gives the same bytes on
# any host: the Go is the one that scripts/toolchain pins, all times are the commit's.
#
# RELEASE_KEY is the file of a private ssh key that signs SHA256SUMS. ARCHS and PROGRAMS as for make dist.
set -eu
out=$1
archs=${ARCHS:-amd64 arm64} programs=${PROGRAMS:-srdtun srdtun-etcd srdtun-k8s}
git() { command git -c safe.directory='*' "$@"; }
die() { echo "release: $*" >&2; exit 1; }

[ -z "$(git status --porcelain)" ] || die "the tree has changes: commit them first"
if [ -n "${RELEASE_KEY:-}" ]; then
  [ -r "$RELEASE_KEY" ] || die "RELEASE_KEY: $RELEASE_KEY cannot be read"
  command -v ssh-keygen >/dev/null || die "RELEASE_KEY needs ssh-keygen (Debian: openssh-client)"
fi
VERSION=$(packaging/version.sh)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export VERSION SOURCE_DATE_EPOCH GO="$PWD/scripts/toolchain/go"
# What a user has set for Go must not change what is built; where modules come from is the user's.
GOPROXY=$("$GO" env GOPROXY) GOSUMDB=$("$GO" env GOSUMDB)
export GOPROXY GOSUMDB GOENV=off GOFLAGS='' GOEXPERIMENT='' GOAMD64=v1 GOARM64=v8.0 CGO_ENABLED=0 TZ=UTC LC_ALL=C.UTF-8
unset GOOS GOARCH
umask 022

work=$out.work
rm -rf "$out" "$work"
mkdir -p "$out" "$work"
${MAKE:-make} --no-print-directory deb rpm DIST="$work" ARCHS="$archs" PROGRAMS="$programs"
cp "$work"/srdtun*-linux-* "$work"/*.deb "$work"/*.rpm "$out/"

# Manual pages of all programs, and completions of srdtun.
[ ! -d "$work/man-agents" ] || cp -R "$work/man-agents/." "$work/man/"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX --format=ustar \
  -C "$work" -cf - man completions | gzip -9n >"$out/srdtun-manual.tar.gz"

"$GO" build -o "$work/ociimage" ./scripts/ociimage
for program in $programs; do
  health=-health
  [ "$program" = srdtun ] || health=
  for arch in $archs; do
    "$work/ociimage" -arch "$arch" -tag "$program:$VERSION" -time "$SOURCE_DATE_EPOCH" $health \
      "$out/$program-linux-$arch" LICENSE >"$out/$program-image-$arch.tar"
  done
done
rm -rf "$work"

cd "$out"
find . -type f ! -name SHA256SUMS | sed 's|^\./||' | sort | xargs sha256sum >SHA256SUMS
if [ -n "${RELEASE_KEY:-}" ]; then
  ssh-keygen -q -Y sign -f "$RELEASE_KEY" -n srdtun SHA256SUMS
  signed="signed: SHA256SUMS.sig"
else
  signed="not signed: RELEASE_KEY names no key"
fi
case $VERSION in *-*) tagged=", no release: this commit has no tag v$(cat "$OLDPWD/VERSION")" ;; *) tagged='' ;; esac
cat SHA256SUMS
echo "release: srdtun $VERSION$tagged; $(wc -l <SHA256SUMS) files in $out, $signed"
