"""Old-style policies: settings of a cluster that belong to its default profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from cassandra.client.settings.checks import instance
from cassandra.client.settings.setting import Setting

if TYPE_CHECKING:
    from cassandra.bases import ProfileBase

__all__ = ["OldStyle"]

Settable = TypeVar("Settable")
Stored = TypeVar("Stored")


class Holder(Protocol):
    """The methods of a cluster that these settings call."""

    @property
    def _uses_profiles(self) -> bool:
        """True if profiles were given or added."""

    def _use_old_style(self) -> None:
        """Refuse profiles from now on."""

    def _default_of_profiles(self, name: str) -> Any:
        """Return the default value of a profile's setting."""

    def _profiles_of_sessions(self) -> Sequence[ProfileBase]:
        """Return the copies of the default profile that sessions have."""

    def _adopt_policy(self, policy: Any) -> None:
        """Have the engine report hosts to a load balancing policy."""


class OldStyle(Setting[Settable, Stored]):
    """A setting that is a policy of the cluster's default profile.

    The class attribute is None, the setting's default. Setting it selects the old style, which
    excludes execution profiles.

    :param of_profile: the name of the profile's setting.
    :param settings: the arguments of `Setting`.
    """

    def __init__(self, *, of_profile: str, **settings: Any) -> None:
        super().__init__(check=instance, **settings)
        self.of_profile = of_profile

    def _read(self, holder: object) -> Stored:
        # Before the profiles are made, this is the value from the constructor.
        of_cluster: Stored = vars(holder).get(self.name)  # type: ignore[assignment]
        of_profile: Stored = getattr(self._profile(holder), self.of_profile, of_cluster)
        return of_profile

    def _write(self, holder: object, value: Any) -> None:
        profile = self._profile(holder)
        # Set by the constructor: the profiles are made later, with this value.
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
        # load balancing policies have this method
        is_load_balancing = hasattr(policy, "check_supported")
        if is_load_balancing:
            policy.check_supported()
        cluster._use_old_style()
        for other_profile in (profile, *cluster._profiles_of_sessions()):
            setattr(other_profile, self.of_profile, policy)
        # Also set it on the instance: a user's subclass may shadow the setting with a plain
        # attribute.
        vars(holder)[self.name] = policy
        if is_load_balancing:
            cluster._adopt_policy(policy)

    def _profile(self, holder: object) -> ProfileBase | None:
        manager = vars(holder).get("profile_manager")
        profile: ProfileBase | None = (
            manager.default if manager is not None and manager.profiles else None
        )
        return profile
