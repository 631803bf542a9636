# SPDX-License-Identifier: Apache-2.0
"""Services of a lab's hosts, each a process: services.py KIND ARGS.  Prints "ready"
when it listens.  Runs until it is ended (the lab does) or for an hour."""
import os
import signal
import socket
import sys
import threading


def udp_socket(port, addr="0.0.0.0"):
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)  # SO_RCVBUFFORCE: root
    s.setsockopt(socket.SOL_SOCKET, 32, 64 << 20)  # SO_SNDBUFFORCE
    s.bind((addr, int(port)))
    return s


def ready():
    print("ready", flush=True)


def udp_echo(port, addr="0.0.0.0"):
    s = udp_socket(port, addr)
    ready()
    while True:
        data, peer = s.recvfrom(65535)
        s.sendto(data, peer)


def udp_discard(port, addr="0.0.0.0"):
    s = udp_socket(port, addr)
    ready()
    buf = bytearray(65535)
    while True:
        s.recv_into(buf)


def udp_twice(port, addr="0.0.0.0"):
    """Answers each datagram twice: a duplicate on the wire."""
    s = udp_socket(port, addr)
    ready()
    while True:
        data, peer = s.recvfrom(65535)
        s.sendto(data, peer)
        s.sendto(data, peer)


def tcp_listener(port, addr="0.0.0.0", backlog=1024):
    family = socket.AF_INET6 if ":" in addr else socket.AF_INET
    s = socket.socket(family, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((addr, int(port)))
    s.listen(int(backlog))
    return s


def tcp_accept(*ports):
    """Listens and never calls accept(): the kernel alone does the handshake. Ports as 80 or 80/::."""
    kept = [tcp_listener(port, addr or "0.0.0.0") for port, _, addr in (p.partition("/") for p in ports)]
    ready()
    while kept:
        signal.pause()


def tcp_serve(port, each, addr="0.0.0.0"):
    s = tcp_listener(port, addr)
    ready()
    while True:
        conn, _ = s.accept()
        threading.Thread(target=each, args=(conn,), daemon=True).start()


def quietly(f):
    def wrapped(conn):
        try:
            with conn:
                f(conn)
        except OSError:
            pass
    return wrapped


@quietly
def echo_conn(conn):
    while data := conn.recv(65536):
        conn.sendall(data)


@quietly
def discard_conn(conn):
    while conn.recv(65536):
        pass


def tcp_echo(port, addr="0.0.0.0"):
    tcp_serve(port, echo_conn, addr)


def tcp_discard(port):
    tcp_serve(port, discard_conn)


def tcp_blob(port, size="60000"):
    """Sends so many bytes at once to whoever connects: segmentation offload makes them few
    large frames."""
    def blob(conn):
        conn.sendall(bytes(int(size)))
        conn.recv(1)
    tcp_serve(port, quietly(blob))


def udp_gso(port, size="1400", n="10"):
    """Answers a datagram with n of them in one call (UDP_SEGMENT): one frame above the MTU."""
    s = udp_socket(port)
    s.setsockopt(socket.SOL_UDP, 103, int(size))
    ready()
    while True:
        _, peer = s.recvfrom(65535)
        s.sendto(bytes(int(size) * int(n)), peer)


def udp_flood(port, size="1000", n="20000"):
    """Answers a datagram with n, as fast as they go."""
    s = udp_socket(port)
    ready()
    while True:
        _, peer = s.recvfrom(65535)
        data = bytes(int(size))
        for _ in range(int(n)):
            s.sendto(data, peer)


def burn(n="2"):
    """Keeps n processors busy: background load of the benches."""
    kids = []
    for _ in range(int(n)):
        pid = os.fork()
        if pid == 0:
            signal.alarm(600)
            parent = os.getppid()
            x = 1
            while os.getppid() == parent:
                for _ in range(100000):
                    x = x * 1103515245 % 2147483648
            os._exit(0)
        kids.append(pid)
    ready()
    try:
        signal.pause()
    finally:
        for pid in kids:
            os.kill(pid, signal.SIGKILL)


KINDS = {"udp-echo": udp_echo, "udp-discard": udp_discard, "udp-twice": udp_twice,
         "tcp-accept": tcp_accept, "tcp-echo": tcp_echo, "tcp-discard": tcp_discard,
         "tcp-blob": tcp_blob, "udp-gso": udp_gso, "udp-flood": udp_flood, "burn": burn}

if __name__ == "__main__":
    signal.alarm(3600)
    signal.signal(signal.SIGTERM, lambda *a: sys.exit(0))
    KINDS[sys.argv[1]](*sys.argv[2:])
