"""The bench of a test: the driver, the API server, and claims with allocations of its devices."""

import contextlib
import dataclasses
import pathlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from harness import clocks, errors
from harness.client import apis
from harness.cluster.kubelet_api import boot_ids, calls, preparations
from harness.conformance import results
from harness.conformance.drivers import (
    allocations,
    cdi_specs,
    claim_documents,
    cluster_objects,
    driver_calls,
    driver_commands,
    driver_folders,
    driver_instances,
    kubelet_processes,
    published_devices,
)

_INSTANCE = "instance-a"
DEFAULT_DRIVER = "driver.flake-hunt.example"
"""{driver} if no name was given."""
_SETTLE_S = 0.5
"""Time in which slices must not change before they count as published."""
_OF_REGISTRATION = ("registration/registers", "registration/socket-name")
_OF_PLAIN_CLAIMS = (
    "registration/registers",
    "registration/socket-name",
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
class Attached:
    """A driver that runs already."""

    registry: pathlib.Path
    """Folder of its registration socket, or the socket."""
    socket: pathlib.Path | None = None
    """Its other socket, if GetInfo does not name it as this machine sees it."""
    kubeconfig: pathlib.Path
    """The API server whose claims it reads."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The driver that is tested, and how."""

    command: driver_commands.Command | None = None
    attached: Attached | None = None
    """None: `command` is started."""
    node: str = "node-1"
    driver_name: str = ""
    """The driver to test if several register; it fills {driver}, too. Empty: the first one."""
    cdi_folder: pathlib.Path | None = None
    """The CDI folder of a driver that takes none."""
    claim: Mapping[str, Any] | None = None
    """A ResourceClaim whose requests and parameters the claims of the test have."""
    kubeconfig: pathlib.Path = pathlib.Path()
    """For the driver, with TLS; known when the API server runs."""
    plain_kubeconfig: pathlib.Path = pathlib.Path()
    """For processes of the harness."""
    kubelet_defects: Sequence[str] = ()
    """Known defects of the kubelet, for positive controls."""
    log: pathlib.Path | None = None
    """File for what the driver prints; None: it is removed with the folders."""
    limits: driver_instances.Limits


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why hardly any rule can be checked: one failure is to be told once."""

    text: str
    leaves: Sequence[str] = ()
    """The rules that can be checked all the same."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A claim of the API server, allocated unless a rule wants otherwise."""

    reference: driver_calls.Claim
    devices: tuple[published_devices.Device, ...]
    rows: tuple[Mapping[str, Any], ...] = ()
    """The driver's results of its allocation."""

    @property
    def uid(self) -> str:
        return self.reference.uid


class Bench:
    """Everything that rules use. One rule at a time uses it."""

    def __init__(
        self,
        options: Options,
        folders: driver_folders.Folders,
        objects: cluster_objects.ClusterObjects,
        *,
        namespace: str,
    ) -> None:
        self.options, self.folders, self.objects = options, folders, objects
        boot_ids.renew(folders.boot_id)
        self._make_folder()
        self.namespace = namespace
        self.held_reads = cluster_objects.HeldReads(objects.api.transport)
        self.instance = self._instance(_INSTANCE)
        self._claims: list[Claim] = []
        self._count, self._mark = 0, uuid.uuid4().hex[:6]
        self._slices: list[cluster_objects.Object] = []
        self._given: list[published_devices.Device] = []
        """The devices of --claim, once they are known."""
        self._kubelet: kubelet_processes.Kubelet | None = None
        self._late_count = 0
        self._ready_starts = 0
        """The number of starts after which the driver was seen to be ready."""
        self._obstacle: Obstacle | None = None
        self.pods = kubelet_processes.Pods(
            objects,
            namespace=namespace,
            node=options.node,
            timeout_s=options.limits.call_s,
        )

    # The driver

    @property
    def can_restart(self) -> bool:
        """True if the test starts and ends the driver."""
        return self.options.command is not None

    @property
    def driver(self) -> driver_calls.Driver:
        """The driver's DRA service."""
        return self.instance.driver

    @property
    def name(self) -> str:
        """The name under which the driver has registered."""
        return self.instance.info.name

    def start(self) -> None:
        """Start the driver, register it, and find out if there is an obstacle for most rules."""
        try:
            self.instance.start()
        except results.Failed as failure:
            has_ended = self.instance.exit_report is not None
            text = f"the driver has not registered: {failure}"
            self._obstacle = Obstacle(text=text, leaves=() if has_ended else _OF_REGISTRATION)
            return
        try:
            self.prepared(self.claim())
        except results.Failed as failure:
            text = f"the driver does not prepare a plain claim: {failure}"
            self._obstacle = Obstacle(text=text, leaves=_OF_PLAIN_CLAIMS)
        except (results.Skipped, results.Undecided):
            pass  # without any device; each rule says so
        self._ready_starts = self.instance.start_count
        if self.settle() is not None:
            self.begin_afresh()

    def await_ready(self) -> None:
        """Let a driver that was started again come to rest, as it was before the first rule.

        It has come to rest when its slices do not change, and it has prepared a claim.
        """
        if self._ready_starts == self.instance.start_count:
            return
        self._ready_starts, self._slices = self.instance.start_count, []
        with contextlib.suppress(results.Failed, results.Skipped, results.Undecided):
            self.prepared(self.claim())
        self.settle()

    @property
    def obstacle(self) -> Obstacle | None:
        """Why hardly any rule can be checked; None if they can."""
        if self._late_count >= LATE_MAX:
            waited = f"{LATE_MAX} calls had no answer within {self.options.limits.call_s:g} s"
            return Obstacle(text=waited)
        return self._obstacle

    def require_restarts(self) -> None:
        """Raise Skipped if the driver was started by others."""
        if not self.can_restart:
            raise results.Skipped("the driver was not started by this command: name its program")

    def restart(self) -> None:
        """Kill the driver and start it again on its state. Raises Skipped and Failed."""
        self.require_restarts()
        self.instance.kill()
        self.start_again()

    def start_again(self) -> None:
        """Start a driver that was killed. Raises Failed."""
        self._slices = []
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
        if self.options.command is None or not self.options.command.has_instances:
            raise results.Skipped("the command has no {instance}: it cannot run twice")
        other = self._instance("instance-b")
        try:
            other.start(known=[self.instance.info.socket])
            yield other
        finally:
            other.stop()

    def reboot(self) -> None:
        """Kill the driver, empty the CDI folder, give the node a new boot id, start the driver."""
        self.require_restarts()
        if self.folders.cdi_of_node is not None:
            raise results.Skipped("the CDI folder is the node's own, and is not emptied")
        self.instance.kill()
        self.folders.empty_cdi()
        self.objects.set_boot_id(self.options.node, boot_ids.renew(self.folders.boot_id))
        self.start_again()

    def kubelet_restarts(self) -> None:
        """Register the driver again, over new connections."""
        self.instance.register()

    def start_kubelet(self) -> kubelet_processes.Kubelet:
        """Start the kubelet, or start it again on its checkpoint. Raises Skipped."""
        self.require_restarts()
        if self._kubelet is not None:
            self._kubelet.kill()
        self._kubelet = kubelet_processes.Kubelet(
            self.folders,
            kubeconfig=self.options.plain_kubeconfig,
            node=self.options.node,
            namespace=self.namespace,
            driver=self.name,
            defects=self.options.kubelet_defects,
        )
        self._kubelet.start()
        return self._kubelet

    def _end_kubelet(self) -> None:
        if self._kubelet is not None:
            self._kubelet.forget()
            self._kubelet = None

    def begin_afresh(self) -> None:
        """Start the driver without its state, after a rule has failed."""
        self.held_reads_off()
        if not self.can_restart:
            return
        self._slices = []
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
        (self.folders.plugins / self._values("")["driver"]).mkdir(exist_ok=True, parents=True)

    def held_reads_off(self) -> None:
        """Let held reads go, where the API server has them."""
        if self.can_restart:
            self.held_reads.release()

    def _instance(self, name: str) -> driver_instances.Instance:
        command = self.options.command
        return driver_instances.Instance(
            command.filled(self._values(name)) if command else None,
            self.folders,
            self.options.limits,
            driver_name=self.options.driver_name,
        )

    def _values(self, instance: str) -> dict[str, str]:
        folders = self.folders
        return {
            "kubeconfig": str(self.options.kubeconfig),
            "node": self.options.node,
            "driver": self.options.driver_name or DEFAULT_DRIVER,
            "kubelet_dir": str(folders.root),
            "plugins_dir": str(folders.plugins),
            "registry_dir": str(folders.registry),
            "cdi_dir": str(folders.cdi),
            "state_dir": str(folders.state),
            "instance": instance,
        }

    # Devices and claims

    def slices(self) -> list[cluster_objects.Object]:
        """Return the ResourceSlices once they have stopped to change; none is possible.

        They are read once for each start of the driver.
        """
        if self._slices:
            return self._slices
        before: list[Any] = []

        def are_settled() -> bool:
            found = sorted(self.objects.slices(), key=lambda item: str(item["metadata"]["name"]))
            is_same, before[:] = bool(found) and found == before, found
            return is_same

        with contextlib.suppress(errors.WaitTimeoutError):
            clocks.wait_until(
                are_settled,
                timeout_s=self.options.limits.start_s,
                why="slices",
                interval_s=_SETTLE_S,
            )
        self._slices = before
        return before

    def devices(self, count: int = 1) -> list[published_devices.Device]:
        """Return devices that can be allocated at the same time. Raises Skipped for too many."""
        found = self.up_to(count)
        if not found:
            raise results.Undecided(
                f"the driver has published no device for {self.options.node} that a claim could "
                "have: name an allocation by --claim"
            )
        if len(found) < count:
            raise results.Skipped(
                f"{count} devices are needed at a time, and the driver has published {len(found)}"
            )
        return found

    def up_to(self, count: int) -> list[published_devices.Device]:
        """Return a device for each of as many claims, or fewer; a shared one for several."""
        return published_devices.side_by_side(self.all_devices(), count)

    def sets(self, count: int) -> list[tuple[published_devices.Device, ...]]:
        """Return devices for each of as many claims, or fewer: two for one if there are three.

        Raises Skipped if there are not enough for two claims.
        """
        self.devices(2)
        found = self.up_to(2 * count)
        count = min(count, max(2, len(found) - 1))
        return [tuple(dict.fromkeys(found[number::count])) for number in range(count)]

    def all_devices(self) -> list[published_devices.Device]:
        """Return all devices that can be allocated at the same time, or those of --claim."""
        given = self.options.claim or {}
        if found := allocations.stated(given, self.name):
            return found
        slices = self.slices()
        if given.get("spec"):
            return self._of_given(given, slices)
        return published_devices.compatible(
            published_devices.of_driver(slices, self.name, self.options.node), slices
        )

    def _of_given(
        self, claim: Mapping[str, Any], slices: Sequence[cluster_objects.Object]
    ) -> list[published_devices.Device]:
        if not self._given:
            self._given = allocations.side_by_side(
                claim,
                slices,
                driver=self.name,
                default_class=self.objects.class_of(self.name),
                classes=self.objects.classes(),
                node=self.objects.api.get(apis.NODES, self.options.node),
            )
        return self._given

    def exclusive_device(self) -> published_devices.Device:
        """Return a device that one claim at a time can have. Raises Skipped."""
        for device in self.all_devices():
            if not device.is_shared:
                return device
        raise results.Skipped("the driver has published no device for one claim alone")

    def claim(
        self,
        *devices: published_devices.Device,
        status: Mapping[str, Any] | None = None,
        is_allocated: bool = True,
        **more: Any,
    ) -> Claim:
        """Make a claim that is allocated devices, by default one, and reserved for a pod.

        `status` replaces keys of the status; `more` are those of `claim_documents.Wanted`.
        """
        wanted = claim_documents.Wanted(devices=self._allocatable(devices), **more)
        self._count += 1
        name = f"claim-{self._mark}-{self._count}"
        given = (self.options.claim or {}).get("spec") or {}
        spec = claim_documents.spec(wanted, self.objects.class_of(self.name), given)
        uid = self.objects.make_claim(self.namespace, name, spec)["metadata"]["uid"]
        made = claim_documents.status(wanted, driver=self.name, pod=(f"pod-of-{name}", uid))
        rows = made["allocation"]["devices"]["results"]
        claim = Claim(
            reference=driver_calls.Claim(self.namespace, name, uid),
            devices=tuple(wanted.devices),
            rows=tuple(row for row in rows if row["driver"] == self.name),
        )
        self._claims.append(claim)
        if is_allocated:
            self.objects.set_status(self.namespace, name, {**made, **(status or {})})
        return claim

    def _allocatable(
        self, devices: Sequence[published_devices.Device]
    ) -> Sequence[published_devices.Device]:
        """Return devices for a claim; one of --claim has those of its allocation."""
        found = tuple(devices or self.devices())
        return found[:1] if found[0].allocation else found

    def never_made(self) -> Claim:
        """Return a claim that the API server does not know."""
        reference = driver_calls.Claim(self.namespace, "never-was", str(uuid.uuid4()))
        return Claim(reference=reference, devices=())

    def remove(self, claim: Claim) -> None:
        """Delete a claim from the API server by force."""
        self.objects.remove_claim(claim.reference.namespace, claim.reference.name)

    # Calls

    def prepare(self, *claims: Claim) -> driver_calls.Answer:
        """Call NodePrepareResources. Raises Failed if there is no answer in time."""
        return self.answered(self.driver.start_prepare([claim.reference for claim in claims]))

    def unprepare(self, *claims: Claim) -> driver_calls.Answer:
        """Call NodeUnprepareResources. Raises Failed if there is no answer in time."""
        return self.answered(self.driver.start_unprepare([claim.reference for claim in claims]))

    def answered(
        self, pending: driver_calls.Pending, what: str = "the call"
    ) -> driver_calls.Answer:
        """Return the answer of a call. Raises CallError if it is refused, Failed without any."""
        try:
            answer: driver_calls.Answer = pending.answer()
        except calls.CallError as error:
            if driver_calls.is_refusal(error):
                raise
            self.count_late(error.code == driver_calls.DEADLINE)
            raise results.Failed(f"{what} got no answer: {error}{self._ended()}") from None
        return answer

    def count_late(self, count: int) -> None:
        """Count calls without an answer in time."""
        self._late_count += count

    def prepared(self, claim: Claim, when: str = "") -> preparations.Prepared:
        """Prepare a claim and return its devices. Raises Failed if that fails."""
        what = f"NodePrepareResources of an allocated claim{when and ' ' + when}"
        entry = self._entry(claim, what, self.prepare)
        return entry if isinstance(entry, tuple) else ()

    def prepared_claim(self, *devices: published_devices.Device) -> Claim:
        """Make a claim and prepare it. Raises Failed if that fails."""
        claim = self.claim(*devices)
        self.prepared(claim)
        return claim

    def unprepared(self, claim: Claim, when: str = "") -> None:
        """Unprepare a claim. Raises Failed if that fails."""
        self._entry(claim, f"NodeUnprepareResources{when and ' ' + when}", self.unprepare)

    def refusal(self, claim: Claim) -> str:
        """Prepare a claim; return the error by which it is refused, empty if it is prepared."""
        try:
            entry = self.prepare(claim).get(claim.uid, ())
        except calls.CallError as error:
            return str(error)
        return str(entry) if isinstance(entry, preparations.PreparationError) else ""

    def require_alive(self, after: str) -> None:
        """Raise Failed if the driver has ended, or does not answer any more."""
        try:
            self.instance.ask()
        except calls.CallError as error:
            raise results.Failed(
                f"{after}, the driver does not answer GetInfo any more: {error}{self._ended()}"
            ) from None

    def _entry(
        self, claim: Claim, what: str, call: Callable[[Claim], driver_calls.Answer]
    ) -> driver_calls.Entry:
        try:
            answer = call(claim)
        except calls.CallError as error:
            raise results.Failed(f"{what} failed: {error}") from None
        if claim.uid not in answer:
            raise results.Failed(f"the answer of {what} lacks the claim")
        entry = answer[claim.uid]
        if isinstance(entry, preparations.PreparationError):
            raise results.Failed(f"{what} failed: {entry}")
        return entry

    def _ended(self) -> str:
        report = self.instance.exit_report
        return f"; the driver has ended with {report}{self.instance.log_tail()}" if report else ""

    # CDI files

    def cdi(self) -> dict[pathlib.Path, bytes]:
        """Return the CDI files with their contents."""
        return cdi_specs.files(self.folders.cdi)

    def missing_ids(self, devices: preparations.Prepared) -> list[str]:
        known = cdi_specs.definitions(self.cdi())
        return [item for device in devices for item in device.cdi_device_ids if item not in known]

    def edits(self, devices: preparations.Prepared) -> list[str]:
        """Return what the CDI ids of prepared devices do to a container, each as JSON."""
        known = cdi_specs.edits(self.cdi())
        return [
            known[item] for device in devices for item in device.cdi_device_ids if item in known
        ]

    def ids(self, devices: preparations.Prepared) -> list[str]:
        """Return the CDI ids of prepared devices. Raises Skipped if there are none."""
        found = [item for device in devices for item in device.cdi_device_ids]
        if not found:
            raise results.Skipped("the driver answers without CDI ids, which is allowed")
        return found

    # The end of a rule

    def settle(self) -> str | None:
        """Unprepare and delete the claims of a rule; return a sentence if the driver has ended."""
        self.held_reads_off()
        self.pods.remove_all()
        self._end_kubelet()
        report = self.instance.exit_report
        if report is not None:
            ended = f"the driver ended with {report} meanwhile{self.instance.log_tail()}"
            self._forget_claims()
            return ended
        claims = [claim.reference for claim in self._claims]
        is_clean = self._are_unprepared(claims)
        self._forget_claims()
        if not is_clean:
            self.begin_afresh()
        return None

    def _are_unprepared(self, claims: Sequence[driver_calls.Claim]) -> bool:
        """Unprepare claims; return whether all have ended, so that their devices are free."""
        if not claims:
            return True
        try:
            answer = self.driver.unprepare(claims)
        except (calls.CallError, results.Undecided):
            return False
        return all(claim.uid in answer and answer[claim.uid] is None for claim in claims)

    def close(self) -> None:
        """End the driver and the kubelet."""
        self._end_kubelet()
        self.instance.stop()

    def _forget_claims(self) -> None:
        claims, self._claims = self._claims, []
        for claim in claims:
            self.remove(claim)
