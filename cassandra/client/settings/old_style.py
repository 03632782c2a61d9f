"""Old-style settings: policies that are set on the cluster itself instead of on a profile.

The policies are stored in the cluster's default profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from cassandra.client.settings.checks import instance
from cassandra.client.settings.setting import Setting

if TYPE_CHECKING:
    from cassandra.bases import ProfileBase

Settable = TypeVar("Settable")
Stored = TypeVar("Stored")


class Holder(Protocol):
    """The methods of a cluster that old-style settings call; see `ClusterBase`."""

    @property
    def _uses_profiles(self) -> bool:
        """True if the application has passed or added execution profiles."""

    def _use_old_style(self) -> None:
        """Remember that old-style settings are used, so that profiles cannot be added any more."""

    def _default_of_profiles(self, name: str) -> Any:
        """Return the default value of a setting of `ExecutionProfile`."""

    def _profiles_of_sessions(self) -> Sequence[ProfileBase]:
        """Return the default profiles of the sessions; some are copies of the cluster's profile."""

    def _adopt_policy(self, policy: Any) -> None:
        """Let the engine notify a load balancing policy about hosts."""


class OldStyle(Setting[Settable, Stored]):
    """A setting of a cluster whose value is a policy in the cluster's default profile.

    If the application sets such a setting, it can no longer use execution profiles.

    :param of_profile: the name of the profile's setting.
    :param settings: the arguments of `Setting`.
    """

    def __init__(self, *, of_profile: str, **settings: Any) -> None:
        super().__init__(check=instance, **settings)
        self.of_profile = of_profile

    def _read(self, holder: object) -> Stored:
        # While the constructor has not created the profiles yet, return the value that `_write` has
        # stored on the cluster.
        of_cluster: Stored = vars(holder).get(self.name)  # type: ignore[assignment]
        of_profile: Stored = getattr(self._profile(holder), self.of_profile, of_cluster)
        return of_profile

    def _write(self, holder: object, value: Any) -> None:
        """Set the policy `value` in the default profiles of the cluster and its sessions."""
        profile = self._profile(holder)
        # In the constructor there are no profiles yet. So store the value: the profiles will be
        # created from it.
        if profile is None:
            vars(holder)[self.name] = value
            return
        cluster = cast("Holder", holder)
        if cluster._uses_profiles:
            raise ValueError(
                f"Cluster.{self.name} cannot be set if execution profiles are used: "
                f"set {self.of_profile} of a profile"
            )
        policy = value if value is not None else cluster._default_of_profiles(self.of_profile)
        # The policy is a load balancing policy or a retry policy. Only load balancing policies have
        # the method `check_supported`.
        is_load_balancing = hasattr(policy, "check_supported")
        if is_load_balancing:
            policy.check_supported()
        cluster._use_old_style()
        for other_profile in (profile, *cluster._profiles_of_sessions()):
            setattr(other_profile, self.of_profile, policy)
        # Also store the policy on the cluster object, because a user's subclass may have a class
        # attribute of this name, which hides the setting.
        vars(holder)[self.name] = policy
        if is_load_balancing:
            cluster._adopt_policy(policy)

    def _profile(self, holder: object) -> ProfileBase | None:
        manager = vars(holder).get("_profile_manager")
        profile: ProfileBase | None = (
            manager.default if manager is not None and manager.profiles else None
        )
        return profile
