# SPDX-License-Identifier: Apache-2.0
"""Offloads of an interface off or on, by SIOCETHTOOL (linux/ethtool.h): test
machines need no ethtool binary.  With them off, each frame on a veth is what a
wire would carry: at most one MTU long, its checksum computed."""
import ctypes
import fcntl
import socket
import struct

SIOCETHTOOL = 0x8946
# linux/ethtool.h: ETHTOOL_S*; each takes struct ethtool_value {u32 cmd, data}.
SET = {"rx": 0x15, "tx": 0x17, "sg": 0x19, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}


def set_offload(sock: socket.socket, ifname: str, what: str, on: bool):
    value = ctypes.create_string_buffer(struct.pack("=II", SET[what], int(on)))
    request = struct.pack("16sQ16x", ifname.encode(), ctypes.addressof(value))
    fcntl.ioctl(sock, SIOCETHTOOL, request)


def offloads(sock: socket.socket, ifname: str, on: bool):
    """Checksum, segmentation and receive merging, all of them."""
    for what in ("tso", "gso", "gro", "tx"):
        try:
            set_offload(sock, ifname, what, on)
        except OSError:
            if what in ("tx", "tso"):
                raise
