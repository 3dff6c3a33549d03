# What an installation does, of a deb as of an rpm; $1 is empty but for an upgrade. It makes
# the group of those who may use the control sockets. An upgrade restarts what runs, which
# keeps devices, routes and ports.
installed() {
  if command -v systemd-sysusers >/dev/null; then
    systemd-sysusers srdtun.conf
  elif ! getent group srdtun >/dev/null; then
    groupadd --system srdtun
  fi
  old=
  if [ "$(stat -c %U /run/srdtun 2>/dev/null)" = srdtun ]; then
    old=yes
    takes_back
  fi
  [ -d /run/systemd/system ] || return 0
  systemctl daemon-reload
  # The files that keep network managers off our interfaces count from now on.
  udevadm control --reload 2>/dev/null || true
  if systemctl -q is-active systemd-networkd.service; then networkctl reload || true; fi
  [ -n "$1" ] || return 0
  [ -z "$old" ] || services | while read -r name; do moves "$name"; done || true
  # One that does not start has its reason in the journal; the installation is done.
  systemctl try-restart 'srdtun@*.service' || true
  [ -z "$old" ] || services | while read -r name; do cleans "$name"; done || true
}

# An earlier version ran all services as one user, srdtun, who owned /run/srdtun. First of all
# nobody but root gives a name there any more. Then what is there of routes and rules that
# outlive a tunnel, and of peers, moves to where its service looks for it.
takes_back() {
  chown -h root:root /run/srdtun
  chmod 0755 /run/srdtun
}

# services prints the NAME of each srdtun@NAME.service that is known.
services() {
  systemctl list-units --plain --no-legend 'srdtun@*.service' | while read -r unit rest; do
    name=${unit#srdtun@}
    echo "${name%.service}"
  done
}

# devices prints the devices that a service may have had: a configuration may name another one
# than itself.
devices() {
  echo "$1"
  sed -n 's/^name *= *"\([^"/]*\)".*/\1/p' "/etc/srdtun/$1.toml" 2>/dev/null | head -n 1
}

moves() {
  mkdir -p -m 0700 /var/lib/private
  mkdir -p -m 0755 /var/lib/private/srdtun
  # One that is there already is the service's user's: root writes nothing into it.
  mkdir -m 0700 "/var/lib/private/srdtun/$1" 2>/dev/null || return 0
  devices "$1" | while read -r device; do
    for file in "$device.state" "$device.peers"; do
      copies "/run/srdtun/$file" "/var/lib/private/srdtun/$1/$file"
    done
  done
}

# copies what the old user may read himself, for it may be a link; no more than such a file
# ever has, for it may have no end; and not for long, for it may be a pipe by now.
copies() {
  [ -f "$1" ] || return 0
  if timeout 5 setpriv --reuid=srdtun --regid=srdtun --clear-groups head -c 4194304 "$1" >"$2" </dev/null; then
    rm -f "$1"
  else
    rm -f "$2"
  fi
}

# cleans removes what the old service cannot remove itself any more.
cleans() {
  devices "$1" | while read -r device; do
    rm -f "/run/srdtun/$device.sock" "/run/srdtun/$device.lock" "/run/srdtun/$device.state" "/run/srdtun/$device.peers"
  done
}
