# SPDX-License-Identifier: Apache-2.0
"""Certificates of a lab, made by the openssl tool: a root, and what it signed."""
import os
import shutil
import subprocess
import tempfile

STORE = "/etc/ssl/certs/ca-certificates.crt"


class Authority:
    """A root of its own.  .cert(name, san, days) -> (certificate, key): paths."""

    def __init__(self, lab, name="Lab Root"):
        self.dir = tempfile.mkdtemp(prefix="sonde-lab-certs-")
        os.chmod(self.dir, 0o755)
        lab.keep(self)
        self._key("root")
        self._ssl("req", "-x509", "-new", "-key", "root.key", "-days", "30", "-subj", f"/CN={name}", "-out", "root.pem")

    def stop(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    def _ssl(self, *args):
        r = subprocess.run(["openssl", *args], cwd=self.dir, capture_output=True, text=True, timeout=30)
        assert r.returncode == 0, r.stderr

    def _key(self, name):
        self._ssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", f"{name}.key")
        os.chmod(self.path(f"{name}.key"), 0o644)

    def path(self, name):
        return os.path.join(self.dir, name)

    def cert(self, name, san, days=10, signed=True):
        self._key(name)
        with open(self.path(f"{name}.ext"), "w", encoding="ascii") as f:
            f.write(f"subjectAltName={san}\n")
        self._ssl("req", "-new", "-key", f"{name}.key", "-subj", f"/O=Acme/CN={name}", "-out", f"{name}.csr")
        by = ["-CA", "root.pem", "-CAkey", "root.key", "-CAcreateserial"] if signed else ["-signkey", f"{name}.key"]
        self._ssl("x509", "-req", "-in", f"{name}.csr", *by, "-days", str(days), "-extfile", f"{name}.ext", "-out",
                  f"{name}.pem")
        return self.path(f"{name}.pem"), self.path(f"{name}.key")

    def trusted_by(self, node):
        """The root is all that this node's system store holds."""
        with open(self.path("root.pem"), encoding="ascii") as f:
            node.write(STORE, f.read())
