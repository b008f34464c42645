"""Devices held for workloads, as DeviceTaintRules of the API server."""

from __future__ import annotations

from contextlib import suppress

from actuator.kube.apiserver import ApiServer
from actuator.kube.errors import NotFoundError
from actuator.kube.listing import listed
from actuator.kube.mirror import Scope
from actuator.kube.records import Records
from actuator.kube.resources import TAINT_RULES
from actuator.manifest import Json
from actuator.objects.holds import holds_of, rule_of
from fleet.errors import RefusedError
from fleet.holds import Hold

NO_RULES = (
    f"the cluster does not serve {TAINT_RULES.kind} in {TAINT_RULES.api_version}, so no room can be held"
)
DROPPED = f"the API server keeps {TAINT_RULES.kind} without its {{field}}, so no room can be held"

_SCOPE = Scope(TAINT_RULES)


def holds_in(server: ApiServer) -> tuple[Hold, ...]:
    """Return all holds of ours, none where the cluster does not serve what they are made of."""
    try:
        return holds_of(listed(server, TAINT_RULES.path())[0])
    except NotFoundError:
        return ()


def end(server: ApiServer, hold: Hold) -> None:
    """End a hold that was seen, and none that came after it; one that is gone = no change."""
    # One that was never read back has no name yet: without one, the path is that of all rules, people's too.
    name = hold.name or rule_of(hold)["metadata"]["name"]
    with suppress(NotFoundError):
        server.request("DELETE", TAINT_RULES.path(name=name), {"preconditions": {"uid": hold.uid}})


class Holds(Records):
    """Writes holds, once a dry run has shown what becomes of them: a rule without its device taints more."""

    _are_kept_whole = False

    def hold(self, hold: Hold) -> None:
        """Keep new claims of others off a device; `ConflictError` where it is held already."""
        rule = rule_of(hold)
        try:
            if not self._are_kept_whole:
                self._try_out(rule)
            self._create(_SCOPE, rule)
        except NotFoundError as error:
            self._are_kept_whole = False
            raise RefusedError(NO_RULES) from error

    def _try_out(self, rule: Json) -> None:
        kept = self._server.create(_SCOPE.path, rule, is_dry=True)
        for field in ("deviceSelector", "taint"):
            if not rule["spec"][field].items() <= (kept["spec"].get(field) or {}).items():
                raise RefusedError(DROPPED.format(field=field))
        self._are_kept_whole = True

    def release(self, hold: Hold) -> None:
        """End a hold that was seen, and none that came after it; one that is gone = no change."""
        self._fence()
        end(self._server, hold)
        held = self._mirror.get(_SCOPE, hold.name)
        if held is not None and held["metadata"]["uid"] == hold.uid:
            self._mirror.drop(_SCOPE, held)
