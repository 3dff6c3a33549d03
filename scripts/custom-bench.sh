#!/bin/bash
# custom-bench.sh: runs srdtun as one node of a star, from the variables of a
# benchmark that starts all nodes independently and at the same time:
#   IDX    this node, 0 is the hub          DEV    the interface to make
#   LOCAL  its outer address                ADDR   its inner address with prefix length
#   HUB    the hub's outer address          PEERS  "0=ip 1=ip ..", all nodes
#   DIR    a folder that all nodes share, for keys and configurations
# SRDTUN names the binary; MTU and SOURCE_PORTS go into the configuration if set.
# Node i has 10.9.0.(i+1); spokes send all of 10.9.0.0/24 to the hub.
set -euo pipefail
: "${IDX:?}" "${LOCAL:?}" "${HUB:?}" "${PEERS:?}" "${DEV:?}" "${ADDR:?}" "${DIR:?}"
SRDTUN=${SRDTUN:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/bin/srdtun}
PORT=51820
umask 077
keys=$DIR/srdtun-keys
mkdir -p "$keys"

# Whoever comes first makes the keys of all nodes; the rest wait for the lock.
(
  flock 9
  for p in $PEERS; do
    i=${p%%=*}
    if [ ! -e "$keys/$i.pub" ]; then
      "$SRDTUN" genkey >"$keys/$i"
      "$SRDTUN" pubkey <"$keys/$i" >"$keys/$i.new"
      mv "$keys/$i.new" "$keys/$i.pub"
    fi
  done
) 9>"$keys/lock"

peer() { # number, outer address, allowed addresses
  printf '\n[[peer]]\nname = "node%s"\npublic_key = "%s"\nendpoints = ["%s:%s"]\nallowed_ips = ["%s"]\n' \
    "$1" "$(cat "$keys/$1.pub")" "$2" "$PORT" "$3"
}

conf=$DIR/$DEV.toml
{
  printf '[interface]\nname = "%s"\nprivate_key = "%s"\naddress = ["%s"]\nlisten_port = %s\n' \
    "$DEV" "$(cat "$keys/$IDX")" "$ADDR" "$PORT"
  if [ -n "${MTU:-}" ]; then echo "mtu = $MTU"; fi
  printf '\n[paths]\nlocal = ["%s"]\n' "$LOCAL"
  if [ -n "${SOURCE_PORTS:-}" ]; then echo "source_ports = $SOURCE_PORTS"; fi
  if [ "$IDX" = 0 ]; then
    for p in $PEERS; do
      i=${p%%=*}
      if [ "$i" != 0 ]; then peer "$i" "${p#*=}" "10.9.0.$((i + 1))/32"; fi
    done
  else
    peer 0 "$HUB" 10.9.0.0/24
  fi
} >"$conf"
exec "$SRDTUN" up "$conf"
