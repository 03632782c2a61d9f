"""The policies of the older style: settings of a cluster that stand for its default profile's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from cassandra.client.settings.checks import instance
from cassandra.client.settings.setting import Setting

if TYPE_CHECKING:
    from cassandra.bases import ProfileBase

__all__ = ["OldStyle"]

Given = TypeVar("Given")
Kept = TypeVar("Kept")


class Holder(Protocol):
    """The methods of a cluster that these settings call."""

    @property
    def _uses_profiles(self) -> bool:
        """True if profiles were given or added."""

    def _use_old_style(self) -> None:
        """Refuse profiles from now on."""

    def _default_of_profiles(self, name: str) -> Any:
        """Return what a profile has that is not told otherwise."""

    def _profiles_of_sessions(self) -> Sequence[ProfileBase]:
        """Return the copies of the default profile that sessions have."""

    def _adopt_policy(self, policy: Any) -> None:
        """Have the engine tell a policy of load balancing of the hosts."""


class OldStyle(Setting[Given, Kept]):
    """A setting that is a policy of the cluster's default profile.

    Of the class it is None, the setting's default. Setting it chooses the older style, which
    excludes execution profiles.

    :param of_profile: the name of the profile's own setting.
    :param settings: those of every `Setting`.
    """

    def __init__(self, *, of_profile: str, **settings: Any) -> None:
        super().__init__(check=instance, **settings)
        self.of_profile = of_profile

    def _read(self, holder: object) -> Kept:
        # Before the profiles are made, what the constructor was given.
        of_cluster: Kept = vars(holder).get(self.name)  # type: ignore[assignment]
        of_profile: Kept = getattr(self._profile(holder), self.of_profile, of_cluster)
        return of_profile

    def _write(self, holder: object, value: Any) -> None:
        profile = self._profile(holder)
        # The constructor's: profiles are made later, and of it.
        if profile is None:
            vars(holder)[self.name] = value
            return
        cluster = cast("Holder", holder)
        if cluster._uses_profiles:
            raise ValueError(
                f"Cluster.{self.name} cannot be set if execution profiles are used: "
                f"set {self.of_profile} of a profile"
            )
        chosen = value if value is not None else cluster._default_of_profiles(self.of_profile)
        plans = hasattr(chosen, "check_supported")  # as policies of load balancing do
        if plans:
            chosen.check_supported()
        cluster._use_old_style()
        for one in (profile, *cluster._profiles_of_sessions()):
            setattr(one, self.of_profile, chosen)
        # Here, too, for a subclass of the program whose class has a plain attribute of this name.
        vars(holder)[self.name] = chosen
        if plans:
            cluster._adopt_policy(chosen)

    def _profile(self, holder: object) -> ProfileBase | None:
        manager = vars(holder).get("profile_manager")
        profile: ProfileBase | None = (
            manager.default if manager is not None and manager.profiles else None
        )
        return profile
