#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# make demo: a client, two routers and a server in network namespaces of their
# own; a program finds out what is wrong between them.
#
#   client 10.9.1.2 --- 10.9.1.1 r1 10.9.2.1 --- 10.9.2.2 r2 10.9.3.1 --- 10.9.3.2 server
#                                     (the link r1-r2 has an MTU of 1300; r2 drops TCP to port 81)
set -euo pipefail
sonde=$(readlink -f "${1:-build/sonde}")
here=$(dirname "$(readlink -f "$0")")
if [ "$(id -u)" != 0 ]; then
	echo "make demo needs root: it makes network namespaces (sudo make demo)" >&2
	exit 5
fi
id=sonde-demo-$$
client=$id-c r1=$id-1 r2=$id-2 server=$id-s
pids=()
cleanup() {
	for p in "${pids[@]}"; do kill "$p" 2> /dev/null || true; done
	for n in $client $r1 $r2 $server; do ip netns del "$n" 2> /dev/null || true; done
}
trap cleanup EXIT

link() { # ns address ns address
	local a=v$((++veth))a$$ b=v${veth}b$$
	ip link add "$a" netns "$1" type veth peer name "$b" netns "$3"
	ip -n "$1" addr add "$2/24" dev "$a"
	ip -n "$3" addr add "$4/24" dev "$b"
	ip -n "$1" link set "$a" up
	ip -n "$3" link set "$b" up
	last_a=$a last_b=$b
}
veth=0
for n in $client $r1 $r2 $server; do
	ip netns add "$n"
	ip -n "$n" link set lo up
	ip netns exec "$n" sysctl -qw net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0
done
link $client 10.9.1.2 $r1 10.9.1.1
link $r1 10.9.2.1 $r2 10.9.2.2
ip -n $r1 link set "$last_a" mtu 1300
ip -n $r2 link set "$last_b" mtu 1300
link $r2 10.9.3.1 $server 10.9.3.2
ip -n $client route add default via 10.9.1.1
ip -n $r1 route add 10.9.3.0/24 via 10.9.2.2
ip -n $r2 route add 10.9.1.0/24 via 10.9.2.1
ip -n $server route add default via 10.9.3.1
ip netns exec $r2 nft -f - << 'EOF'
table ip demo {
	chain forward {
		type filter hook forward priority 0;
		tcp dport 81 drop
	}
}
EOF
ip netns exec $server python3 -m http.server --bind 10.9.3.2 80 > /dev/null 2>&1 &
pids+=($!)
for _ in $(seq 50); do
	ip netns exec $server sh -c 'exec 3<>/dev/tcp/10.9.3.2/80' 2> /dev/null && break
	[ "$(ip netns exec $server ss -Hltn | wc -l)" -gt 0 ] && break
	sleep 0.1
done

echo "The program ($here/demo.sonde):"
sed 's/^/    /' "$here/demo.sonde"
echo
echo "\$ sonde check demo.sonde"
ip netns exec $client "$sonde" check "$here/demo.sonde"
echo
echo "\$ sonde run demo.sonde"
ip netns exec $client "$sonde" run "$here/demo.sonde"
echo
forbidden='send(IP(dst="10.9.3.2")/UDP(sport=9, dport=161))'
echo "\$ sonde run -e '$forbidden'      # what may not be: a port that is not ours, SNMP unasked"
ip netns exec $client "$sonde" run -e "$forbidden" || echo "(exit code $?)"
ip netns exec $client nft list tables | grep -q sonde && { echo "a table was left behind" >&2; exit 1; }
echo
echo "Nothing was left behind: no firewall table, no process. The namespaces go now."
