#!/usr/bin/env bash
# build.sh [FOLDER]: an OCI image of this checkout as an image layout (default: .signalbox/image), without a registry, a daemon or root.
# Needs Debian or Ubuntu (`apt-get download`, `dpkg-deb`), tar, gzip and what `npm ci` has installed. See docs/deployment.md.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
case ${1:-} in "") out=$root/.signalbox/image ;; /*) out=$1 ;; *) out=$OLDPWD/$1 ;; esac
for program in apt-get dpkg-deb tar gzip npm; do
  command -v "$program" >/dev/null || { echo "deploy/image/build.sh: needs $program" >&2; exit 1; }
done
case $(uname -m) in x86_64) arch=amd64 node=x64 ;; aarch64) arch=arm64 node=arm64 ;; *) echo "no Node for $(uname -m)" >&2; exit 1 ;; esac
runtime=$root/node_modules/node-linux-$node
[ -x "$runtime/bin/node" ] || { echo "deploy/image/build.sh: run npm ci first" >&2; exit 1; }

room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
base=$room/base app=$room/app
umask 022

# What Node needs of a system: the C and C++ libraries. There is no shell.
mkdir -p "$room/debs" "$base"/{etc,tmp,proc,sys,dev,run,usr/bin,usr/lib,usr/lib64,usr/local/bin,usr/share/doc}
ln -s usr/bin "$base/bin" && ln -s usr/lib "$base/lib" && ln -s usr/lib64 "$base/lib64"
# A fresh container has no lists of packages.
if [ "$(id -u)" = 0 ] && ! apt-cache show libatomic1 >/dev/null 2>&1; then apt-get update -qq; fi
(cd "$room/debs" && apt-get -o APT::Sandbox::User="$(id -un)" download -qq libc6 libgcc-s1 libstdc++6 libatomic1 >/dev/null)
for package in "$room"/debs/*.deb; do
  dpkg-deb --fsys-tarfile "$package" | tar --extract --directory "$base" --keep-directory-symlink --no-same-owner
  dpkg-deb --show --showformat '${Package} ${Version} ${Architecture}\n' "$package"
done | sort >"$room/packages.txt"
cp "$runtime/bin/node" "$base/usr/local/bin/node"
cp "$runtime/LICENSE" "$base/usr/share/doc/LICENSE.node"
printf 'root:x:0:0:root:/:/nonexistent\nsignalbox:x:10001:10001:signalbox:/var/lib/signalbox:/nonexistent\n' >"$base/etc/passwd"
printf 'root:x:0:\nsignalbox:x:10001:\n' >"$base/etc/group"
printf 'hosts: files dns\n' >"$base/etc/nsswitch.conf"

# The package as it would be published, with the versions of the lockfile and without scripts.
mkdir -p "$app/opt/signalbox" "$app/var/lib/signalbox" "$app/etc/signalbox" "$room/packed" "$room/dependencies"
npm pack --silent --pack-destination "$room/packed" >/dev/null
tar --extract --gzip --file "$room"/packed/*.tgz --directory "$app/opt/signalbox" --strip-components 1 --no-same-owner
cp package.json package-lock.json .npmrc "$room/dependencies"
for workspace in mock tools/node tools/postgres; do
  mkdir -p "$room/dependencies/$workspace" && cp "$workspace/package.json" "$room/dependencies/$workspace"
done
(cd "$room/dependencies" && npm ci --silent --omit=dev --workspaces=false --ignore-scripts --no-audit --no-fund --prefer-offline)
mv "$room/dependencies/node_modules" "$app/opt/signalbox/node_modules"

# Names, owners and times are the same on every machine, so the same sources make the same layers. Only the state belongs to the user.
same=(--numeric-owner --mtime=@0 --format=posix --pax-option=delete=atime,delete=ctime)
layer() { # layer FILE: the current folder
  find . -path ./var/lib/signalbox -prune -o -print0 | LC_ALL=C sort --zero-terminated >"$room/names"
  tar --create --file "$1" "${same[@]}" --owner=0 --group=0 --mode=go-w --no-recursion --null --files-from "$room/names"
}
(cd "$base" && layer "$room/base.tar")
(cd "$app" && layer "$room/app.tar" &&
  tar --append --file "$room/app.tar" "${same[@]}" --owner=10001 --group=10001 --mode=0700 ./var/lib/signalbox)

rm -rf "$out" && mkdir -p "$out"
"$runtime/bin/node" deploy/image/layout.mjs "$out" "$arch" "$room/packages.txt" "$app/opt/signalbox/sbom.cdx.json" "$room/base.tar" "$room/app.tar"
