#!/bin/sh
# debtest.sh: makes the deb of this tree in two versions and, in a copy of this Debian that is thrown
# away, installs it, runs a tunnel's end, upgrades under it, and purges. Whatever the package has made
# must then be gone. What systemd has to do with it is tried by "make test-package". Root.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/local/go/bin:/usr/sbin:/sbin"
[ "$(id -u)" = 0 ] || { echo "debtest: a copy of this Debian cannot be made: root is needed" >&2; exit 1; }
work=$(mktemp -d /var/tmp/srdtun-deb.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
arch=$(${GO:-go} env GOARCH)
mkdir "$work/debs"
for v in 1 2; do
  ${MAKE:-make} --no-print-directory deb BIN="$work/bin" DIST="$work/dist$v" ARCHS="$arch" PROGRAMS=srdtun VERSION="v0.9.$v" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  mv "$work/dist$v"/*.deb "$work/debs/$v.deb"
done

# What is below runs in the copy, with a network and processes of its own.
cat >"$work/debs/inside.sh" <<'INSIDE'
set -eu
files() { find /etc /usr /lib /var/lib/dpkg/info /run/srdtun ! -name '*-' ! -name '*.cache' ! -name __pycache__ 2>/dev/null | sort; cat /etc/passwd /etc/group; }
is() { # WANT COMMAND...: it succeeds, and says so
  want=$1; shift
  said=$("$@" 2>&1) || { echo "debtest: $*: $said" >&2; exit 1; }
  case $said in *"$want"*) ;; *) echo "debtest: $* does not say $want: $said" >&2; exit 1 ;; esac
}
ip link set lo up
dpkg --purge srdtun >/dev/null 2>&1 || true
dpkg-deb -R /debs/1.deb /tmp/unpacked # whoever changes something in it packs it anew
dpkg-deb -b /tmp/unpacked /tmp/anew.deb >/dev/null
files >/tmp/before
dpkg -i /debs/1.deb >/dev/null
is 'srdtun v0.9.1 ' srdtun version
is srdtun getent group srdtun
is 700 stat -c %a /etc/srdtun
for f in /lib/systemd/system/srdtun@.service /usr/share/man/man1/srdtun-up.1 /usr/share/man/man5/srdtun.toml.5 \
  /usr/share/bash-completion/completions/srdtun /usr/share/doc/srdtun/copyright; do
  [ -s "$f" ] || { echo "debtest: no $f" >&2; exit 1; }
done
is 'public key' srdtun init lab
is ok srdtun check lab
is '' srdtun up -d lab
is 'interface: lab' srdtun show lab
dpkg -i /debs/2.deb >/dev/null
is 'srdtun v0.9.2 ' srdtun version
is 'interface: lab' srdtun show lab
is '' srdtun down lab
dpkg --purge srdtun >/dev/null
files >/tmp/after
diff /tmp/before /tmp/after || { echo "debtest: the purge has left that" >&2; exit 1; }
echo "debtest: installed, run, upgraded, purged"
INSIDE
unshare --mount --net --pid --fork --kill-child sh -eu -c '
  mount --make-rprivate /
  mkdir "$1/copy"
  mount -t tmpfs tmpfs "$1/copy"
  mkdir "$1/copy/new" "$1/copy/work" "$1/copy/root"
  mount -t overlay overlay -o "lowerdir=/,upperdir=$1/copy/new,workdir=$1/copy/work" "$1/copy/root"
  mkdir "$1/copy/root/debs"
  cp "$1"/debs/* "$1/copy/root/debs/"
  mount --rbind /dev "$1/copy/root/dev"
  mount -t proc proc "$1/copy/root/proc"
  mount -t sysfs sysfs "$1/copy/root/sys"
  mount -t tmpfs tmpfs "$1/copy/root/run"
  exec chroot "$1/copy/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh /debs/inside.sh' sh "$work"
