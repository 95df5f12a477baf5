# SPDX-License-Identifier: BSD-3-Clause
"""Nodes on one machine: each has a host name, a network, processes and a /dev/shm of its own, in Linux namespaces. On
one more, the head, mpirun runs but no rank.

Every node is held by one process, which ends when its standard input closes, and with it all that runs there: no
process remains, however the test ends. Nothing outside these namespaces changes. Needs root."""
import contextlib
import os
import shutil
import subprocess
import tempfile

TOOLS = ("unshare", "nsenter", "ip", "mount", "hostname")
NETWORK = "10.77.0.0/24"
# A node's namespaces, and the process that holds it: number 1 there, so that the others end with it.
NAMESPACES = ["--net", "--uts", "--ipc", "--mount", "--pid"]
HOLD = "hostname {name} && mount -t tmpfs tmpfs /dev/shm && ip link set lo up && echo ready && exec cat"


class Unavailable(Exception):
    """Returns why there can be no nodes here."""


class Node:
    """One of them, until end()."""

    def __init__(self, number):
        self.name = f"node{number}" if number > 0 else "head"
        self.address = f"10.77.0.{number + 1}"
        self.holder = subprocess.Popen(
            ["unshare", *NAMESPACES, "--propagation", "private", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             HOLD.format(name=self.name)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if self.holder.stdout.readline() != "ready\n":
            raise Unavailable(f"no namespaces: {self.holder.communicate()[1].strip()}")
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children", encoding="ascii") as children:
            self.pid = int(children.read().split()[0])

    def enter(self, *namespaces):
        """Returns the command in front of one that runs in these namespaces of the node."""
        return ["nsenter", "--target", str(self.pid), *namespaces, "--"]

    def ip(self, *words):
        done = subprocess.run([*self.enter("--net"), "ip", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Unavailable(f"ip {' '.join(words)}: {done.stderr.strip()}")

    def end(self):
        self.holder.communicate()  # closes its input


def connect(nodes):
    """Connects all nodes to one bridge on the head."""
    head = nodes[0]
    head.ip("link", "add", "mpi0", "type", "bridge")
    for node in nodes[1:]:
        head.ip("link", "add", node.name, "type", "veth", "peer", "name", "mpi0", "netns", str(node.pid))
        head.ip("link", "set", node.name, "master", "mpi0", "up")
    for node in nodes:
        node.ip("address", "add", f"{node.address}/24", "dev", "mpi0")
        node.ip("link", "set", "mpi0", "up")


def write_agent(path, nodes):
    """The agent that Open MPI starts instead of ssh: AGENT ADDRESS COMMAND..."""
    # In a root of its own (chroot) that of the node would be the one outside.
    entries = "".join(f"  {node.address}) exec {' '.join(node.enter(*NAMESPACES, '--root', '--wd'))} sh -c \"$*\" ;;\n"
                      for node in nodes)
    with open(path, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\naddress=$1\nshift\ncase $address in\n{entries}esac\necho "no node $address" >&2\nexit 1\n')
    os.chmod(path, 0o755)


def in_container(directory):
    """Returns a function from a launcher, the words before its options, to what starts it in a container with the
    network of this machine, as its first process: so process ids are the same in each container. `directory`: where
    Open MPI keeps its files."""
    words = ["unshare", "--mount", "--pid", "--propagation", "private", "--fork", "--kill-child", "--mount-proc"]
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    if tried.returncode != 0:
        raise Unavailable(f"no pid namespaces: {tried.stderr.strip()}")
    script = 'mount -t tmpfs tmpfs /dev/shm && TMPDIR=$0 exec "$@"'
    return lambda launcher: [*words, "sh", "-c", script, directory, *launcher]


@contextlib.contextmanager
def open_mpi(ranks_of_nodes):
    """Nodes with so many ranks each. Yields a function from an mpirun, the words before its options, to what starts it
    on the head with those nodes as its hosts."""
    if os.geteuid() != 0:
        raise Unavailable("namespaces with a network need root")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"not installed: {', '.join(missing)} (packages util-linux, iproute2, hostname)")
    with contextlib.ExitStack() as stack:
        nodes = []
        for number in range(1 + len(ranks_of_nodes)):
            nodes.append(Node(number))
            stack.callback(nodes[-1].end)
        connect(nodes)
        directory = stack.enter_context(tempfile.TemporaryDirectory())
        agent = os.path.join(directory, "agent")
        write_agent(agent, nodes[1:])
        settings = {"plm_rsh_agent": agent, "plm_rsh_no_tree_spawn": "1", "btl": "self,vader,tcp",
                    "btl_tcp_if_include": NETWORK, "oob_tcp_if_include": NETWORK}
        options = [word for name, value in settings.items() for word in ("--mca", name, value)]
        hosts = ",".join(f"{node.address}:{ranks}" for node, ranks in zip(nodes[1:], ranks_of_nodes))
        # Not its processes: the agent addresses the nodes by their process numbers outside.
        yield lambda mpirun: [*nodes[0].enter("--net", "--uts"), *mpirun, *options, "--host", hosts]
