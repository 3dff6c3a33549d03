#!/bin/sh
# packages.sh demo|test|bench|apps|unzip: installs, on Debian, the packages that the demo, the tests, the
# comparison, the applications or the fetched Go need and that are missing. Does nothing, and needs no root,
# if all are there.
set -eu
demo="iperf3:iperf3 curl:curl nft:nftables ethtool:ethtool ip:iproute2 tc:iproute2 ss:iproute2 ping:iputils-ping"
case ${1:-} in
unzip) want=unzip:unzip ;;
demo) want=$demo ;;
test) want="$demo redis-server:redis-server redis-cli:redis-tools redis-benchmark:redis-tools gcc:gcc python3:python3 spin:spin prometheus:prometheus promtool:prometheus chromium:chromium etcd:etcd-server etcdctl:etcd-client jq:jq unzip:unzip" ;;
bench) want="$demo wg:wireguard-tools sockperf:sockperf mptcpize:mptcpize" ;;
apps) want="$demo pg_createcluster:postgresql etcd:etcd-server mptcpize:mptcpize mpirun.openmpi:openmpi-bin mpicc.openmpi:libopenmpi-dev gcc:gcc" ;;
*) sed -n 2,4p "$0" >&2; exit 2 ;;
esac
PATH=$PATH:/usr/sbin:/sbin
missing=
for w in $want; do
  if command -v "${w%%:*}" >/dev/null; then continue; fi
  case " $missing " in *" ${w#*:} "*) ;; *) missing="$missing ${w#*:}" ;; esac
done
if [ "$1" = test ] && ! python3 -c 'import cryptography' 2>/dev/null && ! /usr/bin/python3 -c 'import cryptography' 2>/dev/null; then
  missing="$missing python3-cryptography"
fi
# The race detector links with the C library, and so does a program for Open MPI.
case $1 in test|apps) if [ ! -e /usr/include/stdio.h ]; then missing="$missing libc6-dev"; fi ;; esac
if [ -n "$missing" ]; then
  if [ "$(id -u)" != 0 ]; then echo "run as root, or: apt-get install$missing" >&2; exit 1; fi
  echo "installing:$missing"
  export DEBIAN_FRONTEND=noninteractive
  # A database that is installed for a test need not run as a service.
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
  fi
  apt-get -o DPkg::Lock::Timeout=120 update -qq
  # shellcheck disable=SC2086 # a list of words
  apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends $missing >/dev/null
fi
