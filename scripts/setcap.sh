#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# scripts/setcap.sh BINARY [1]   offers, or with 1 sets, the file capabilities that
# let ordinary users run programs against the network, behind the gate.
set -eu
caps="cap_net_raw,cap_net_admin+ep"
if [ "${2:-}" = 1 ]; then
	setcap "$caps" "$1"
	getcap "$1"
else
	echo "Only root can run programs against the network now. To let others do so, within policy:"
	echo "  setcap $caps $1    (or: make install SETCAP=1)"
fi
