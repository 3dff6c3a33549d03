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
# An earlier version ran all services as one user, which owned /run/srdtun. What is there of
# routes and rules that outlive a tunnel, and of peers, moves to where its service looks for
# it. A name there is the device's, and a configuration may name another device than itself.
# All is read as that user, who may have put a link there.
as_before() { setpriv --reuid=srdtun --regid=srdtun --clear-groups "$@" </dev/null; }
moves() {
  [ "$(stat -c %U /run/srdtun 2>/dev/null)" = srdtun ] || return 0
  systemctl list-units --plain --no-legend 'srdtun@*.service' | while read -r unit rest; do
    name=${unit#srdtun@}
    name=${name%.service}
    to=/var/lib/private/srdtun/$name
    mkdir -p -m 0700 /var/lib/private
    mkdir -p -m 0755 /var/lib/private/srdtun
    mkdir -p -m 0700 "$to"
    for device in "$name" $(sed -n 's/^name *= *"\([^"/]*\)".*/\1/p' "/etc/srdtun/$name.toml" 2>/dev/null | head -n 1); do
      for file in "$device.state" "$device.peers"; do
        [ -f "/run/srdtun/$file" ] || continue
        as_before cat "/run/srdtun/$file" >"$to/$file" || rm -f "$to/$file"
        as_before rm -f "/run/srdtun/$file"
      done
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
