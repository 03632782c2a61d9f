"""The policies of the older style: settings of a cluster that stand for its default profile's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from cassandra.client.settings.checks import check_instance
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, default_lbp_factory
from cassandra.policies.retry import RetryPolicy

if TYPE_CHECKING:
    from cassandra.client.configuration import ClusterBase
    from cassandra.policies.balancing import LoadBalancingPolicy

__all__ = ["DefaultRetryPolicy", "LoadBalancing"]

P = TypeVar("P")


class _OldStyle(Generic[P]):
    """An attribute of a cluster that is a policy of its default profile.

    Of the class it is None, the setting's default. Setting it chooses the older style, which
    excludes execution profiles.
    """

    setting: str

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, cluster: None, owner: Any) -> None: ...

    @overload
    def __get__(self, cluster: ClusterBase, owner: Any) -> P: ...

    def __get__(self, cluster: ClusterBase | None, owner: Any) -> P | None:
        if cluster is None:
            return None
        profile = self._profile(cluster)
        kept: P | None = (
            vars(cluster).get(self.name) if profile is None else getattr(profile, self.setting)
        )
        return kept

    def __set__(self, cluster: ClusterBase, policy: P | None) -> None:
        profile = self._profile(cluster)
        # The constructor's: profiles are made later, and of it.
        if profile is None:
            vars(cluster)[self.name] = policy
            return
        if cluster.uses_profiles:
            raise ValueError(
                f"Cluster.{self.name} cannot be set if execution profiles are used: "
                f"set {self.setting} of a profile"
            )
        chosen = self.checked(policy)
        cluster.use_old_style()
        for one in (profile, *cluster.profiles_of_sessions()):
            setattr(one, self.setting, chosen)
        self.adopt(cluster, chosen)

    def _profile(self, cluster: ClusterBase) -> Any:
        manager = vars(cluster).get("profile_manager")
        return manager.profiles.get(EXEC_PROFILE_DEFAULT) if manager is not None else None

    def checked(self, policy: P | None) -> P:
        """Return `policy`, or the default one for None."""
        raise NotImplementedError

    def adopt(self, cluster: ClusterBase, policy: P) -> None:
        """Do the rest that it takes for the policy to act."""


class LoadBalancing(_OldStyle["LoadBalancingPolicy"]):
    """The load balancing policy of the default profile."""

    setting = "load_balancing_policy"

    def checked(self, policy: LoadBalancingPolicy | None) -> LoadBalancingPolicy:
        chosen = policy if policy is not None else default_lbp_factory()
        check_instance(self.name, chosen)
        chosen.check_supported()
        return chosen

    def adopt(self, cluster: ClusterBase, policy: LoadBalancingPolicy) -> None:
        cluster.adopt_policy(policy)


class DefaultRetryPolicy(_OldStyle[RetryPolicy]):
    """The retry policy of the default profile."""

    setting = "retry_policy"

    def checked(self, policy: RetryPolicy | None) -> RetryPolicy:
        chosen = policy if policy is not None else RetryPolicy()
        check_instance(self.name, chosen)
        return chosen
