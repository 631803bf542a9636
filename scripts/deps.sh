#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing of the Debian 12 packages that Sonde needs, and says
# so first.  scripts/deps.sh build|test|cross
set -eu
build="gcc make meson ninja-build pkg-config libpcap-dev libmnl-dev libnftnl-dev libseccomp-dev libcap-dev libmd-dev libssl-dev libjansson-dev libmicrohttpd-dev libcjose-dev ca-certificates python3"
demo="iproute2 iputils-ping nftables procps util-linux libcap2-bin"
tests="libcmocka-dev python3-pytest python3-jsonschema python3-scapy tshark tcpdump nginx-light dnsmasq-base chrony snmpd iperf3 mtr-tiny nmap fping openssl
 ethtool clang libclang-rt-14-dev lua5.4 mandoc strace bash-completion systemd"
cross="gcc-aarch64-linux-gnu libc6-dev:arm64 libpcap0.8-dev:arm64 libmnl-dev:arm64 libnftnl-dev:arm64 libseccomp-dev:arm64
 libcap-dev:arm64 libmd-dev:arm64 libssl-dev:arm64
 libjansson-dev:arm64 libmicrohttpd-dev:arm64 libcjose0:arm64"

command -v npm > /dev/null || tests="$tests npm"

case "${1:-build}" in
build) want="$build $demo" ;;
test) want="$build $demo $tests" ;;
cross) want="$cross" ;;
*) echo "usage: scripts/deps.sh build|test|cross" >&2; exit 6 ;;
esac

missing=""
for p in $want; do
	dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
echo "missing Debian packages:$missing"
if [ "$(id -u)" != 0 ]; then
	echo "run this as root, or: sudo apt-get install$missing" >&2
	exit 5
fi
echo "installing them with apt-get ..."
case "$missing" in *:arm64*) dpkg --add-architecture arm64 ;; esac
export DEBIAN_FRONTEND=noninteractive
apt-get -qq update
apt-get -qq install -y --no-install-recommends $missing > /dev/null
