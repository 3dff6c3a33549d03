#!/bin/sh
# next.sh [PACKAGE]...: names the tests to run next, after those of the PACKAGEs: the tests of each
# package that differs from the upstream branch, and what else its kind of change needs.
set -eu
base=$(git merge-base HEAD '@{upstream}' 2>/dev/null || git merge-base HEAD origin/HEAD 2>/dev/null || echo HEAD)
changed=$({ git diff --name-only "$base" -- && git ls-files --others --exclude-standard; } 2>/dev/null) || changed=''

# tested says whether the folder $1 is one of the PACKAGEs that follow.
tested() {
  here=./$1
  shift
  for package; do
    case $package in
    */...) case $here/ in "${package%...}"*) return 0 ;; esac ;;
    "$here") return 0 ;;
    esac
  done
  return 1
}

core='' seen=' '
for file in $changed; do
  case $file in srd/* | overlay/*) core=yes ;; esac
  case $file in *.go | */testdata/*) ;; *) continue ;; esac
  folder=${file%%/testdata/*}
  [ "$folder" != "$file" ] || folder=$(dirname "$file")
  case $seen in *" $folder "*) continue ;; esac
  seen="$seen$folder "
  ls "$folder"/*_test.go >/dev/null 2>&1 || continue
  ! tested "$folder" "$@" || continue
  command="go test ./$folder"
  for module in bench lab fleet/apiserver fleet examples/grpc examples/sql; do
    case $folder/ in "$module"/*) command="go -C $module test .${folder#"$module"}" && break ;; esac
  done
  case $folder in e2e) command="make build && SRDTUN_BIN=\$PWD/bin/srdtun go test ./e2e -run NAME" ;; esac
  commands="${commands-}
    $command"
done
if [ -n "${commands-}" ]; then
  echo "Next, the tests of what you have changed, as root if they make namespaces:$commands"
else
  echo "Next, the tests of what you have changed, for instance (as root) go test ./cmd/srdtun"
fi
[ -z "$core" ] || echo "For a change of srd/ or overlay/: sudo make regress BASE=<revision> SET=quick, and make acceptance"
echo "Before a commit: sudo make test"
