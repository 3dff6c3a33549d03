#!/bin/sh
# deb-postinst(5): makes the group of those who may use the control sockets. An upgrade
# restarts what runs, which keeps devices, routes, ports and sessions.
set -e
[ "$1" = configure ] || exit 0
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers srdtun.conf
elif ! getent group srdtun >/dev/null; then
  groupadd --system srdtun
fi
# An earlier version ran all services as one user, which owned /run/srdtun. What says which
# routes and rules of a tunnel outlive it moves to where its service looks for it; a name
# there is the device's, and the file may name another device than itself. It is read as that
# user, who may have put a link there.
moves() {
  id srdtun >/dev/null 2>&1 || return 0
  systemctl list-units --plain --no-legend 'srdtun@*.service' | while read -r unit rest; do
    name=${unit#srdtun@}
    name=${name%.service}
    for device in "$name" $(sed -n 's/^name *= *"\([^"/]*\)".*/\1/p' "/etc/srdtun/$name.toml" 2>/dev/null | head -n 1); do
      state=/run/srdtun/$device.state
      [ -f "$state" ] || continue
      mkdir -p -m 0700 /var/lib/private
      mkdir -p -m 0755 /var/lib/private/srdtun
      mkdir -p -m 0700 "/var/lib/private/srdtun/$name"
      setpriv --reuid=srdtun --regid=srdtun --clear-groups cat "$state" >"/var/lib/private/srdtun/$name/$device.state" </dev/null || rm -f "/var/lib/private/srdtun/$name/$device.state"
      setpriv --reuid=srdtun --regid=srdtun --clear-groups rm -f "$state" </dev/null
    done
  done
}
# Nobody but root gives a name there any more.
takes_back() {
  if [ -d /run/srdtun ]; then chown -h root:root /run/srdtun; fi
}
if [ -d /run/systemd/system ]; then
  systemctl daemon-reload
  if [ -n "$2" ]; then
    moves || true
    systemctl try-restart 'srdtun@*.service'
  fi
fi
takes_back
