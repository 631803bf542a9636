# SPDX-License-Identifier: Apache-2.0
"""Labs from network namespaces: real Linux hosts and routers, planted faults,
captures as oracles.  See README.md of the folder above for the map."""
from .capture import Capture
from .net import Lab, Node, Iface
from .procs import Deadline, Proc, tool
from .sonde import Run, sonde_binary

__all__ = ["Capture", "Deadline", "Iface", "Lab", "Node", "Proc", "Run",
           "sonde_binary", "tool"]
