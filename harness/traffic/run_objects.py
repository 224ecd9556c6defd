"""The objects of one run: its templates, claims and pods, as the plan and the scenario ask.

Several schedulers get pods in turn. With `subject.own_devices` each claim selects the devices of
the scheduler that its pods name.
"""

import itertools
from collections.abc import Iterator

from harness.history import plans
from harness.model.objects import Object
from harness.scenario import claim_specs, pool_specs, specs
from harness.traffic import objects


class RunObjects:
    """Makes the objects that the users of one worker process create."""

    def __init__(self, plan: plans.Plan, scenario: specs.Scenario) -> None:
        self._run_id, self._scenario = plan.run_id, scenario
        self._names = [item.scheduler_name for item in scenario.subject.schedulers]
        self._turns = itertools.cycle(self._names)
        self._claim_numbers = itertools.count()

    @property
    def names_claims(self) -> bool:
        return not self._scenario.claim.extended

    def templates(self) -> Iterator[Object]:
        kinds = range(len(self._scenario.claim_kinds))
        entries = sorted(set(self._templates))
        for owner, entry, kind in itertools.product(self._owners(), entries, kinds):
            name = objects.template_name(entry, owner, kind=kind)
            spec = self._claim_spec(name, owner, kind)
            marks = self._scenario.claim_kinds[kind].annotations
            yield objects.template(name, spec, run_id=self._run_id, annotations=marks)

    def claim_owner(self) -> str:
        return next(self._turns) if self._has_owners else ""

    def claim(self, name: str, *, owner: str = "", number: int | None = None) -> Object:
        """Return a claim; `owner` is from `claim_owner`.

        `number` decides of which kind it is; None: of the next kind.
        """
        kind = self._next_kind() if number is None else self._scenario.claim_kind(number)
        spec, marks = (
            self._claim_spec(name, owner, kind),
            self._scenario.claim_kinds[kind].annotations,
        )
        return objects.claim(name, spec, run_id=self._run_id, annotations=marks)

    def pod(
        self,
        name: str,
        *,
        claim_name: str | None = None,
        owner: str = "",
        node_name: str = "",
        runs_s: float | None = None,
    ) -> Object:
        """Return a pod with the named claim, or with claims of the templates.

        `owner` is that of the named claim; `node_name`: the pod is bound already; `runs_s`: its
        container ends by itself after these seconds, None: never.
        """
        scheduler = owner or next(self._turns)
        return objects.pod(
            name,
            self._use(claim_name, scheduler),
            run_id=self._run_id,
            scheduler=scheduler,
            node_name=node_name,
            own_nodes=self._scenario.pools.has("several-nodes"),
            runs_s=runs_s,
        )

    # -------------------------------------------------------------------------- choices

    @property
    def _has_owners(self) -> bool:
        return self._scenario.subject.own_devices

    @property
    def _entries(self) -> int:
        return getattr(self._scenario.traffic, "claims_per_pod", 1)

    @property
    def _templates(self) -> list[int]:
        is_one = getattr(self._scenario.traffic, "one_template", False)
        return [0 if is_one else entry for entry in range(self._entries)]

    def _owners(self) -> list[str]:
        return self._names if self._has_owners else [""]

    def _use(self, claim_name: str | None, scheduler: str) -> Object:
        if not self.names_claims:
            resource = self._scenario.pools.device_class.requested_resource
            return objects.uses_extended(resource, self._scenario.claim.devices)
        if claim_name is not None:
            return objects.uses([claim_name])
        owner = scheduler if self._has_owners else ""
        return objects.uses(
            templates=[
                objects.template_name(entry, owner, kind=self._next_kind())
                for entry in self._templates
            ]
        )

    def _next_kind(self) -> int:
        return self._scenario.claim_kind(next(self._claim_numbers))

    def _claim_spec(self, name: str, owner: str, kind: int) -> Object:
        claim, pools = self._scenario.claim_kinds[kind], self._scenario.pools
        if owner:
            chosen = objects.owned_devices(pools.driver, self._names.index(owner), len(self._names))
            claim = claim.model_copy(update={"selectors": [*claim.selectors, chosen]})
        return claim_spec(claim, pools, of=name)


CLAIM_NAME = "{claim}"
"""Stands for the claim's name in the value of a parameter."""


def claim_spec(
    claim: claim_specs.ClaimSpec, pools: pool_specs.PoolsSpec, *, of: str = ""
) -> Object:
    devices: Object = {"requests": [_request(request, pools) for request in claim.asked]}
    if claim.constraints:
        devices["constraints"] = [_constraint(item, pools.driver) for item in claim.constraints]
    if claim.parameters:
        values = {key: value.replace(CLAIM_NAME, of) for key, value in claim.parameters.items()}
        of_files = pools.imported and pools.is_of_files("", "")
        devices["config"] = [
            {"opaque": {"driver": name, "parameters": values}}
            for name in (pools.drivers if of_files else [pools.driver])
        ]
    return {"devices": devices}


def _request(request: claim_specs.RequestSpec, pools: pool_specs.PoolsSpec) -> Object:
    if request.first_available:
        alternatives = [
            {"name": item.name, **_wanted(item, pools)} for item in request.first_available
        ]
        return {"name": request.name, "firstAvailable": alternatives}
    exactly = _wanted(request, pools)
    if request.admin_access:
        exactly["adminAccess"] = True
    return {"name": request.name, "exactly": exactly}


def _wanted(item: claim_specs.AlternativeSpec, pools: pool_specs.PoolsSpec) -> Object:
    name = pools.imported_class(item.class_) if item.class_ else pools.class_of(item.pool)
    wanted: Object = {"deviceClassName": name}
    if item.all:
        wanted["allocationMode"] = "All"
    else:
        wanted |= {"allocationMode": "ExactCount", "count": item.devices}
    if item.selectors:
        wanted["selectors"] = [{"cel": {"expression": text}} for text in item.selectors]
    if item.capacity:
        wanted["capacity"] = {"requests": dict(item.capacity)}
    if item.tolerations:
        wanted["tolerations"] = [_toleration(one) for one in item.tolerations]
    return wanted


def _toleration(one: claim_specs.TolerationSpec) -> Object:
    listed = {"key": one.key, "operator": one.operator, "value": one.value, "effect": one.effect}
    found: Object = {key: value for key, value in listed.items() if value}
    return found if one.seconds is None else found | {"tolerationSeconds": one.seconds}


def _constraint(item: claim_specs.ConstraintSpec, driver: str) -> Object:
    named = {"matchAttribute": item.match_attribute, "distinctAttribute": item.distinct_attribute}
    document: Object = {
        kind: name if "/" in name else f"{driver}/{name}" for kind, name in named.items() if name
    }
    return document | ({"requests": list(item.requests)} if item.requests else {})
