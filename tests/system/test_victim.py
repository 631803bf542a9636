# SPDX-License-Identifier: Apache-2.0
"""The host's own connections are neither seen, reset nor disturbed: a TCP
connection and a UDP flow of the kernel live on the same interface, to the same
peer, while programs do their worst."""
import socket
import threading
import time

import pytest

from lab import oracle

needs_sonde = pytest.mark.sonde
TCP_PORT, UDP_PORT = 8000, 8001


class Victim:
    """Numbers over TCP and UDP every few milliseconds, each of which must come back."""

    def __init__(self, node, peer):
        self.tcp = node.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.tcp.settimeout(5)
        self.tcp.connect((peer, TCP_PORT))
        self.tcp.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.udp = node.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.settimeout(5)
        self.udp.connect((peer, UDP_PORT))
        self.tcp_port, self.udp_port = self.tcp.getsockname()[1], self.udp.getsockname()[1]
        self.rounds, self.worst, self.error = 0, 0.0, None
        self._end = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        try:
            while not self._end.wait(0.005):
                start = time.monotonic()
                number = self.rounds.to_bytes(8, "big")
                self.tcp.sendall(number)
                self.udp.send(number)
                assert self._read(8) == number
                assert self.udp.recv(100) == number
                self.worst = max(self.worst, time.monotonic() - start)
                self.rounds += 1
        except Exception as e:  # noqa: BLE001: judged by check()
            self.error = e

    def _read(self, n):
        data = b""
        while len(data) < n:
            got = self.tcp.recv(n - len(data))
            assert got, "the connection was closed"
            data += got
        return data

    def check(self, rounds=20):
        """Alive, and it made progress since."""
        before = self.rounds
        end = time.monotonic() + 5
        while self.rounds < before + rounds and not self.error and time.monotonic() < end:
            time.sleep(0.01)
        assert self.error is None, self.error
        assert self.rounds >= before + rounds

    def stop(self):
        self._end.set()
        self.thread.join(6)
        self.tcp.close(), self.udp.close()


@pytest.fixture
def scene(lab):
    us, peer = lab.hosts("us", "peer")
    lab.link(us, peer, "10.9.0.1/24", "10.9.0.2/24")
    peer.service("tcp-echo", str(TCP_PORT))
    peer.service("udp-echo", str(UDP_PORT))
    victim = lab.keep(Victim(us, "10.9.0.2"))
    return us, peer, victim


PROGRAMS = {
    "ping": 'print(ping("10.9.0.2", count=50, interval=0.01).received)',
    "same_tcp_port": '''
ans, unans = sr([IP(dst="10.9.0.2")/TCP(sport=46000 + i, dport=8000, flags="S") for i in range(30)], timeout=1, rate=100)
print(len(ans))''',
    "same_udp_port": '''
ans, unans = sr([IP(dst="10.9.0.2")/UDP(sport=46100 + i, dport=8001)/b"x" for i in range(30)], timeout=1, rate=100)
print(len(ans))''',
    "closed_ports": '''
ans, unans = sr([IP(dst="10.9.0.2")/TCP(dport=p, flags="S") for p in range(9000, 9030)], timeout=1, rate=100)
print(len(ans))''',
    "trace": 'print(traceroute("10.9.0.2", proto="tcp", dport=8000))',
}


@needs_sonde
@pytest.mark.parametrize("name", PROGRAMS)
def test_victim_is_not_disturbed(scene, name):
    us, _, victim = scene
    victim.check()
    with oracle.KernelSilence(us) as kernel:
        us.sonde(PROGRAMS[name]).ok()
        victim.check()
    time.sleep(1.2)
    victim.check()
    snmp = oracle.snmp(us)
    assert snmp["Tcp.EstabResets"] == 0 and kernel.rsts == 0
    assert oracle.residue(us) == []


@needs_sonde
def test_victim_is_not_seen(scene):
    """Neither in an open sniff nor with every right to capture."""
    us, _, victim = scene
    run = us.sonde('''
capture("ip")
send(IP(dst="10.9.0.2")/UDP(sport=46200, dport=8001)/b"mine")
n = 0
for p in sniff("", timeout=1.5):
    n += 1
    print(p.layers, p.hex())
print("seen", n)
''', installed='reach("10.9.0.2", tcp=[8000], udp=[8001])\ncapture(all)\n').ok()
    victim.check()
    ports = {f"{victim.tcp_port:04x}", f"{victim.udp_port:04x}"}
    assert not any(p in line.replace(" ", "") for line in run.lines for p in ports)
    assert run.lines[-1] == "seen 1"


@needs_sonde
@pytest.mark.parametrize("flags", ["R", "S", "A", "F"])
def test_victims_own_tuple_is_refused(scene, flags):
    """A program that names the very ports of the host's connection cannot use them."""
    us, peer, victim = scene
    cap = peer.ifaces["eth0"].capture(f"tcp src port {victim.tcp_port} and tcp[tcpflags] & (tcp-rst|tcp-syn|tcp-fin) != 0")
    run = us.sonde(f'send(IP(dst="10.9.0.2")/TCP(sport={victim.tcp_port}, dport=8000, flags="{flags}", seq=1))\n'
                   'sleep(0.2)')
    assert str(victim.tcp_port) in run.said
    victim.check()
    assert cap.frames() == [] or flags == "A"
    run = us.sonde(f'send(IP(dst="10.9.0.2")/UDP(sport={victim.udp_port}, dport=8001)/b"forged")\nsleep(0.2)')
    assert str(victim.udp_port) in run.said
    victim.check()


@needs_sonde
def test_victim_survives_the_kill_of_a_run(scene):
    us, _, victim = scene
    proc = us.sonde('ping("10.9.0.2", count=500, interval=0.01)', background=True)
    time.sleep(0.7)
    proc.kill()
    victim.check()
    time.sleep(1)
    victim.check()


def test_planted_victim_notices_a_reset(scene):
    """The oracle is not blind: what resets the connection ends the victim's rounds."""
    us, _, victim = scene
    victim.check()
    us.nft("table inet cut { chain c { type filter hook output priority 0; "
           f"tcp dport {TCP_PORT} reject with tcp reset; }}; }}")
    with pytest.raises(AssertionError):
        victim.check()
