"""`Cluster.report`: a readable summary of a cluster, as the driver sees it.

The report contains what the driver already knows, so it sends no queries. It never contains
passwords, keys or certificates.
"""

from __future__ import annotations

import html
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from cassandra import _impl
from cassandra._habits import CLUSTER_REPORT, add_habits
from cassandra._version import DRIVER_NAME, __version__
from cassandra.observability.counters import ClusterGauges, HostGauges

__all__ = ["ClusterReport", "HostReport", "report_of"]

# Settings whose values have these types are shown as they are. Any other object may contain a
# secret, so only the name of its class is shown.
_PLAIN = (bool, int, float, str, type(None))
_MAX_TEXT_LENGTH = 200  # maximum characters of an error, or of a setting


@dataclass(frozen=True)
class HostReport:
    """One host, and the connections of all sessions to it.

    :param address: the address and port of the host.
    :param state: "up", "down", "draining" (the host has announced that it will stop, and only
        finishes requests in flight) or "unknown".
    :param datacenter: the data centre of the host; None if unknown.
    :param rack: the rack of the host; None if unknown.
    :param version: the release of the server; None if unknown.
    :param connections: the number of open connections to the host.
    :param in_flight: the number of requests that wait for a response.
    :param waiting: the number of requests that wait for a free stream.
    :param orphans: the number of streams whose request was abandoned before the response came.
    :param shards: the number of shards of a ScyllaDB node; None for other servers.
    :param is_control: True if the control connection uses this host.
    :param error: the last error because of which a session has no connections to the host; None if
        there is no such error.
    :param down_since: when the driver noticed that the host is down, in UTC (ISO 8601); None if the
        host is up.
    :param error_at: when the host's last error happened, in UTC (ISO 8601); None if it has no
        error.
    :param is_given_up: True if the driver no longer tries to reach the host by itself, for example
        because the host has refused the login. `Host.state` is "forced down" then.
    """

    address: str
    state: str
    datacenter: str | None
    rack: str | None
    version: str | None
    connections: int
    in_flight: int
    waiting: int
    orphans: int
    shards: int | None
    is_control: bool
    error: str | None
    down_since: str | None = None
    error_at: str | None = None
    is_given_up: bool = False


@dataclass(frozen=True)
class ClusterReport:
    """A cluster, as the driver sees it now. ``str(report)`` is readable; notebooks show tables.

    :param driver: the name and version of the driver.
    :param implementation: "c" for the compiled modules, "python" for the pure Python modules.
    :param fallback_reason: why the compiled modules could not be loaded; None if they are used, or
        if the pure Python modules were requested.
    :param python: the implementation and version of Python.
    :param cluster: the cluster's name; None before `connect`.
    :param state: "connected", "not connected" or "shut down".
    :param protocol_version: the protocol version that the connections use; before `connect`, the
        version that the driver will try first.
    :param hosts: all known hosts.
    :param sessions: the keyspace of each open session; None for a session without a keyspace.
    :param prepared_statements: the number of prepared statements in use.
    :param tablets: the number of known ScyllaDB tablets.
    :param settings: settings that differ from their defaults, by name. An object is represented by
        the name of its class.
    """

    driver: str
    implementation: str
    fallback_reason: str | None
    python: str
    cluster: str | None
    state: str
    protocol_version: int
    hosts: tuple[HostReport, ...]
    sessions: tuple[str | None, ...]
    prepared_statements: int
    tablets: int
    settings: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        report = asdict(self)
        report["hosts"] = list(report["hosts"])
        report["sessions"] = list(report["sessions"])
        return report

    def _summary_rows(self) -> list[tuple[str, str]]:
        """Return (label, text) for each line above the table of hosts."""
        implementation = "compiled" if self.implementation == "c" else "pure Python"
        if self.fallback_reason is not None:
            implementation += f" ({self.fallback_reason})"
        keyspaces = ", ".join(name or "no keyspace" for name in self.sessions)
        rows = [
            ("cluster", f"{self.cluster or 'unknown'}, {self.state}{self._outage_note()}"),
            ("protocol", f"version {self.protocol_version}"),
            ("driver", f"{self.driver}, {implementation}, {self.python}"),
            ("sessions", f"{len(self.sessions)}" + (f": {keyspaces}" if keyspaces else "")),
            ("prepared", f"{self.prepared_statements}"),
        ]
        if self.tablets:
            rows.append(("tablets", f"{self.tablets}"))
        return rows

    def _outage_note(self) -> str:
        """Return a note to append to the state if no host is up; otherwise ""."""
        hosts = self.hosts
        if self.state != "connected" or not hosts or any(host.state == "up" for host in hosts):
            return ""
        if any(host.state == "unknown" for host in hosts):
            return ", but no host is known to be up"
        subject = f"all {len(hosts)} hosts are" if len(hosts) > 1 else "its only host is"
        # No host has been up since the last host went down, so use the latest time.
        times = [host.down_since for host in hosts if host.down_since is not None]
        return f", but {subject} down" + (f" since {max(times)}" if times else "")

    def __str__(self) -> str:
        lines = [f"{name + ':':<11}{text}" for name, text in self._summary_rows()]
        rows = [_HEADINGS, *map(_cells, self.hosts)] if self.hosts else []
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        # In the table of hosts, strings are aligned to the left, and numbers to the right.
        lines.append("")
        lines += [
            "  ".join(
                cell.ljust(width) if index < _TEXT_COLUMNS else cell.rjust(width)
                for index, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        lines += ["", *(_reason(host) for host in self.hosts if host.error)]
        if self.settings:
            lines += ["", "settings that differ from their defaults:"]
            lines += [f"  {name} = {_shown(value)}" for name, value in self.settings.items()]
        # If a part of the report has no lines, several blank lines follow each other: keep one.
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip()

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))

    def _repr_html_(self) -> str:
        # Make three tables: the summary, the hosts, and the settings, which are collapsed.
        summary = "".join(
            f"<tr><th style='text-align:left'>{name}</th>"
            f"<td style='text-align:left'>{html.escape(text)}</td></tr>"
            for name, text in self._summary_rows()
        )
        headings = "".join(f"<th>{name}</th>" for name in _HEADINGS)
        rows = "".join(
            f"<tr{_TITLE.format(html.escape(host.error)) if host.error else ''}>"
            + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(host))
            + "</tr>"
            for host in self.hosts
        )
        settings = "".join(
            f"<tr><td style='text-align:left'><code>{name}</code></td>"
            f"<td style='text-align:left'><code>{html.escape(_shown(value))}</code></td></tr>"
            for name, value in self.settings.items()
        )
        document = f"<table>{summary}</table>"
        if self.hosts:
            document += f"<table><thead><tr>{headings}</tr></thead><tbody>{rows}</tbody></table>"
        if settings:
            document += f"<details><summary>settings</summary><table>{settings}</table></details>"
        return document


_HEADINGS = (  # of the table of hosts
    "host", "state", "data centre", "rack", "version",
    "connections", "in flight", "waiting", "orphans", "shards",
)  # fmt: skip
_TEXT_COLUMNS = 5  # the first columns are strings, the other columns are numbers
# HTML attributes of the row of a host with an error.
_TITLE = ' title="{}" style="color:#c0392b"'


def _reason(host: HostReport) -> str:
    """Return a line about the error of a host, with the times of the failure."""
    times = [
        f"{label} {time}"
        for label, time in (("down since", host.down_since), ("last tried", host.error_at))
        if time is not None
    ]
    return f"{host.address}: {host.error}" + (f" ({', '.join(times)})" if times else "")


def _cells(host: HostReport) -> tuple[str, ...]:
    """Return the cells of a host's row, in the order of `_HEADINGS`.

    A star marks the host of the control connection.
    """
    return (
        f"{host.address}{' *' if host.is_control else ''}",
        "down, not tried again" if host.is_given_up else host.state,
        host.datacenter or "-",
        host.rack or "-",
        host.version or "-",
        str(host.connections),
        str(host.in_flight),
        str(host.waiting),
        str(host.orphans),
        "-" if host.shards is None else str(host.shards),
    )


def report_of(cluster: Any, table: Mapping[str, Any]) -> ClusterReport:
    """Return the report of a cluster. You may call this in any thread, at any time.

    :param cluster: a `cassandra.cluster.Cluster` or `cassandra.aio.Cluster`.
    :param table: the descriptions of all settings, by name. They have the default values.
    """
    # Before `connect`, a cluster has no core, and so it has no sessions and no connections.
    core = cluster._core
    gauges = ClusterGauges.of(cluster)
    sessions = list(core.sessions) if core is not None else []
    control = core.control.host if core is not None and core.control.connection else None
    is_shut_down = getattr(cluster, "is_shutdown", False)
    state = "shut down" if is_shut_down else "connected" if core else "not connected"
    return ClusterReport(
        driver=f"{DRIVER_NAME} {__version__}",
        implementation=_impl.implementation,
        fallback_reason=_impl.fallback_reason,
        python=f"{platform.python_implementation()} {platform.python_version()}",
        cluster=cluster.metadata.cluster_name,
        state=state,
        protocol_version=int(cluster.protocol_version),
        hosts=tuple(_host_report(gauge, sessions, gauge.host is control) for gauge in gauges.hosts),
        sessions=tuple(session.keyspace for session in sessions),
        prepared_statements=gauges.prepared_statements,
        tablets=gauges.tablets,
        settings=_changed_settings(cluster, table),
    )


def _host_report(gauges: HostGauges, sessions: list[Any], is_control: bool) -> HostReport:
    """Return the report of one host, summed over all sessions."""
    host = gauges.host
    # Each session may have a separate error: show the last of them.
    errors = [error for session in sessions if (error := session.pool_error(host)) is not None]
    sharding = host.sharding_info
    since, failed_at = host.down_since, host.last_failure_at
    return HostReport(
        address=str(host.endpoint),
        # A host that is "forced down" (down, and not tried any more) is shown as "down".
        state="down" if host.state == "forced down" else host.state,
        datacenter=host.datacenter,
        rack=host.rack,
        version=host.release_version,
        connections=gauges.connections,
        in_flight=gauges.in_flight,
        waiting=gauges.waiting,
        orphans=gauges.orphans,
        shards=sharding.shards_count if sharding is not None else None,
        is_control=is_control,
        error=_shorten(f"{type(errors[-1]).__name__}: {errors[-1]}") if errors else None,
        down_since=_time(since),
        error_at=_time(failed_at) if errors else None,
        is_given_up=host.state == "forced down",
    )


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat(timespec="seconds") if moment is not None else None


def _changed_settings(cluster: Any, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of `cluster` that differ from their defaults, by name.

    :param table: the descriptions of all settings, by name. They have the default values.
    """
    settings = {}
    for name, setting in table.items():
        value = getattr(cluster, name, None)
        if value is setting.default:
            continue
        shown_value = _showable(value)
        # Compare what would be shown: the value may be another object of the same class as the
        # default value.
        if shown_value not in (_showable(setting.default), setting.shown_default):
            settings[name] = shown_value
    return settings


def _showable(value: object) -> object:
    """Return a plain value itself; for any other object, return only the name of its class.

    Other objects may contain secrets.
    """
    if isinstance(value, _PLAIN):
        return _shorten(value) if isinstance(value, str) else value
    if isinstance(value, (list, tuple)) and all(isinstance(item, _PLAIN) for item in value):
        return [_showable(item) for item in value]
    if isinstance(value, type):
        return value.__name__
    return f"<{type(value).__name__}>"


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_TEXT_LENGTH else text[: _MAX_TEXT_LENGTH - 3] + "..."


def _shown(value: object) -> str:
    # `_showable` has replaced objects by "<Class>", which is not put into quotes.
    return value if isinstance(value, str) and value.startswith("<") else repr(value)


add_habits(ClusterReport, CLUSTER_REPORT, operations={"__getitem__": "write report.hosts"})
