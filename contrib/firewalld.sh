#!/bin/sh
# firewalld.sh [INTERFACE [PORTS]]: lets srdtun's ports in without tracking them, and puts the
# tunnel into a zone of its own that may reach this host's ssh. Root. Nothing is changed that
# is there already. PORTS are listen_port and port_range: without port_range = "51821-51852"
# in [paths] the other source ports are any free ones, new with each start.
set -eu
tunnel=${1:-lab}
ports=${2:-51820-51852}
fw() { firewall-cmd --permanent "$@"; }
if ! fw --get-services | grep -qw srdtun; then
  fw --new-service=srdtun
  fw --service=srdtun --set-short="srdtun tunnel"
  fw --service=srdtun --add-port="$ports/udp"
fi
fw --add-service=srdtun # in the default zone, which is where peers come from
if ! fw --get-zones | grep -qw srdtun; then
  fw --new-zone=srdtun
  fw --zone=srdtun --add-service=ssh
  fw --zone=srdtun --add-forward
fi
fw --zone=srdtun --add-interface="$tunnel"
# What is tracked can be shadowed by whoever is masqueraded by this host.
untracked() {
  fw --direct --query-rule "$@" >/dev/null || fw --direct --add-rule "$@" ||
    echo "firewalld.sh: the ports stay tracked: direct rules need iptables" >&2
}
range=$(echo "$ports" | tr - :)
for family in ipv4 ipv6; do
  untracked "$family" raw PREROUTING 0 -p udp --dport "$range" -j CT --notrack
  untracked "$family" raw OUTPUT 0 -p udp --sport "$range" -j CT --notrack
done
firewall-cmd --reload
