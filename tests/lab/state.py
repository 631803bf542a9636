# SPDX-License-Identifier: Apache-2.0
"""The state folder of a node, and a binary that an ordinary user may run: setgid and with
file capabilities, as scripts/setcap.sh installs it."""
import os
import shutil
import tempfile

from .procs import Proc, run
from .sonde import Run, sonde_argv, sonde_binary

GID = 64990  # of user and group sonde in the nodes
FOLDER = "/var/lib/sonde"


def add_user(node):
    """User and group sonde, in this node's own /etc."""
    for path, line in (("/etc/passwd", f"sonde:x:{GID}:{GID}::/nonexistent:/usr/sbin/nologin\n"),
                       ("/etc/group", f"sonde:x:{GID}:\n")):
        text = node.read(path)
        if "\nsonde:" not in text:
            node.write(path, text + line)


def ledger_init(node, *args):
    add_user(node)
    return node.sonde(None, command="ledger", args=["init", *args])


class Installed:
    """A copy below /run that any user may run against the network."""

    def __init__(self, lab, setgid=True):
        self.dir = tempfile.mkdtemp(prefix="sonde-installed-", dir="/run")
        os.chmod(self.dir, 0o755)
        self.path = shutil.copy(sonde_binary().resolve(), self.dir)
        shutil.copy(sonde_binary().resolve().parent / "sonde-tls", self.dir)  # where sonde looks for it
        os.chown(self.path, 0, GID)
        os.chmod(self.path, 0o2755 if setgid else 0o755)
        run(["setcap", "cap_net_raw,cap_net_admin+ep", self.path])
        lab.keep(self)

    def stop(self):
        shutil.rmtree(self.dir, True)

    def argv(self, node, uid, program, args=(), **kw):
        argv = sonde_argv(program, args, **kw)
        return node.argv("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", self.path, *argv[1:])

    def start(self, node, uid, program, args=(), **kw):
        return node.lab.keep(Proc(self.argv(node, uid, program, args, **kw), name="sonde"))

    def run(self, node, uid, program, args=(), json=False, timeout=60, **kw):
        argv = self.argv(node, uid, program, args, json=json, **kw)
        proc = Proc(argv, name="sonde")
        proc.wait(timeout)
        return Run(proc, json, argv)
