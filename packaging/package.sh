#!/bin/sh
# package.sh deb|rpm PROGRAM ARCH DIST VERSION: makes the package of srdtun, srdtun-etcd or
# srdtun-k8s in DIST of what "make dist" has built there. ARCH is Go's name. The same commit
# gives the same bytes.
set -eu
kind=$1
export PROGRAM=$2 ARCH=$3 DIST=$4
PACKAGE_VERSION=$(packaging/version.sh "$5")
case $kind in
deb) UNITDIR=/lib/systemd/system ZSHDIR=/usr/share/zsh/vendor-completions SINCE="(>= $PACKAGE_VERSION)" ;;
rpm) UNITDIR=/usr/lib/systemd/system ZSHDIR=/usr/share/zsh/site-functions SINCE=">= $PACKAGE_VERSION" ;;
*) echo "package.sh: deb or rpm" >&2; exit 2 ;;
esac
case $PROGRAM in
srdtun) recipe=packaging/nfpm.yaml ;;
srdtun-etcd) recipe=packaging/agent.yaml DISCOVERY=etcd OTHER=srdtun-k8s ;;
srdtun-k8s) recipe=packaging/agent.yaml DISCOVERY=Kubernetes OTHER=srdtun-etcd ;;
*) echo "package.sh: srdtun, srdtun-etcd or srdtun-k8s" >&2; exit 2 ;;
esac
export PACKAGE_VERSION UNITDIR ZSHDIR SINCE DISCOVERY=${DISCOVERY:-}
if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  SOURCE_DATE_EPOCH=$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null || echo 0)
fi
export SOURCE_DATE_EPOCH
${GO:-go} -C packaging build -o "$PWD/bin/nfpm" github.com/goreleaser/nfpm/v2/cmd/nfpm
export SCRIPTS="$DIST/recipes/$PROGRAM"
mkdir -p "$SCRIPTS"
# Both kinds of packages do the same at an installation.
for f in packaging/scripts/*.sh; do
  sed -e "s/@PROGRAM@/$PROGRAM/g; s/@OTHER@/${OTHER:-}/g" -e '/^# @installed.sh@$/{r packaging/scripts/installed.sh
d}' "$f" >"$SCRIPTS/${f##*/}"
done
# nfpm.yaml says what is copied; it puts variables into some of its fields only.
sed "s|\${PROGRAM}|$PROGRAM|g; s|\${DISCOVERY}|$DISCOVERY|g; s|\${SINCE}|$SINCE|g; s|\${SCRIPTS}|$SCRIPTS|g" "$recipe" >"$SCRIPTS/nfpm.yaml"
made=$(bin/nfpm package -f "$SCRIPTS/nfpm.yaml" -p "$kind" -t "$DIST/" | sed -n 's/^created package: //p')
if [ "$kind" = deb ]; then
  ${GO:-go} -C packaging build -o "$PWD/bin/tidydeb" ./tidydeb
  bin/tidydeb "$made"
fi
echo "created package: $made"
