"""The objects of one run: its templates, claims and pods, as the plan and the scenario ask.

Several schedulers get pods in turn. With `subject.own_devices` each claim selects the devices of
the scheduler that its pods name.
"""

import itertools
from collections.abc import Iterator

from harness.history import plans
from harness.model.objects import Object
from harness.scenario import specs
from harness.traffic import claim_requests, objects


class RunObjects:
    """Makes the objects that the users of one worker process create."""

    def __init__(self, plan: plans.Plan, scenario: specs.Scenario) -> None:
        self._run_id, self._scenario = plan.run_id, scenario
        self._names = [item.scheduler_name for item in scenario.subject.schedulers]
        self._turns = itertools.cycle(self._names)
        self._claim_numbers = itertools.count()

    @property
    def names_claims(self) -> bool:
        """True if users create claims or a template; False if the scheduler creates the claims."""
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
        """Return the scheduler for all pods of the next claim; empty: each pod has its own."""
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
        return claim_requests.claim_spec(claim, pools, of=name)
