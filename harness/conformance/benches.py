"""The bench of a test: the driver, the API server, and claims with allocations of its devices."""

import contextlib
import dataclasses
import pathlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness.client import apis
from harness.cluster.kubelet_api import boot_ids, calls, preparations
from harness.conformance import (
    allocations,
    cdi_specs,
    claim_documents,
    cluster_objects,
    driver_folders,
    driver_instances,
    kubelet_processes,
    options,
    results,
)

Claim = claim_documents.Claim
DEFAULT_DRIVER = "driver.flake-hunt.example"
"""{driver} if no name was given."""
_OF_REGISTRATION = ("registration/registers", "registration/socket-name")
_OF_PLAIN_CLAIMS = (
    *_OF_REGISTRATION,
    "registration/type",
    "registration/name",
    "registration/endpoint",
    "registration/known-version",
    "registration/versions-are-served",
    "prepare/allocated-claim",
)
LATE_MAX = 3
"""Calls without an answer after which a driver is given up: a run must not take an hour."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why hardly any rule can be checked: one failure is to be told once."""

    text: str
    leaves: Sequence[str] = ()
    """The rules that can be checked all the same."""


class Bench:
    """Everything that rules use. One rule at a time uses it."""

    def __init__(
        self,
        chosen: options.Options,
        folders: driver_folders.Folders,
        objects: cluster_objects.ClusterObjects,
    ) -> None:
        self.options, self.folders, self.objects = chosen, folders, objects
        boot_ids.renew(folders.boot_id)
        self._make_folder()
        self.instance = self._instance("instance-a")
        self.devices = allocations.Devices(chosen, objects, self.instance)
        self.kubelet = kubelet_processes.Kubelet(folders)
        self.pods = kubelet_processes.Pods(objects, node=chosen.node, timeout_s=chosen.deadline_s)
        self._claims: list[Claim] = []
        self._count, self._mark = 0, uuid.uuid4().hex[:6]
        self._files: set[pathlib.Path] = set()
        """The CDI files before the first claim of the rule."""
        self._late_count = 0
        self._ready_starts = 0
        """The number of starts after which the driver was seen to be ready."""
        self._obstacle: Obstacle | None = None

    # The driver

    @property
    def can_restart(self) -> bool:
        return bool(self.options.command)

    @property
    def driver(self) -> driver_instances.Driver:
        return self.instance.driver

    @property
    def name(self) -> str:
        return self.instance.info.name

    def start(self) -> None:
        """Start the driver, register it, and find out if there is an obstacle for most rules."""
        try:
            self.instance.start()
        except results.Failed as failure:
            text = f"the driver has not registered: {failure}"
            leaves = () if self.instance.exit_report else _OF_REGISTRATION
            self._obstacle = Obstacle(text=text, leaves=leaves)
            return
        try:
            self.prepared(self.claim())
        except results.Failed as failure:
            text = f"the driver does not prepare a plain claim: {failure}"
            self._obstacle = Obstacle(text=text, leaves=_OF_PLAIN_CLAIMS)
        except (results.Skipped, results.Undecided):
            pass  # without any device; each rule says so
        self._ready_starts = self.instance.start_count
        if self.settle():
            self.begin_afresh()

    def await_ready(self) -> None:
        """Let a driver that was started again come to rest, as it was before the first rule.

        It has come to rest when its slices do not change, and it has prepared a claim.
        """
        if self._ready_starts == self.instance.start_count:
            return
        self._ready_starts = self.instance.start_count
        self.devices.forget()
        with contextlib.suppress(results.Ended):
            self.prepared(self.claim())
        self.settle()

    @property
    def obstacle(self) -> Obstacle | None:
        """Why hardly any rule can be checked; None if they can."""
        if self._late_count >= LATE_MAX:
            waited = f"{LATE_MAX} calls had no answer within {self.options.deadline_s:g} s"
            return Obstacle(text=waited)
        return self._obstacle

    def require_restarts(self) -> None:
        """Raise Skipped if the driver was started by others."""
        results.skip_unless(
            self.can_restart, "the driver was not started by this command: name its program"
        )

    def restart(self) -> None:
        self.require_restarts()
        self.instance.kill()
        self.start_again()

    def start_again(self) -> None:
        self.devices.forget()
        try:
            self.instance.start()
        except results.Failed as failure:
            raise results.Failed(
                f"after kill -9 the driver does not come back: {failure}"
            ) from None

    @contextlib.contextmanager
    def second_instance(self) -> Iterator[driver_instances.Instance]:
        """Run a second instance beside the first one. Raises Skipped if the command has none."""
        self.require_restarts()
        results.skip_unless(
            any("{instance}" in word for word in self.options.command),
            "the command has no {instance}: it cannot run twice",
        )
        other = self._instance("instance-b")
        try:
            other.start(known=[self.instance.info.socket])
            yield other
        finally:
            other.stop()

    def reboot(self) -> None:
        self.require_restarts()
        self.folders.require_own_cdi()
        self.instance.kill()
        self.folders.empty_cdi()
        self.objects.set_boot_id(self.options.node, boot_ids.renew(self.folders.boot_id))
        self.start_again()

    def start_kubelet(self) -> None:
        """Start the kubelet, or start it again on its checkpoint. Raises Skipped."""
        self.require_restarts()
        self.kubelet.start(self.options, namespace=self.objects.namespace, driver=self.name)

    def begin_afresh(self) -> None:
        if not self.can_restart:
            return
        self.objects.release_reads()
        self.devices.forget()
        self.instance.kill()
        self.folders.empty()
        self._make_folder()
        self.objects.remove_slices()
        with contextlib.suppress(results.Failed):
            self.instance.start()
        if problem := self.instance.problem:
            self._obstacle = Obstacle(text=f"the driver does not register any more: {problem}")

    def _make_folder(self) -> None:
        """Make the folder for the driver's own socket: some programs expect it."""
        (self.folders.plugins / self._driver_name).mkdir(exist_ok=True, parents=True)

    @property
    def _driver_name(self) -> str:
        return self.options.driver_name or DEFAULT_DRIVER

    def _instance(self, name: str) -> driver_instances.Instance:
        folders = self.folders
        values = {
            "kubeconfig": self.options.kubeconfig,
            "node": self.options.node,
            "driver": self._driver_name,
            "kubelet_dir": folders.root,
            "plugins_dir": folders.plugins,
            "registry_dir": folders.registry,
            "cdi_dir": folders.cdi,
            "state_dir": folders.state,
            "instance": name,
        }
        words = [word.format_map(values) for word in self.options.command]
        return driver_instances.Instance(words, folders, self.options)

    # Claims

    def claim(
        self,
        *devices: allocations.Device,
        status: Mapping[str, Any] | None = None,
        is_allocated: bool = True,
        **more: Any,
    ) -> Claim:
        """Make a claim that is allocated devices, by default one, and reserved for a pod.

        `status` replaces keys of the status; `more` are those of `claim_documents.Wanted`.
        """
        if not self._claims:
            self._files = set(self.cdi())
        found = devices or tuple(self.devices.first())
        wanted = claim_documents.Wanted(devices=found[:1] if found[0].allocation else found, **more)
        self._count += 1
        name = f"claim-{self._mark}-{self._count}"
        spec = wanted.spec(self.objects.class_of(self.name), self.options.claim.get("spec") or {})
        uid = self.objects.make(apis.CLAIMS, name, spec)["metadata"]["uid"]
        made = wanted.allocation(self.name)
        claim = Claim(
            namespace=self.objects.namespace,
            name=name,
            uid=uid,
            devices=wanted.devices,
            rows=[row for row in made["results"] if row["driver"] == self.name],
        )
        self._claims.append(claim)
        if is_allocated:
            pod = {"resource": "pods", "name": f"pod-of-{name}", "uid": uid}
            stored = {"allocation": {"devices": made}, "reservedFor": [pod]}
            self.objects.set_status(name, {**stored, **(status or {})})
        return claim

    def never_made(self) -> Claim:
        uid = str(uuid.uuid4())
        return Claim(namespace=self.objects.namespace, name="never-was", uid=uid)

    def remove(self, claim: Claim) -> None:
        self.objects.remove_claim(claim.name)

    # Calls

    def prepare(self, *claims: Claim) -> driver_instances.Answer:
        """Call NodePrepareResources. Raises Failed if there is no answer in time."""
        return self.answered(self.driver.start_prepare([claim.reference for claim in claims]))

    def unprepare(self, *claims: Claim) -> driver_instances.Answer:
        """Call NodeUnprepareResources. Raises Failed if there is no answer in time."""
        return self.answered(self.driver.start_unprepare([claim.reference for claim in claims]))

    def answered(
        self, pending: driver_instances.Pending, what: str = "the call"
    ) -> driver_instances.Answer:
        """Return the answer of a call. Raises CallError if it is refused, Failed without any."""
        try:
            answer: driver_instances.Answer = pending.answer()
        except calls.CallError as error:
            if driver_instances.is_refusal(error):
                raise
            self._late_count += error.code == driver_instances.DEADLINE
            raise results.Failed(f"{what} got no answer: {error}{self._ended()}") from None
        return answer

    def prepared(self, claim: Claim, when: str = "") -> preparations.Prepared:
        """Prepare a claim and return its devices. Raises Failed if that fails."""
        what = f"NodePrepareResources of an allocated claim{when and ' ' + when}"
        return self._entry(claim, what, self.prepare) or ()

    def prepared_claim(self, *devices: allocations.Device) -> Claim:
        claim = self.claim(*devices)
        self.prepared(claim)
        return claim

    def unprepared(self, claim: Claim, when: str = "") -> None:
        self._entry(claim, f"NodeUnprepareResources{when and ' ' + when}", self.unprepare)

    def refusal(self, claim: Claim) -> str:
        """Prepare a claim; return the error by which it is refused, empty if it is prepared."""
        try:
            entry = self.prepare(claim).get(claim.uid, ())
        except calls.CallError as error:
            return str(error)
        return str(entry) if isinstance(entry, preparations.PreparationError) else ""

    def require_alive(self, after: str) -> None:
        try:
            self.instance.ask()
        except calls.CallError as error:
            raise results.Failed(
                f"{after}, the driver does not answer GetInfo any more: {error}{self._ended()}"
            ) from None

    def _entry(
        self, claim: Claim, what: str, call: Callable[[Claim], driver_instances.Answer]
    ) -> preparations.Prepared | None:
        try:
            answer = call(claim)
        except calls.CallError as error:
            raise results.Failed(f"{what} failed: {error}") from None
        results.require(claim.uid in answer, f"the answer of {what} lacks the claim")
        entry = answer[claim.uid]
        if isinstance(entry, preparations.PreparationError):
            raise results.Failed(f"{what} failed: {entry}")
        return entry

    def _ended(self) -> str:
        report = self.instance.exit_report
        return f"; the driver has ended with {report}" if report else ""

    # CDI files

    def cdi(self) -> dict[pathlib.Path, bytes]:
        return cdi_specs.files(self.folders.cdi)

    def left_files(self) -> list[pathlib.Path]:
        return sorted(set(self.cdi()) - self._files)

    def missing_ids(self, devices: preparations.Prepared) -> list[str]:
        """Return the CDI ids of prepared devices that no file defines."""
        known = cdi_specs.definitions(self.cdi())
        return [item for device in devices for item in device.cdi_device_ids if item not in known]

    # The end of a rule

    def settle(self) -> str:
        """Unprepare and delete the claims of a rule; return a sentence if the driver has ended."""
        if self.can_restart:
            self.objects.release_reads()
        self.pods.remove_all()
        self.kubelet.forget()
        claims, self._claims = self._claims, []
        report = self.instance.exit_report
        is_clean = not claims or bool(report) or self._are_unprepared(claims)
        for claim in claims:
            self.remove(claim)
        if not is_clean:
            self.begin_afresh()
        return f"the driver ended meanwhile with {report}" if report else ""

    def _are_unprepared(self, claims: Sequence[Claim]) -> bool:
        """Unprepare claims; return whether all have ended, so that their devices are free."""
        try:
            pending = self.driver.start_unprepare([claim.reference for claim in claims])
            answer = pending.answer()
        except (calls.CallError, results.Undecided):
            return False
        return all(claim.uid in answer and answer[claim.uid] is None for claim in claims)

    def close(self) -> None:
        self.kubelet.forget()
        self.instance.stop()
