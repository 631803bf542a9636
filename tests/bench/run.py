# SPDX-License-Identifier: Apache-2.0
"""All benches, one after the other: a table line a figure.  Options are handed on."""
import subprocess
import sys

from common import HERE, options

BENCHES = ["start", "check", "vm", "pcap", "stamps", "rate", "answers", "stack", "mcp"]


def main():
    options(__doc__)
    failed = []
    for name in BENCHES:
        print(f"-- {name}", flush=True)
        if subprocess.run([sys.executable, str(HERE / f"{name}.py"), *sys.argv[1:]], check=False).returncode:
            failed.append(name)
    print(f"{len(BENCHES) - len(failed)} passed, {len(failed)} failed"
          + (f" ({', '.join(failed)})" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
