#!/bin/sh
# firewalld.sh [INTERFACE]: lets srdtun's port in, and puts the tunnel into a zone of its
# own that may reach this host's ssh. Root. Nothing is changed that is there already.
set -eu
tunnel=${1:-lab}
fw() { firewall-cmd --permanent "$@"; }
if ! fw --get-services | grep -qw srdtun; then
  fw --new-service=srdtun
  fw --service=srdtun --set-short="srdtun tunnel"
  fw --service=srdtun --add-port=51820/udp
fi
fw --add-service=srdtun # in the default zone, which is where peers come from
if ! fw --get-zones | grep -qw srdtun; then
  fw --new-zone=srdtun
  fw --zone=srdtun --add-service=ssh
  fw --zone=srdtun --add-forward
fi
fw --zone=srdtun --add-interface="$tunnel"
firewall-cmd --reload
