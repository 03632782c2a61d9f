"""The command ``python -m cassandra.testing``, which runs local clusters in the background.

``start`` starts a background process (`cassandra.testing.background`) that runs the cluster, and
returns when the cluster is ready. The other commands send requests to that process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from cassandra._command_words import CommandParser, CommandWords
from cassandra.testing.errors import LocalClusterError
from cassandra.testing.jvm import check_heap
from cassandra.testing.progress import Progress
from cassandra.testing.registry import Entry, all_entries
from cassandra.testing.versions import DEFAULT_VERSION

_EXAMPLES = """\
examples:
  python -m cassandra.testing start -n 3
  python -m cassandra.testing start --name two --dc east=2 --dc west=1 --auth --tls mutual
  python -m cassandra.testing nodetool 1 status
  python -m cassandra.testing kill 2
  python -m cassandra.testing restart 2 3
  python -m cassandra.testing stop --all
"""


# Users may type a command of another tool, such as docker. This dict maps such a command to ours,
# and the error names our command.
_COMMANDS_OF_OTHERS = {
    **dict.fromkeys(("up", "run", "create", "launch"), "start"),
    **dict.fromkeys(("down", "rm", "remove", "delete", "destroy", "shutdown"), "stop"),
    **dict.fromkeys(("ps", "ls", "list", "info", "show"), "status"),
    **dict.fromkeys(("unpause",), "resume 1"),
    **dict.fromkeys(("log",), "logs 1"),
    **dict.fromkeys(("reboot",), "restart 1"),
    **dict.fromkeys(("scale",), "add"),
}


# The commands that have the number of a node as their argument.
_COMMANDS_FOR_ONE_NODE = ("kill", "pause", "resume", "decommission", "logs")


class _Parser(CommandParser):
    """A parser whose errors for missing and unknown arguments say what to write instead."""

    typed: Sequence[str] = ()  # the arguments that the user typed

    def error(self, message: str) -> NoReturn:
        """Print the error, and exit.

        :param message: the error as argparse words it.
        """
        # For some errors, add to argparse's message what the user should write instead.
        if message.startswith("the following arguments are required: NODE"):
            message += f"; write the number that `status` shows: {self.prog} 1"
        elif message.startswith("the following arguments are required: COMMAND"):
            message += "; for example: python -m cassandra.testing start (-h shows more)"
        elif "invalid choice: " in message:
            word = message.partition("invalid choice: ")[2].split()[0].strip("'")
            if word in _COMMANDS_OF_OTHERS:
                message += f"; write {self.prog} {_COMMANDS_OF_OTHERS[word]}"
        elif message.startswith("argument NODE: ") and self.prog.endswith(" nodetool"):
            message += f"; write {self.prog} 1 status"
        elif message.startswith("unrecognized arguments: "):
            word = message.removeprefix("unrecognized arguments: ").split()[0]
            # The first unknown argument shows what the user may have meant.
            command = self.typed[0]
            if command == "start" and word.isdigit():
                noun = "node" if word == "1" else "nodes"
                message += f"; for {word} {noun}, write {self.prog} start -n {word}"
            elif command in _COMMANDS_FOR_ONE_NODE and word.isdigit():
                message += f"; {command} takes one node at a time"
            elif not word.startswith("-"):
                message += (
                    f"; for a cluster of this name, write {self.prog} {command} --name {word}"
                )
        super().error(message)


def _show(state: dict[str, Any], as_json: bool) -> None:
    """Print a state that `background.describe` has returned for a cluster."""
    if as_json:
        print(json.dumps(state, indent=2))
        return
    # The first column has the labels, and the second column has the values.
    lines = [
        ("cluster", f"{state['name']} (Cassandra {state['version']}, process {state['pid']})"),
        ("contact points", ",".join(state["contact_points"])),
        ("port", str(state["port"])),
    ]
    if state["username"]:
        lines.append(("login", f"{state['username']} / {state['password']}"))
    if state["tls"]:
        tls = state["tls"]
        lines += [("TLS", tls["mode"]), ("CA", tls["ca_certificate"])]
        lines += [("client", f"{tls['client_certificate']}, key {tls['client_key']}")]
    lines.append(("directory", state["directory"]))
    for label, value in lines:
        print(f"{label + ':':<16}{value}")
    # One line for each node.
    for node in state["nodes"]:
        location = f"{node['datacenter']}/{node['rack']}"
        print(
            f"  node {node['number']:<3} {node['address']:<15} {location:<16} "
            f"{node['state']:<15} pid {node['pid']}"
        )


def _datacenters(values: list[str]) -> dict[str, int]:
    """Parse the values of ``--dc``; return a dict from data centre to its number of nodes."""
    counts = {}
    for value in values:
        name, separator, count = value.partition("=")
        if not name or ":" in name or (separator and not count.isdigit()):
            raise LocalClusterError(f"--dc {value}: expected NAME=NODES, as in --dc east=2")
        if name in counts:
            raise LocalClusterError(f"--dc {value}: {name} is given twice")
        counts[name] = int(count) if separator else 1
    return counts


def _yaml_keys(values: list[str]) -> dict[str, Any]:
    """Parse the values of ``--config``; return the settings of cassandra.yaml by name."""
    settings = {}
    for value in values:
        key, separator, text = value.partition("=")
        if not key or not separator:
            raise LocalClusterError(
                f"--config {value}: expected KEY=VALUE, as in --config num_tokens=16"
            )
        # Parse the value as JSON, for numbers, lists and null. If that fails, the value is a
        # string.
        try:
            settings[key] = json.loads(text)
        except json.JSONDecodeError:
            settings[key] = text
    return settings


def _options(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the keyword arguments of `LocalCluster`."""
    if arguments.dc and arguments.nodes is not None:
        raise LocalClusterError(
            "-n and --dc exclude each other: --dc NAME=NODES says how many nodes there are"
        )
    nodes: Any = 1 if arguments.nodes is None else arguments.nodes
    if arguments.dc:
        nodes = _datacenters(arguments.dc)
    # The value of --racks is a number of racks, or rack names separated by commas.
    racks: Any = arguments.racks
    if racks is not None:
        racks = int(racks) if racks.isdigit() else racks.split(",")
    return {
        "nodes": nodes,
        "version": arguments.version,
        "racks": racks,
        "authentication": arguments.auth,
        "tls": arguments.tls,
        "config": _yaml_keys(arguments.config),
        "heap": arguments.heap,
        "directory": os.path.abspath(arguments.directory) if arguments.directory else None,
        "keep": arguments.keep,
        "port": arguments.port,
        "java": os.path.abspath(arguments.java) if arguments.java else None,
        "timeout": arguments.timeout,
        "progress": not arguments.quiet,
    }


def _start(arguments: argparse.Namespace) -> None:
    """Start a background process that runs the cluster, and wait until the cluster is ready."""
    entry = Entry(arguments.name)
    options = _options(arguments)
    if entry.running:
        raise LocalClusterError(
            f"a cluster named {arguments.name!r} is running already: stop it first ('stop'), "
            "or give this one another --name"
        )
    read_end, write_end = os.pipe()
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "cassandra.testing.background",
            arguments.name,
            json.dumps(options),
            str(write_end),
        ],
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
        pass_fds=(write_end,),
        # In a new session, the process does not get the SIGINT of Ctrl-C in this terminal.
        start_new_session=True,
    )
    # Close our copy of the writing end: otherwise `read` below would never return.
    os.close(write_end)
    try:
        with os.fdopen(read_end) as stream:
            # The process closes the pipe when the cluster is ready, or has failed.
            outcome = stream.read()
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        process.wait()
        raise
    reply: dict[str, Any] = (
        json.loads(outcome)
        if outcome
        else {"error": f"it ended with status {process.wait()} and said nothing"}
    )
    if "error" in reply:
        process.wait()
        raise LocalClusterError(reply["error"])
    # The process continues in the background. Set a return code, because Popen warns if its process
    # still runs when the Popen object is deleted.
    process.returncode = 0
    _show(reply["result"], arguments.json)


def _stop(arguments: argparse.Namespace) -> None:
    """Stop one cluster, or all clusters of this user, and wait until they have ended."""
    entries = all_entries() if arguments.all else [Entry(arguments.name)]
    for entry in entries:
        if arguments.all and not entry.running:
            _forget_ended(entry)
            continue
        entry.ask("stop")
        print(f"stopped {entry.name}")


def _forget_ended(entry: Entry) -> bool:
    """Remove the files of a cluster whose process has ended unexpectedly.

    Return False if a process has started in the meantime.
    """
    if not entry.lock.try_acquire():
        return False
    entry.forget()
    entry.lock.release()
    return True


def _status(arguments: argparse.Namespace) -> None:
    """Print the state of one cluster, or of all clusters that run."""
    entries = [Entry(arguments.name)] if arguments.name else all_entries()
    states = []
    for entry in entries:
        if entry.running:
            states.append(entry.ask("status"))
        # There is a state file but no process: the process was killed or has crashed.
        elif entry.read() is not None and _forget_ended(entry):
            print(
                f"{entry.name}: ended unexpectedly, its nodes with it; its log is {entry.log_path}",
                file=sys.stderr,
            )
    if arguments.name and not states:
        raise LocalClusterError(f"no cluster named {arguments.name!r} is running")
    if arguments.json:
        print(json.dumps(states, indent=2))
    elif not states:
        print("no cluster is running")
    else:
        for state in states:
            _show(state, as_json=False)


def _on_node(arguments: argparse.Namespace) -> None:
    """Carry out a command whose only argument is the number of a node, such as ``kill``."""
    progress = Progress(enabled=arguments.command == "decommission")
    progress.begin(f"{arguments.command} of node {arguments.node}")
    Entry(arguments.name).ask(arguments.command, arguments.node)
    progress.done()


def _restart(arguments: argparse.Namespace) -> None:
    """Restart nodes, and wait until they are ready."""
    numbers = arguments.nodes
    progress = Progress()
    progress.begin(f"restart of node{'s' * (len(numbers) > 1)} {' and '.join(map(str, numbers))}")
    Entry(arguments.name).ask("restart", *numbers)
    progress.done()


def _add(arguments: argparse.Namespace) -> None:
    """Add a node, wait until it has joined the ring, and print its number and address."""
    progress = Progress()
    progress.begin("adding a node")
    node = Entry(arguments.name).ask("add", arguments.dc, arguments.rack)
    progress.done()
    print(f"node {node['number']} {node['address']} {node['datacenter']}/{node['rack']}")


def _nodetool(namespace: argparse.Namespace) -> None:
    """Run nodetool with all arguments that follow the number of the node, and print its output."""
    entry = Entry(namespace.name)
    if "--name" in namespace.arguments and not entry.running:
        raise LocalClusterError(
            f"what follows NODE goes to nodetool: write --name before {namespace.node}"
        )
    sys.stdout.write(entry.ask("nodetool", namespace.node, *namespace.arguments))


def _logs(arguments: argparse.Namespace) -> None:
    sys.stdout.write(Entry(arguments.name).ask("logs", arguments.node))


def _heap(text: str) -> str:
    """Check the value of ``--heap``, and return it; raise argparse's error if it is invalid."""
    try:
        return check_heap(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a number from 1 up, got {text!r}")
    return int(text)


def _port(text: str) -> int:
    if not text.isdigit() or not 0 < int(text) < 65_536:
        raise argparse.ArgumentTypeError(f"expected a port from 1 to 65535, got {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    """Parse the value of an option in seconds, which must be positive."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0  # rejected below
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds above 0, got {text!r}")
    return seconds


def _start_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``start``."""
    parser.add_argument(
        "-n", "--nodes", type=_positive, metavar="N", help="how many nodes (default: 1)"
    )
    parser.add_argument(
        "--version",
        default=DEFAULT_VERSION,
        help="the version of Cassandra: 6.0, 5.0.9, 4.1, ... (default: %(default)s)",
    )
    parser.add_argument(
        "--dc",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a data centre with N nodes; once for each",
    )
    parser.add_argument(
        "--racks", metavar="N|A,B", help="racks in each data centre: their number or their names"
    )
    parser.add_argument(
        "--auth", action="store_true", help="require a login by password (cassandra / cassandra)"
    )
    parser.add_argument(
        "--tls",
        nargs="?",
        const="required",
        choices=["required", "optional", "mutual"],
        help="whether clients must use TLS, or even a certificate (default: required)",
    )
    parser.add_argument(
        "--config",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of cassandra.yaml; VALUE is JSON or a string",
    )
    _surroundings_arguments(parser)


def _surroundings_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``start`` that say how the nodes run: heap, files, port and Java."""
    parser.add_argument(
        "--heap",
        type=_heap,
        default="512M",
        help="the maximum heap of each node (default: %(default)s)",
    )
    parser.add_argument(
        "--directory", help="for the files of the nodes (default: a temporary directory)"
    )
    parser.add_argument(
        "--keep", action="store_true", help="keep data and logs after the cluster stops"
    )
    parser.add_argument(
        "--port",
        type=_port,
        default=9042,
        help="the port of the native protocol (default: %(default)s)",
    )
    parser.add_argument(
        "--java",
        metavar="PATH",
        help="a Java program or home directory: 17, or also 21 for Cassandra 6.0, 11 for 4.x",
    )
    parser.add_argument(
        "--timeout",
        type=_seconds,
        default=180.0,
        help="seconds until the nodes must be ready (default: %(default)s)",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", action="store_true", help="print the state as JSON")


def _parser() -> _Parser:
    """Return the parser. It stores the function for the parsed command as the attribute `run`."""
    parser = _Parser(
        prog="python -m cassandra.testing",
        description="Run real Cassandra nodes on this machine, for tests.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def add_command(
        command_name: str,
        run: Callable[[argparse.Namespace], None],
        summary: str,
        takes_node: bool = False,
    ) -> argparse.ArgumentParser:
        """Add a command with the options --name and, if `takes_node`, the number of a node."""
        command = commands.add_parser(
            command_name, help=summary, description=f"{summary[0].upper()}{summary[1:]}."
        )
        command.set_defaults(run=run)
        # Without --name, `status` shows all clusters. Every other command acts on one cluster.
        name_help = (
            "which cluster (default: all)"
            if command_name == "status"
            else "which cluster (default: %(default)s)"
        )
        command.add_argument(
            "--name", default=None if command_name == "status" else "default", help=name_help
        )
        if takes_node:
            command.add_argument("node", type=_positive, metavar="NODE", help="its number, from 1")
        return command

    _start_arguments(add_command("start", _start, "start a cluster, and return when it is ready"))
    stop = add_command("stop", _stop, "stop a cluster, and wait until it has ended")
    stop.add_argument("--all", action="store_true", help="all clusters of this user")
    status = add_command("status", _status, "show the running clusters and their nodes")
    status.add_argument("--json", action="store_true", help="as JSON")
    add_command("kill", _on_node, "end a node by SIGKILL", takes_node=True)
    add_command("pause", _on_node, "stop a node by SIGSTOP: its sockets stay open", takes_node=True)
    add_command("resume", _on_node, "let a paused node continue", takes_node=True)
    restart = add_command("restart", _restart, "restart nodes, or start killed ones again")
    restart.add_argument(
        "nodes", type=_positive, nargs="+", metavar="NODE", help="their numbers, from 1"
    )
    add_command("decommission", _on_node, "take a node out of the ring", takes_node=True)
    add_node = add_command("add", _add, "add a node")
    add_node.add_argument("--dc", help="its data centre (default: that of node 1)")
    add_node.add_argument("--rack", help="its rack (default: that of the data centre's last node)")
    nodetool = add_command("nodetool", _nodetool, "run nodetool against a node", takes_node=True)
    nodetool.add_argument(
        "arguments",
        nargs=argparse.REMAINDER,
        help="what follows goes to nodetool: status, ring, ...",
    )
    add_command("logs", _logs, "print a node's log", takes_node=True)
    parser.set_defaults(parsers=tuple(commands.choices.values()))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0, 1 for an error, 130 for Ctrl-C."""
    parser = _parser()
    parser.typed = sys.argv[1:] if arguments is None else arguments
    namespace = parser.parse_args(arguments)
    try:
        namespace.run(namespace)
    except (LocalClusterError, ValueError) as error:
        words = CommandWords.of([parser, *parser.get_default("parsers")])
        print(f"error: {words.translate(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # `logs 1 | head`
        # Nobody reads our output any more. Replace stdout: otherwise the interpreter would fail
        # again when it flushes stdout at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return 0
