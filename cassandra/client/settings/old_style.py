"""The policies of the older style: settings of a cluster that stand for its default profile's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from cassandra.client.settings.checks import instance
from cassandra.client.settings.setting import Setting
from cassandra.engine.profile import EXEC_PROFILE_DEFAULT, default_lbp_factory
from cassandra.policies.retry import RetryPolicy

if TYPE_CHECKING:
    from cassandra.client.configuration import ClusterBase
    from cassandra.policies.balancing import LoadBalancingPolicy

__all__ = ["DefaultRetryPolicy", "LoadBalancing"]

P = TypeVar("P")


class _OldStyle(Setting["P | None", P], Generic[P]):
    """A setting that is a policy of the cluster's default profile.

    Of the class it is None, the setting's default. Setting it chooses the older style, which
    excludes execution profiles.
    """

    of_profile: str
    """The name of the profile's own setting."""

    def _read(self, holder: ClusterBase) -> P:
        profile = self._profile(holder)
        kept: Any = vars(holder).get(self.name)
        return kept if profile is None else getattr(profile, self.of_profile)  # type: ignore[no-any-return]

    def _write(self, holder: ClusterBase, value: Any) -> None:
        profile = self._profile(holder)
        # The constructor's: profiles are made later, and of it.
        if profile is None:
            vars(holder)[self.name] = value
            return
        if holder.uses_profiles:
            raise ValueError(
                f"Cluster.{self.name} cannot be set if execution profiles are used: "
                f"set {self.of_profile} of a profile"
            )
        chosen = self.chosen(value)
        holder.use_old_style()
        for one in (profile, *holder.profiles_of_sessions()):
            setattr(one, self.of_profile, chosen)
        vars(holder)[self.name] = chosen
        self.adopt(holder, chosen)

    def _profile(self, cluster: ClusterBase) -> Any:
        manager = vars(cluster).get("profile_manager")
        return manager.profiles.get(EXEC_PROFILE_DEFAULT) if manager is not None else None

    def chosen(self, policy: P | None) -> P:
        """Return `policy`, or the default one for None."""
        raise NotImplementedError

    def adopt(self, cluster: ClusterBase, policy: P) -> None:
        """Do the rest that it takes for the policy to act."""


class LoadBalancing(_OldStyle["LoadBalancingPolicy"]):
    """The load balancing policy of the default profile."""

    of_profile = "load_balancing_policy"

    def chosen(self, policy: LoadBalancingPolicy | None) -> LoadBalancingPolicy:
        made = policy if policy is not None else default_lbp_factory()
        instance(self.name, made)
        made.check_supported()
        return made

    def adopt(self, cluster: ClusterBase, policy: LoadBalancingPolicy) -> None:
        cluster.adopt_policy(policy)


class DefaultRetryPolicy(_OldStyle[RetryPolicy]):
    """The retry policy of the default profile."""

    of_profile = "retry_policy"

    def chosen(self, policy: RetryPolicy | None) -> RetryPolicy:
        made = policy if policy is not None else RetryPolicy()
        instance(self.name, made)
        return made
