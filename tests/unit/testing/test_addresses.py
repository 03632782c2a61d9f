"""Each local cluster claims a subnet of loopback addresses (127.0.N.*) for its nodes.

The lock of a subnet prevents other processes from claiming the subnet.
"""

from __future__ import annotations

import errno
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from cassandra.testing import addresses
from cassandra.testing.errors import LocalClusterError, MissingRequirement
from cassandra.testing.locks import FileLock

# Ports that no cluster on this machine uses.
PORTS = (31, 32)


@pytest.fixture(autouse=True)
def own_lock_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use a directory for locks, and JMX ports, that no other cluster on this machine uses."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(addresses, "_TEMPORARY", str(tmp_path))
    monkeypatch.setattr(addresses, "_JMX_BASE", 19100)


@pytest.fixture
def ports() -> tuple[int, int]:
    """Return two ports that are free on every address at this moment."""
    free_ports = []
    for _ in range(2):
        with socket.create_server(("", 0)) as probe:
            free_ports.append(int(probe.getsockname()[1]))
    return free_ports[0], free_ports[1]


@pytest.fixture
def other_process(tmp_path: Path, ports: tuple[int, int]) -> Iterator[int]:
    """Yield the number of a subnet that another process has claimed."""
    program = (
        "import sys, tempfile\n"
        "from cassandra.testing import addresses\n"
        # This TMPDIR differs from the test's, but both processes must use the same directory of
        # locks.
        "tempfile.tempdir = '/nowhere'\n"
        f"addresses._TEMPORARY = {str(tmp_path)!r}\n"
        "addresses._JMX_BASE = 19100\n"
        f"print(addresses.claim_subnet(1, {ports!r}).number, flush=True)\n"
        # The other process keeps the subnet until the test closes its standard input.
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield int(process.stdout.readline())
        process.stdin.close()


def test_first_cluster_gets_the_first_addresses(ports: tuple[int, int]) -> None:
    """If no other cluster runs, a cluster gets subnet 0, whose first address is 127.0.0.1."""
    subnet = addresses.claim_subnet(nodes=3, ports=ports)
    assert [subnet.address(n) for n in (1, 2, 3)] == ["127.0.0.1", "127.0.0.2", "127.0.0.3"]
    # The JMX ports of this subnet begin after 19100.
    assert subnet.jmx_port(2) == 19102
    subnet.lock.release()


def test_another_process_gets_other_addresses(other_process: int, ports: tuple[int, int]) -> None:
    """Another process has claimed subnet 0, so this process gets subnet 1."""
    assert other_process == 0
    subnet = addresses.claim_subnet(nodes=1, ports=ports)
    assert subnet.address(1) == "127.0.1.1"
    # Each subnet has its own 100 JMX ports, the first of them from 19100 on.
    assert subnet.jmx_port(1) == 19201
    subnet.lock.release()
    with pytest.raises(LocalClusterError, match=r"127\.0\.0\.\* belong to another local cluster"):
        addresses.claim_subnet(nodes=1, ports=ports, required_number=0)


def test_lock_lives_on_in_a_child_that_holds_its_descriptor(ports: tuple[int, int]) -> None:
    """A node keeps the lock of its subnet after the process that started it has released it.

    The child process of the test inherits the lock's descriptor, as a node does.
    """
    subnet = addresses.claim_subnet(nodes=1, ports=ports)
    descriptor = subnet.lock.fileno()
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=(descriptor,)
    ) as child:
        subnet.lock.release()
        with pytest.raises(LocalClusterError, match="belong to another"):
            addresses.claim_subnet(nodes=1, ports=ports, required_number=subnet.number)
        # The child ends when it has read a line. Then no process has the lock's descriptor open.
        child.communicate(b"\n")
    addresses.claim_subnet(nodes=1, ports=ports, required_number=subnet.number).lock.release()


def test_a_subnet_with_a_port_in_use_is_skipped(ports: tuple[int, int]) -> None:
    """A subnet is skipped if a server uses the port on one of its first addresses."""
    with socket.create_server(("127.0.0.2", ports[0])):
        subnet = addresses.claim_subnet(nodes=2, ports=ports)
        assert subnet.number == 1
        subnet.lock.release()
        # A cluster of one node does not need the address 127.0.0.2.
        subnet = addresses.claim_subnet(nodes=1, ports=ports)
        assert subnet.number == 0
        assert "127.0.0.2" in str(subnet.why_not_usable(node=2, ports=ports))
        subnet.lock.release()


def test_a_port_in_use_on_all_addresses_is_named(ports: tuple[int, int]) -> None:
    """If a server uses the port on all addresses, the error advises you to use another port."""
    with (
        socket.create_server(("", ports[0])),
        pytest.raises(
            LocalClusterError, match=rf"127\.0\.0\.1:{ports[0]} is taken .*another port="
        ),
    ):
        addresses.claim_subnet(nodes=1, ports=ports)


def test_more_than_99_nodes_are_refused() -> None:
    """A subnet has addresses and JMX ports for 99 nodes, so 100 nodes are refused."""
    with pytest.raises(ValueError, match="99 at most"):
        addresses.claim_subnet(nodes=100, ports=PORTS)


def test_platforms() -> None:
    """Local clusters are allowed on Linux; on Windows, the error suggests WSL 2."""
    addresses.check_platform("linux")
    with pytest.raises(MissingRequirement, match="WSL 2"):
        addresses.check_platform("win32")


def test_missing_loopback_address_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, ports: tuple[int, int]
) -> None:
    """If a loopback address is missing, as on macOS, the error names the command that adds it."""
    monkeypatch.setattr(sys, "platform", "darwin")
    error = OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    def why_not_free(address: str, port: int) -> OSError | None:
        return error if address == "127.0.0.2" else None

    monkeypatch.setattr(addresses, "why_not_free", why_not_free)
    with pytest.raises(MissingRequirement, match=r"sudo ifconfig lo0 alias 127\.0\.0\.2 up"):
        addresses.claim_subnet(nodes=2, ports=ports)


def test_a_lock_directory_created_by_others_is_refused(tmp_path: Path) -> None:
    """A directory for locks that another user controls is refused.

    The directory in /tmp must not be a link, and must belong to the user or be shared by all.
    Otherwise another user could make this process write to files elsewhere.
    """
    directory = tmp_path / "turbocql-locks"
    directory.symlink_to(tmp_path)
    with pytest.raises(LocalClusterError, match="is not a directory"):
        addresses._lock_directory()
    directory.unlink()
    directory.mkdir(mode=0o755)
    assert addresses._lock_directory() == str(directory)
    # Only root can give a directory to another user, so other users end the test here.
    if os.getuid() != 0:
        return
    os.chown(directory, 12345, 12345)
    with pytest.raises(
        LocalClusterError,
        match=r"belongs to the user with number 12345 and is not shared \(mode 755\)",
    ):
        addresses._lock_directory()
    directory.chmod(0o1777)
    assert addresses._lock_directory() == str(directory)


def test_tmpdir_is_the_second_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the directory /tmp is missing, the locks are in Python's directory for temporary files."""
    monkeypatch.setattr(addresses, "_TEMPORARY", str(tmp_path / "missing"))
    assert addresses._lock_directory() == str(tmp_path / "turbocql-locks")


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """A lock file that is a link is refused, since another user may have linked it to our file."""
    other_file = tmp_path / "victim"
    other_file.write_text("mine")
    (tmp_path / "symlink").symlink_to(other_file)
    os.link(other_file, tmp_path / "link")
    for name in ("symlink", "link"):
        with pytest.raises(OSError, match=r"symlink|has another name"):
            FileLock(str(tmp_path / name)).try_acquire()
