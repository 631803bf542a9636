# SPDX-License-Identifier: Apache-2.0
"""Servers of HTTP and TLS that no server should be, a port each from 8000 on: run in a node, `ready` when all listen."""
import itertools
import socket
import struct
import threading
import time

OK = b"HTTP/1.1 200 OK\r\n"


def drip(c, data, every=0.3):
    for byte in data:
        c.sendall(bytes([byte]))
        time.sleep(every)


def slow_head(c):
    drip(c, OK + b"X-Long: " + b"x" * 1000)


def slow_body(c):
    c.sendall(OK + b"Content-Length: 1000\r\n\r\n")
    drip(c, b"y" * 1000)


def ends_in_head(c):
    c.sendall(OK + b"Content-Ty")


def ends_in_body(c):
    c.sendall(OK + b"Content-Length: 100\r\n\r\nonly this")


def resets(c):
    c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def ten_megabytes_of_fields(c):
    c.sendall(OK)
    for i in range(10_000):
        c.sendall(b"X-%d: " % i + b"z" * 1000 + b"\r\n")
    c.sendall(b"\r\n")


def one_endless_field(c):
    c.sendall(OK + b"X: ")
    while True:
        c.sendall(b"z" * 65536)


def endless_body(c):
    c.sendall(OK + b"\r\n")
    while True:
        c.sendall(b"e" * 65536)


def endless_chunks(c):
    c.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        c.sendall(b"5\r\nchunk\r\n" * 1000)


def redirects_to_itself(c):
    c.sendall(b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n")


def endless_interim(c):
    while True:
        c.sendall(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100)


def silent(c):
    time.sleep(60)


def other_protocol(c):
    c.sendall(b"220 mail.acme.corp ESMTP\r\n")
    time.sleep(60)


def endless_noise(c):
    for n in itertools.count():
        c.sendall(struct.pack("!I", n * 2654435761 % 2**32) * 4096)


def slow_tls(c):
    """A handshake record that promises 16 kB."""
    c.sendall(b"\x16\x03\x03\x40\x00\x02")
    drip(c, b"\0" * 1000)


ALL = [slow_head, slow_body, ends_in_head, ends_in_body, resets, ten_megabytes_of_fields, one_endless_field, endless_body,
       endless_chunks, redirects_to_itself, endless_interim, silent, other_protocol, endless_noise, slow_tls]
PORT = {f.__name__: 8000 + i for i, f in enumerate(ALL)}


def serve(listener, behave):
    def one(c):
        try:
            if behave not in (silent, other_protocol, endless_noise, slow_tls):
                c.recv(65536)
            behave(c)
        except OSError:
            pass
        c.close()
    while True:
        threading.Thread(target=one, args=(listener.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    listeners = [(socket.create_server(("", PORT[f.__name__])), f) for f in ALL]
    print("ready", flush=True)
    for listener, f in listeners[1:]:
        threading.Thread(target=serve, args=(listener, f), daemon=True).start()
    serve(*listeners[0])
