#!/bin/sh
# image.sh [ROOT]: runs the steps of the Dockerfile where there is no Docker: those of the
# first stage in a Debian 12 root with make and this machine's Go, as golang:*-bookworm has
# them, those of "scratch" in an empty folder, and then what the image runs, there. ROOT is
# such a root, with make and ca-certificates; else one is made, and removed at the end.
# What it cannot show is what Docker itself does with the file. Root.
set -eu
cd "$(dirname "$0")/.."
export PATH="$PATH:/usr/local/go/bin:/usr/sbin:/sbin"
die() { echo "image: $*" >&2; exit 1; }
[ "$(id -u)" = 0 ] || die "root is needed"
go=$(go env GOROOT)

work=$(mktemp -d /var/tmp/srdtun-image.XXXXXX)
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work" ${src:+"$src"}' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
root=${1:-}
if [ -z "$root" ]; then
  root=$work/root
  echo "image: making a Debian 12"
  debootstrap --variant=minbase --include=make,ca-certificates bookworm "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >"$work/log" 2>&1 ||
    { tail -20 "$work/log" >&2; die "debootstrap failed"; }
  cp -L /etc/resolv.conf "$root/etc/"
  cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  mkdir -p "$root/usr/local/go"
fi
image=$work/image
mkdir -p "$image" "$work/context"
git -c safe.directory='*' ls-files -z | tar --null -T - -c | tar -x -C "$work/context"

# in_stage COMMAND: a RUN. Mounts are gone with it.
in_stage() {
  # shellcheck disable=SC2016 # for the shell inside
  unshare --mount sh -eu -c 'mount --make-rprivate /; mount --bind "$2" "$1/usr/local/go"; mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"
    exec chroot "$1" env -i HOME=/root $ARGS ${GOPROXY:+GOPROXY="$GOPROXY"} ${GOSUMDB:+GOSUMDB="$GOSUMDB"} \
      PATH=/usr/local/go/bin:/usr/sbin:/usr/bin:/sbin:/bin sh -euc "cd \"$3\"; $4"' sh "$root" "$go" "$dir" "$1"
}

stage='' dir=/ src='' entry='' args='' health='' ARGS=''
export ARGS # of the Dockerfile, with their defaults
words() { echo "$1" | tr -d '[]",'; } # of ["a", "b"]
while read -r step rest; do
  case $step in ''|'#'*) continue ;; esac
  echo "image: $step $rest"
  case "$step $stage" in
  FROM*)
    case $rest in
    golang:*-bookworm*) stage=build ;;
    'scratch AS agent') stage=scratch ;;
    agent) ;; # goes on
    *) die "what $rest has is not known here" ;;
    esac ;;
  'WORKDIR build')
    dir=$rest; src=$root$dir
    [ ! -e "$src" ] || die "$src is there already"
    mkdir -p "$src" ;;
  'COPY build')
    case $rest in
    '. .') cp -a "$work/context/." "$src/" ;;
    *) for f in ${rest% *}; do cp -a "$work/context/$f" "$src/"; done ;;
    esac ;;
  'ARG build') ARGS="$ARGS $rest" ;;
  'RUN build') in_stage "$rest" ;;
  'COPY scratch')
    from=$work/context
    case $rest in --from=build*) from=$root; rest=${rest#* } ;; esac
    install -D "$from/${rest% *}" "$image/${rest#* }" ;;
  'ENTRYPOINT scratch') entry=$(words "$rest") ;;
  'HEALTHCHECK scratch') health=$(words "${rest#* CMD }") ;;
  'CMD scratch') args=$(words "$rest") ;;
  *) die "the step $step is not known here" ;;
  esac
done <Dockerfile
[ -n "$entry" ] || die "the image runs nothing"
# shellcheck disable=SC2086 # a list of words
chroot "$image" $entry $args | grep -q '^Usage:' || die "$entry $args does not say how it is used"
# shellcheck disable=SC2086
chroot "$image" $entry version
# shellcheck disable=SC2086
said=$(chroot "$image" $health 2>&1) && die "$health says that all is well where nothing runs"
[ "$said" = "srdtun: no interface is running" ] || die "$health says: $said"
echo "image: ok, $(find "$image" -type f | wc -l) files"
