"""The objects that users create: those of a run, as its plan and scenario ask.

Names are chosen here and never generated, so that a call that was sent twice shows as a 409.
Several schedulers get pods in turn. With `subject.own_devices` each claim selects the devices of
the scheduler that its pods name.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from harness.client import apis
from harness.history import plans
from harness.model import naming
from harness.model.objects import Object
from harness.scenario import claim_specs, pool_specs, specs

RUN_LABEL = naming.RUN_LABEL
SHARED_CLAIM = "claim"
"""Name of the claim that all pods of the profile `limit` use."""
SLEEP = "sleep"
"""The command of containers that end by themselves; fake kubelets know it."""
CLAIM_NAME = "{claim}"
"""Stands for the claim's name in the value of a parameter."""
_TEMPLATE = "template"
"""Name of the ResourceClaimTemplate of a run; further ones get suffixes."""
_ENTRY = "device"
"""Name of the first entry in a pod's `spec.resourceClaims`; further ones get a number."""


class RunObjects:
    """Makes the objects that the users of one worker process create."""

    def __init__(self, plan: plans.Plan, scenario: specs.Scenario) -> None:
        self._run_id, self._scenario = plan.run_id, scenario
        self._names = [item.scheduler_name for item in scenario.subject.schedulers]
        self._has_owners = scenario.subject.own_devices
        self._turns = itertools.cycle(self._names)
        self._claim_numbers = itertools.count()
        traffic = scenario.traffic
        entries = range(getattr(traffic, "claims_per_pod", 1))
        self._templates = [0 if getattr(traffic, "one_template", False) else one for one in entries]
        """The template of each claim of a pod."""

    @property
    def names_claims(self) -> bool:
        return not self._scenario.claim.extended

    def templates(self) -> Iterator[Object]:
        owners, entries = self._names if self._has_owners else [""], sorted({*self._templates})
        kinds = range(len(self._scenario.claim_kinds))
        for owner, entry, kind in itertools.product(owners, entries, kinds):
            name = _template_name(entry, owner, kind)
            spec, marks = self._claim_spec(name, owner, kind)
            yield template(name, spec, run_id=self._run_id, annotations=marks)

    def claim_owner(self) -> str:
        return next(self._turns) if self._has_owners else ""

    def claim(self, name: str, *, owner: str = "", number: int | None = None) -> Object:
        """Return a claim; `owner` is from `claim_owner`.

        `number` decides of which kind it is; None: of the next kind.
        """
        kind = self._next_kind() if number is None else self._scenario.claim_kind(number)
        spec, marks = self._claim_spec(name, owner, kind)
        return claim(name, spec, run_id=self._run_id, annotations=marks)

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

        `owner` is that of the named claim; for the rest see `pod` of the module.
        """
        scheduler = owner or next(self._turns)
        return pod(
            name,
            self._use(claim_name, scheduler),
            run_id=self._run_id,
            scheduler=scheduler,
            node_name=node_name,
            own_nodes=self._scenario.pools.has("several-nodes"),
            runs_s=runs_s,
        )

    def _use(self, claim_name: str | None, scheduler: str) -> Object:
        if not self.names_claims:
            resource = self._scenario.pools.device_class.requested_resource
            return uses_extended(resource, self._scenario.claim.devices)
        if claim_name is not None:
            return uses([claim_name])
        owner = scheduler if self._has_owners else ""
        return uses(
            templates=[_template_name(one, owner, self._next_kind()) for one in self._templates]
        )

    def _next_kind(self) -> int:
        return self._scenario.claim_kind(next(self._claim_numbers))

    def _claim_spec(self, name: str, owner: str, kind: int) -> tuple[Object, Mapping[str, str]]:
        claim, pools = self._scenario.claim_kinds[kind], self._scenario.pools
        if owner:
            index = f'device.attributes["{pools.driver}"].index'
            mine = f"{index} % {len(self._names)} == {self._names.index(owner)}"
            claim = claim.model_copy(update={"selectors": [*claim.selectors, mine]})
        return claim_spec(claim, pools, of=name), claim.annotations


def _template_name(entry: int, owner: str, kind: int) -> str:
    """Return the name of the template for an entry of pods and a kind of claims.

    `owner`: only for this scheduler.
    """
    number = f"-{entry + 1}" if entry else ""
    number += f"-kind-{kind}" if kind else ""
    return f"{_TEMPLATE}{number}" + (f"-{owner}" if owner else "")


# ------------------------------------------------------------------------- single objects


def claim(
    name: str, spec: Object, *, run_id: str, annotations: Mapping[str, str] | None = None
) -> Object:
    return {
        "apiVersion": apis.CLAIMS.api_version,
        "kind": apis.CLAIMS.kind,
        "metadata": {"name": name, **_marks(run_id, annotations)},
        "spec": spec,
    }


def template(
    name: str, spec: Object, *, run_id: str, annotations: Mapping[str, str] | None = None
) -> Object:
    """Return a ResourceClaimTemplate; the annotations are those of its claims."""
    return {
        "apiVersion": apis.CLAIM_TEMPLATES.api_version,
        "kind": apis.CLAIM_TEMPLATES.kind,
        "metadata": {"name": name, **_marks(run_id)},
        "spec": {"metadata": _marks(run_id, annotations), "spec": spec},
    }


def _marks(run_id: str, annotations: Mapping[str, str] | None = None) -> Object:
    marks: Object = {"labels": {RUN_LABEL: run_id}}
    return {**marks, "annotations": dict(annotations)} if annotations else marks


def pod(
    name: str,
    use: Object,
    *,
    run_id: str,
    scheduler: str,
    node_name: str = "",
    own_nodes: bool = False,
    runs_s: float | None = None,
) -> Object:
    """Return a pod; `use` is what its spec says of devices, a result of `uses` or `uses_extended`.

    `node_name`: the pod is bound to this node already. `own_nodes`: it may run on nodes of the run
    only, whatever nodes its devices can be used on. `runs_s`: its container ends by itself after
    these seconds, None: never.
    """
    program = {} if runs_s is None else {"command": [SLEEP, f"{runs_s:.3f}"]}
    spec: Object = {
        "schedulerName": scheduler,
        "terminationGracePeriodSeconds": 1,
        "restartPolicy": "Always" if runs_s is None else "Never",
        **use,
        "containers": [{**container, **program} for container in use["containers"]],
        **({"nodeName": node_name} if node_name else {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **_marks(run_id)},
        "spec": on_nodes_of_run(spec, run_id, is_required=own_nodes),
    }


def on_nodes_of_run(spec: Object, run_id: str, *, is_required: bool = True) -> Object:
    """Return the spec of a pod that tolerates the taint of a run's nodes; required: it may run on
    no others."""
    own = {"key": RUN_LABEL, "value": run_id, "effect": "NoSchedule"}
    made = {**spec, "tolerations": [*(spec.get("tolerations") or ()), own]}
    if is_required:
        made["nodeSelector"] = {**(spec.get("nodeSelector") or {}), RUN_LABEL: run_id}
    return made


def uses(claims: Sequence[str] = (), templates: Sequence[str] = ()) -> Object:
    sources = [
        *({"resourceClaimName": name} for name in claims),
        *({"resourceClaimTemplateName": name} for name in templates),
    ]
    entries = [_ENTRY if index == 0 else f"{_ENTRY}-{index + 1}" for index in range(len(sources))]
    return {
        "containers": [_container({"claims": [{"name": name} for name in entries]})],
        "resourceClaims": [
            {"name": name, **source} for name, source in zip(entries, sources, strict=True)
        ],
    }


def uses_extended(resource: str, amount: int) -> Object:
    """Return what a pod with an extended resource has in its spec; it names no claim."""
    amounts = {resource: str(amount)}
    return {"containers": [_container({"requests": amounts, "limits": amounts})]}


def _container(resources: Object) -> Object:
    return {"name": "work", "image": "registry.invalid/none", "resources": resources}


# ------------------------------------------------------------------------ requests of claims


def claim_spec(
    claim: claim_specs.ClaimSpec, pools: pool_specs.PoolsSpec, *, of: str = ""
) -> Object:
    devices: Object = {"requests": [_request(request, pools) for request in claim.asked]}
    if claim.constraints:
        devices["constraints"] = [_constraint(item, pools.driver) for item in claim.constraints]
    if claim.parameters:
        values = {key: value.replace(CLAIM_NAME, of) for key, value in claim.parameters.items()}
        of_files = pools.imported and pools.is_of_files("", "")
        drivers = pools.drivers if of_files else [pools.driver]
        devices["config"] = [{"opaque": {"driver": name, "parameters": values}} for name in drivers]
    return {"devices": devices}


def _request(request: claim_specs.RequestSpec, pools: pool_specs.PoolsSpec) -> Object:
    if request.first_available:
        found = [{"name": item.name, **_wanted(item, pools)} for item in request.first_available]
        return {"name": request.name, "firstAvailable": found}
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
