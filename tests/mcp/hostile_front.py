# SPDX-License-Identifier: Apache-2.0
"""A front that is not ours: `sonde mcp` starts a shim in its place, which hands its channels to the test."""
import os
import pathlib
import socket
import struct

from lab import sonde_binary
from lab.procs import wait_for

MAGIC = 0x534c4155
RUN, POLICY, LOCAL, AUDIT = 1, 2, 3, 4  # deal/launch.h
ASK, SAID = 360, 256

SHIM = r"""
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX, .sun_path = PLACE };
	int s = socket(AF_UNIX, SOCK_STREAM, 0), fds[2] = { 3, 4 };
	char byte = 0, ctl[CMSG_SPACE(sizeof fds)] = { 0 };
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = ctl, .msg_controllen = sizeof ctl };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof fds);
	memcpy(CMSG_DATA(c), fds, sizeof fds);
	if (connect(s, (struct sockaddr *)&a, sizeof a) || sendmsg(s, &m, 0) != 1)
		return 9;
	close(3);
	close(4);
	return read(s, &byte, 1) != 0;
}
"""


def install(lab, node):
    """A folder with sonde and, beside it, the shim."""
    folder = pathlib.Path(lab.path("hostile"))
    folder.mkdir()
    os.chmod(lab.dir, 0o755)
    node.run("cp", sonde_binary().resolve(), sonde_binary().resolve().parent / "sonde-tls", folder)
    (folder / "front.c").write_text(SHIM)
    node.run("cc", f'-DPLACE="{folder}/place"', "-o", f"{folder}/sonde-mcp", f"{folder}/front.c")
    return folder


def ask(op, caller="", approve=None, max_output=0, tool="", outcome="", finding="", args=bytes(32)):
    """The bytes of a LaunchAsk; texts may be bytes, and longer than they may be."""
    def text(t, n):
        return (t if isinstance(t, bytes) else t.encode()).ljust(n, b"\0")[:n]
    return (struct.pack(">IBB", MAGIC, op, approve is not None) + (approve or bytes(32)) + struct.pack(">I", max_output) + text(caller, 48)
            + text(tool, 64) + text(outcome, 64) + text(finding, 64) + args).ljust(ASK, b"\0")


def job(source, limits="", name="program", params=()):
    def text(t):
        return struct.pack(">I", len(t.encode())) + t.encode()
    return (struct.pack(">I", MAGIC) + text(name) + text(source) + text(limits) + struct.pack(">I", len(params))
            + b"".join(text(k) + text(v) for k, v in params))


def memfd(data):
    fd = os.memfd_create("job")
    os.write(fd, data)
    return fd


def said(raw):
    """(ok, text) of a LaunchSaid."""
    assert len(raw) == SAID and struct.unpack(">I", raw[:4])[0] == MAGIC, raw
    return bool(raw[4]), raw[6:].rstrip(b"\0").decode()


class Answer:
    """Our ends of an ask."""

    def __init__(self):
        self.out, self.pipe = os.pipe()
        self.control, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def sent(self):
        os.close(self.pipe)
        self.theirs.close()
        return self

    def read(self, timeout=30):
        """All of it, or what the launcher said in its place."""
        os.set_blocking(self.out, False)
        got = bytearray()

        def ended():
            try:
                piece = os.read(self.out, 1 << 16)
            except BlockingIOError:
                return False
            got.extend(piece)
            return not piece
        wait_for(ended, timeout, 0.01, "the answer's end")
        if got:
            return got.decode()
        self.control.settimeout(timeout)
        raw = self.control.recv(SAID + 1)
        return said(raw)[1] if raw else ""

    def close(self):
        os.close(self.out)
        self.control.close()


class Hostile:
    """`sonde mcp ARGS` with us as its front."""

    def __init__(self, folder, node, *args):
        place = folder / "place"
        place.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(place))
            os.chmod(place, 0o777)
            listening.listen(1)
            listening.settimeout(30)
            self.proc = node.start(f"{folder}/sonde", "mcp", *map(str, args))
            self.shim, _ = listening.accept()
        _, fds, _, _ = socket.recv_fds(self.shim, 1, 2)
        self.launcher, self.checker = (socket.socket(fileno=fd) for fd in fds)

    def raw(self, data, *fds):
        socket.send_fds(self.launcher, [data], list(fds))

    def text(self, op, caller=""):
        a = Answer()
        self.raw(ask(op, caller), a.pipe, a.theirs.fileno())
        return a.sent()

    def run(self, source, caller="", approve=None, max_output=0, **more):
        a, fd = Answer(), memfd(job(source, **more))
        self.raw(ask(RUN, caller, approve, max_output), fd, a.pipe, a.theirs.fileno())
        os.close(fd)
        return a.sent()

    def audit(self, caller="", **more):
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                self.raw(ask(AUDIT, caller, **more), theirs.fileno())
            ours.settimeout(30)
            return said(ours.recv(SAID + 1))

    def end(self):
        """The front ends as ours does; the exit code."""
        for s in (self.launcher, self.checker, self.shim):
            s.close()
        return self.proc.wait(30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.proc.rc is None:
            self.end()
