#!/bin/sh
# releasetest.sh: makes the release of this commit twice, here and in a clone in elsewhere with an empty build
# cache, signs it with a key of its own, and compares every byte. Then it verifies as docs/install.md says, and
# sees that a changed file and another key are refused. Ten minutes on two cores.
set -eu
die() { echo "releasetest: $*" >&2; exit 1; }
work=$(mktemp -d /var/tmp/srdtun-release.XXXXXX)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
for who in maker stranger; do ssh-keygen -q -t ed25519 -N '' -C "$who" -f "$work/$who"; done
git -c safe.directory='*' clone -q --no-hardlinks . "$work/elsewhere"
[ ! -d .toolchain ] || ln -s "$PWD/.toolchain" "$work/elsewhere/.toolchain"

RELEASE_KEY=$work/maker packaging/release.sh "$PWD/out/release" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "the first build failed"; }
tail -n 1 "$work/log"
(cd "$work/elsewhere" && umask 077 && TZ=Asia/Tokyo GOFLAGS=-race GOAMD64=v3 GOCACHE="$work/cache" RELEASE_KEY=$work/maker \
  packaging/release.sh "$PWD/out/release" >"$work/log" 2>&1) || { cat "$work/log" >&2; die "the second build failed"; }
diff -r out/release "$work/elsewhere/out/release" || die "the same commit gives other bytes"

cd out/release
verify() { ssh-keygen -Y verify -f "$work/signers" -I releases -n srdtun -s SHA256SUMS.sig <SHA256SUMS >/dev/null 2>&1 && sha256sum --status -c SHA256SUMS; }
echo "releases $(cat "$work/maker.pub")" >"$work/signers"
verify || die "the release does not verify"
echo "releases $(cat "$work/stranger.pub")" >"$work/signers"
! verify || die "another key's signature is taken"
echo "releases $(cat "$work/maker.pub")" >"$work/signers"
cp SHA256SUMS "$work/sums"
sed -i '1s/^./x/' SHA256SUMS
! verify || die "changed checksums are taken"
cp "$work/sums" SHA256SUMS
echo >>srdtun-manual.tar.gz
! verify || die "a changed file is taken"
truncate -s -1 srdtun-manual.tar.gz
verify || die "the release does not verify any more"
echo "releasetest: two builds are the same $(wc -l <SHA256SUMS) files; signed and verified"
