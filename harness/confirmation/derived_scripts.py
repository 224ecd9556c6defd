"""A script from the order that a finding needs."""

import functools
import itertools
from collections.abc import Iterator, Sequence

from harness.apiserver.storage import watch_cache
from harness.confirmation import api_atoms, needed_orders, world_objects
from harness.explore.search import tokens
from harness.explore.worlds import api_events, world_fixtures
from harness.model import naming
from harness.model.objects import Object

REST_S = 3.0
"""Most time that a script waits for something that only a program with the defect does, in
seconds."""
PROGRESS_S = 10.0
"""Seconds for which a pod may wait that can run."""
_AT_REST = ("stuck:", "leaked:")
"""Findings that show when all is at rest."""
CHECKS = {
    "device": ["device_exclusivity"],
    "bound:": ["claims_in_use", "bound_pods"],
    "reservations:": ["claim_reservations"],
    "leaked:": ["resource_leaks", "claims_in_use"],
    "entry:": ["generated_claims"],
    "stuck:": ["claim_progress"],
    "finalizer:": ["allocation_finalizers", "bound_pods"],
    "extended:": ["extended_claims"],
    "prepared:": ["prepared_devices"],
}
"""The checks of a run that find the same as the first word of an explorer's finding says."""


def document(token: tokens.Token, order: needed_orders.NeededOrder, *, name: str) -> Object:
    """Return a scenario of this name with the script of a token's finding.

    Raises UsageError if a script cannot have the world.
    """
    kind = needed_orders.kind_of(order.finding)
    if kind not in CHECKS:
        raise world_objects.cannot(f"no check of a run finds this: {order.finding}")
    hazard = token.spec.hazard
    writing = _Writing(token, order)
    steps = writing.steps()
    return {
        "schema_version": 1,
        "name": name,
        "title": f"{token.scenario}: {order.finding}"[:200],
        "description": f"Derived from flake-hunt replay {token}\n",
        **({"known_to_fail": hazard.hypothesis} if hazard else {}),
        **({"remedies": [hazard.remedy]} if hazard and hazard.remedy else {}),
        "pools": {
            "nodes": writing.setup.nodes,
            "devices_per_node": writing.setup.devices_per_node,
        },
        **writing.subject(),
        **({"limits": {"progress_s": PROGRESS_S}} if kind in _AT_REST else {}),
        "traffic": {
            "profile": "script",
            "expects": CHECKS[kind],
            "objects": writing.objects,
            "steps": steps,
        },
    }


class _Writing:
    """The making of one script."""

    def __init__(self, token: tokens.Token, order: needed_orders.NeededOrder) -> None:
        self._order, self._course = order, order.course
        self._schedulers = _schedulers(token)
        self.setup = world_objects.of_world(order.initial)
        self.objects: list[Object] = []
        self._steps: list[Object] = []
        self._step_of: dict[api_atoms.Key, Object] = {}
        """The step in which an atom happens."""
        self._rests = _rests_before(order.needed)
        self._needed = {atom.key: atom for atom in order.needed}
        self._late_pods = {
            atom.changes[0] for atom in order.needed if needed_orders.is_new_pod(atom)
        }
        """The pods that are created when a scheduler has to hear of them."""
        self._late = dict(self._late_requests())
        """The first request of each killed client that arrives after its end."""
        self._dead: set[str] = set()
        self._kept = self._needed.keys() | self._anchors() | set(self._late.values())

    def subject(self) -> Object:
        """Return the part of the scenario with its schedulers, if there are several."""
        if len(self._schedulers) < 2:
            return {}
        return {"subject": {"schedulers": [{"kind": "python"}] * len(self._schedulers)}}

    # ------------------------------------------------------------------ before the steps

    def _late_requests(self) -> Iterator[tuple[str, api_atoms.Key]]:
        for place, atom in enumerate(self._course):
            if atom.kind == "process" and atom.event.kind == "stopped":
                client = atom.event.client
                later = (one for one in self._course[place:] if _is_write_of(one, client))
                if (first := next(later, None)) is not None:
                    yield client, first.key

    def _anchors(self) -> set[api_atoms.Key]:
        """Return the atoms from which the holding of a needed event counts."""
        held = [
            atom
            for atom in self._needed.values()
            if atom.kind in ("event", "end-watch") and not needed_orders.is_new_pod(atom)
        ]
        changes = {change for atom in held for change in atom.changes}
        return {
            atom.key
            for atom in self._course
            if atom.kind not in ("event", "end-watch") and changes & set(atom.changes)
        }

    # ------------------------------------------------------------------------- the steps

    def steps(self) -> list[Object]:
        """Return the steps. Raises UsageError if a script cannot have one."""
        for commit in self.setup.objects:
            self._create(commit)
            self._set_status(commit)
        for place, atom in enumerate(self._course):
            is_late = atom.key in self._late.values()
            if atom.kind == "process" or is_late or atom.event.client not in self._dead:
                self._add(place, atom)
        return self._steps

    def _add(self, place: int, atom: api_atoms.Atom) -> None:
        is_late_pod = bool(self._late_pods & {*atom.changes})
        if is_late_pod and atom.kind == "event" and atom.key in self._needed:
            self._rest_before(place, atom)
            self._create(self._creation_of(atom.changes[0]))
        elif is_late_pod:
            return
        elif atom.event.client == api_events.USER and atom.kind in ("request", "change"):
            self._await_before(place)
            self._rest_before(place, atom)
            self._change(atom)
        elif atom.kind == "change" and atom.event.verb == "patch":
            self._collect(atom)
        elif atom.kind == "process":
            self._change_process(place, atom)
        elif (end := self._end_before(place, atom)) is not None:
            self._put({**self._request(atom), "since": self._named(end)}, atom)
        elif atom.key in self._kept:
            self._rest_before(place, atom)
            self._hold(atom)

    def _hold(self, atom: api_atoms.Atom) -> None:
        match atom.kind:
            case "request" if atom.key in self._late.values() and atom.event.client in self._dead:
                self._put({"do": "arrive", "request": self._named(atom.key)}, atom)
            case "request":
                self._put(self._request(atom), atom)
            case "arrival":
                request = ("request", *atom.key[1:])
                self._put({"do": "arrive", "request": self._named(request)}, atom)
            case "answer":
                request = ("request", *atom.key[1:])
                if request in self._step_of:
                    self._step_of[request]["answer"] = "held"
                    self._put({"do": "answer", "request": self._named(request)}, atom)
            case "event":
                self._put(self._events(atom, "deliver"), atom)
            case "end-watch":
                how = "gone" if atom.fault.startswith("expire") else "closed"
                self._put({**self._events(atom, "end-watch"), "how": how}, atom)

    def _request(self, atom: api_atoms.Atom) -> Object:
        do = {"lose-request": "lose-request", "delay-request": "sever-request"}
        made: Object = {"do": do.get(atom.fault, "request"), "client": atom.event.client}
        made |= self._call(atom)
        if atom.fault == "lose-response":
            made["answer"] = "lost"
        return made

    def _call(self, atom: api_atoms.Atom) -> Object:
        verb, target = atom.event.verb, self._pattern(atom.event.of)
        if verb == "create" and target.count("/") == 1:
            target = target.partition("/")[0]
        alike = {one.event.verb for one in self._course if self._is_alike(one, atom)}
        is_clear = alike <= {verb} and verb not in api_atoms.READING and "/" in target
        return {"of": target, **({} if is_clear else {"verb": verb})}

    @staticmethod
    def _is_alike(one: api_atoms.Atom, atom: api_atoms.Atom) -> bool:
        same = one.event.client == atom.event.client and one.event.of == atom.event.of
        return one.kind == "request" and same and one.event.verb not in api_atoms.READING

    def _events(self, atom: api_atoms.Atom, do: str) -> Object:
        target, number = atom.changes[0]
        events = target.partition("/")[0] if do == "end-watch" else self._pattern(target)
        made: Object = {"do": do, "client": atom.event.client, "events": events}
        source = next(
            (key for key, step in self._step_of.items() if self._has_changed(key, target, number)),
            None,
        )
        return made | ({"since": self._named(source)} if source else {})

    def _has_changed(self, key: api_atoms.Key, target: str, number: int) -> bool:
        found = next((atom for atom in self._course if atom.key == key), None)
        return (
            found is not None
            and found.kind not in ("event", "end-watch")
            and (
                target,
                number,
            )
            in found.changes
        )

    # ------------------------------------------------------------------------- processes

    def _change_process(self, place: int, atom: api_atoms.Atom) -> None:
        client = atom.event.client
        if atom.event.kind == "started":
            lists = self._kept_lists(place, naming.incarnation(client, 2))
            self._put(
                {"do": "start", "process": client, **({"ready": False} if lists else {})}, atom
            )
            return
        if (late := self._late.get(client)) is not None:
            request = next(one for one in self._course if one.key == late)
            self._put({"do": "hold-request", "client": client, **self._call(request)}, request)
            self._named(late)
        self._dead.add(client)
        self._put({"do": "kill", "process": client}, atom)

    def _kept_lists(self, place: int, client: str) -> list[api_atoms.Key]:
        """Return the first lists of a client that the script holds."""
        return [
            atom.key
            for atom in self._course[place:]
            if atom.event.client == client and atom.event.verb == "list" and atom.key in self._kept
        ]

    def _end_before(self, place: int, atom: api_atoms.Atom) -> api_atoms.Key | None:
        """Return the end of the watch after which a client lists again, if changes lie between."""
        if atom.kind != "request" or atom.event.verb != "list":
            return None
        changed = False
        for one in reversed(self._course[:place]):
            changed = changed or _is_write(one)
            is_same = (one.event.client, one.event.of) == (atom.event.client, atom.event.of)
            if one.kind == "end-watch" and is_same and changed:
                return one.key if one.key in self._step_of else None
        return None

    # ----------------------------------------------------------------------------- users

    def _creation_of(self, change: tuple[str, int]) -> watch_cache.Commit:
        made = (atom for atom in self._course if atom.kind in ("change", "request"))
        return next(atom for atom in made if change in atom.changes).event.commits[0]

    def _change(self, atom: api_atoms.Atom) -> None:
        for commit in atom.event.commits[:1]:
            target = f"{commit.resource.plural}/{commit.object.name}"
            if commit.type == "ADDED":
                self._create(commit)
            elif atom.event.verb == "delete" or commit.type == "DELETED":
                force = any(one.type == "DELETED" for one in atom.event.commits)
                is_pod = commit.resource.plural == "pods"
                self._steps.append(
                    {"do": "delete", "object": self._object(target), **_if(force=force and is_pod)}
                )
            elif target.partition("/")[0] in ("pods", "resourceclaims"):
                self._patch(target, commit.previous.document() if commit.previous else {}, commit)
            else:
                raise world_objects.cannot(f"a client changes {target.partition('/')[0]}")
            self._step_of[atom.key] = self._steps[-1]

    def _collect(self, atom: api_atoms.Atom) -> None:
        """Delete an object whose owner is gone: a cluster may do it later than the world does."""
        self._steps.append({"do": "delete", "object": self._object(atom.changes[0][0])})
        self._steps.append({"do": "wait", "seconds": 0.5})

    def _create(self, commit: watch_cache.Commit) -> None:
        if commit.resource.plural not in ("pods", "resourceclaims", "resourceclaimtemplates"):
            raise world_objects.cannot(f"a client creates {commit.resource.plural}")
        self.objects.append(world_objects.script_object(commit, self._schedulers))
        self._steps.append({"do": "create", "object": commit.object.name})

    def _set_status(self, commit: watch_cache.Commit) -> None:
        status = commit.object.document().get("status") or {}
        if commit.resource.plural == "resourceclaims" and status:
            finalizers = {"metadata": {"finalizers": [world_fixtures.FINALIZER]}}
            self._steps.append({"do": "patch", "object": commit.object.name, "patch": finalizers})
            self._patch(f"resourceclaims/{commit.object.name}", {}, commit)

    def _patch(self, target: str, before: Object, commit: watch_cache.Commit) -> None:
        after = commit.object.document()
        status = world_objects.merge_patch(before.get("status") or {}, after.get("status") or {})
        if any(user.get("resource") == "pods" for user in status.get("reservedFor") or ()):
            raise world_objects.cannot("a client reserves a claim for a pod by its UID")
        made: Object = {"do": "patch", "object": self._object(target)}
        if status:
            made |= _patch_of({"status": world_objects.translated(status)})
            made["subresource"] = "status"
        else:
            meta = world_objects.merge_patch(
                before["metadata"].get("annotations") or {},
                after["metadata"].get("annotations") or {},
            )
            made |= _patch_of({"metadata": {"annotations": meta}})
        self._steps.append(made)

    def _object(self, target: str) -> str:
        """Return how a step names an object: an object of the script by its name alone."""
        name = target.partition("/")[2]
        return name if self._is_own(name) else self._pattern(target)

    # -------------------------------------------------------------------- names and waits

    def _is_own(self, name: str) -> bool:
        return any(item["name"] == name for item in self.objects)

    def _pattern(self, target: str) -> str:
        """Return RESOURCE[/NAME[/SUBRESOURCE]] with a pattern in place of a generated name."""
        resource, name, subresource = (*target.split("/"), "", "")[:3]
        if resource == "resourceclaims" and name and not self._is_own(name):
            pods = [item["name"] for item in self.objects if item["kind"] == "Pod"]
            owners = [pod for pod in pods if name.startswith(f"{pod}-")]
            name = f"{max(owners, key=len, default='')}-*" if owners else "*"
        return "/".join(part for part in (resource, name, subresource) if part)

    def _named(self, key: api_atoms.Key) -> str:
        """Return the name of the step in which an atom happens; give it one if it has none."""
        step = self._step_of[key]
        if "name" not in step:
            taken = {one.get("name") for one in self._steps}
            base = _name_for(step)
            names = [base, *(f"{base}-{number}" for number in range(2, len(self._steps) + 2))]
            step["name"] = next(name for name in names if name not in taken)
        return str(step["name"])

    def _put(self, step: Object, atom: api_atoms.Atom) -> None:
        self._steps.append(step)
        self._step_of.setdefault(atom.key, step)

    def _rest_before(self, place: int, atom: api_atoms.Atom) -> None:
        """Wait as long as the order does, or until what the program does meanwhile has happened."""
        if atom.key in self._rests:
            self._rests.discard(atom.key)
            done = self._course[:place]
            state = next((found for one in reversed(done) if (found := self._state(one))), None)
            is_new = state is not None and state["object"] not in _awaited(self._steps)
            wait: Object = {"do": "wait", "seconds": 1.0}
            self._steps.append({**state, "at_most_s": REST_S} if state and is_new else wait)

    def _await_before(self, place: int) -> None:
        """Wait for what a user waits for: the last change by a program, unless a step has it."""
        for before in reversed(self._course[:place]):
            is_users = before.event.client == api_events.USER
            if before.kind in ("request", "change") and is_users:
                return
            if before.key in self._step_of:
                return
            if _is_write(before) and before.event.client not in self._dead:
                state = self._state(before)
                self._put(state or self._request(before), before)
                return

    def _state(self, atom: api_atoms.Atom) -> Object | None:
        """Return a step that waits for the state which a request has brought about."""
        if atom.event.client == api_events.USER or not atom.changes:
            return None
        target = atom.changes[0][0]
        made: Object = {"do": "await", "object": self._object(target)}
        if atom.event.of.endswith("/binding"):
            return {**made, "state": "bound"}
        if atom.event.of.endswith("/status") and target.startswith("resourceclaims"):
            status = atom.event.commits[0].object.document().get("status") or {}
            return {**made, "state": "allocated" if "allocation" in status else "deallocated"}
        return None


def _schedulers(token: tokens.Token) -> Sequence[str]:
    """Return the names of the schedulers of a token's world."""
    made = token.spec.make
    kind = made.func if isinstance(made, functools.partial) else made
    names: Sequence[str] = getattr(kind, "schedulers_named", ())
    return names


def _rests_before(needed: Sequence[api_atoms.Atom]) -> set[api_atoms.Key]:
    """Return the atoms before which an order rests."""
    pairs = itertools.pairwise(needed)
    return {later.key for rest, later in pairs if rest.kind == "rest"}


def _is_write(atom: api_atoms.Atom) -> bool:
    return atom.kind == "request" and atom.event.verb not in api_atoms.READING


def _is_write_of(atom: api_atoms.Atom, client: str) -> bool:
    return _is_write(atom) and atom.event.client == client


def _awaited(steps: Sequence[Object]) -> set[str]:
    return {step["object"] for step in steps if step["do"] == "await"}


def _patch_of(patch: Object) -> Object:
    """Return the keys of a step for a JSON merge patch: TOML has no null."""
    removed: list[str] = []

    def kept(table: Object, path: str) -> Object:
        removed.extend(f"{path}{key}" for key, value in table.items() if value is None)
        return {
            key: kept(value, f"{path}{key}.") if isinstance(value, dict) else value
            for key, value in table.items()
            if value is not None
        }

    made = kept(patch, "")
    found = {key: value for key, value in made.items() if value}
    return {**({"patch": found} if found else {}), **({"remove": removed} if removed else {})}


def _if(**flags: bool) -> Object:
    return {name: True for name, value in flags.items() if value}


def _name_for(step: Object) -> str:
    """Return a name that says what happens in a step."""
    if step["do"] in ("sever-request", "hold-request"):
        return "late"
    if step["do"] == "end-watch":
        return "ended"
    if step["do"] in ("create", "delete", "patch"):
        return f"{step['do']}-{step['object']}".replace("/", "-").replace("*", "any")
    of = step.get("of") or step.get("events") or step.get("process") or ""
    kinds = {"binding": "bound", "status": "written"}
    return kinds.get(of.rpartition("/")[2], "carried-out")
