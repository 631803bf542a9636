#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/setcap.sh BINARY [1]   offers, or with 1 makes, what lets ordinary users run
# programs against the network, behind the gate: the user and group sonde, a binary
# that is setgid sonde (it gives the group up as soon as the ledger is open) and has
# file capabilities, and the ledger below /var/lib/sonde.
set -eu
caps="cap_net_raw,cap_net_admin+ep"
user="useradd --system --user-group --no-create-home --shell /usr/sbin/nologin sonde"
if [ "${2:-}" = 1 ]; then
	getent group sonde > /dev/null || $user
	chown root:sonde "$1" # before setcap: a new owner takes capabilities away
	chmod 2755 "$1"
	setcap "$caps" "$1"
	getcap "$1"
	[ -e /var/lib/sonde/ledger ] || "$1" ledger init
else
	echo "Only root can run programs against the network now. To let others do so, within policy:"
	echo "  $user"
	echo "  chown root:sonde $1 && chmod 2755 $1 && setcap $caps $1 && $1 ledger init"
	echo "  (or, all at once: make install SETCAP=1)"
fi
