"""The metadata of the objects that were observed, as far as checks read them."""

from typing import Any, ClassVar

import msgspec

from harness.checks import verdicts


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A part of an API object, without cycles; fields that no check reads are left out."""


class Owner(Part, frozen=True):
    """An entry of `metadata.ownerReferences`."""

    uid: str
    kind: str = ""
    name: str = ""
    controller: bool = False


class StatusFields(Part, frozen=True):
    """The fields of a status that a manager owns."""

    allocation: Any = msgspec.field(default=None, name="f:allocation")


class OwnedFields(Part, frozen=True):
    """A `fieldsV1`: the fields that a manager owns."""

    status: StatusFields | None = msgspec.field(default=None, name="f:status")


class ManagedFields(Part, frozen=True):
    """An entry of `metadata.managedFields`."""

    manager: str = ""
    subresource: str = ""
    fields: OwnedFields | None = msgspec.field(default=None, name="fieldsV1")

    @property
    def has_allocation(self) -> bool:
        """True if the manager owns `status.allocation`."""
        owned = self.fields.status if self.subresource == "status" and self.fields else None
        return owned is not None and owned.allocation is not None


class Meta(Part, frozen=True):
    """The metadata of an object."""

    name: str
    uid: str
    resource_version: str
    namespace: str = ""
    generate_name: str = ""
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    finalizers: list[str] | None = None
    owner_references: list[Owner] | None = None
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None
    managed_fields: list[ManagedFields] | None = None

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def owner(self) -> str | None:
        """UID of the pod that the object was generated for; None: a user created it."""
        owners = self.owner_references or ()
        return next((item.uid for item in owners if item.controller and item.kind == "Pod"), None)


class ApiObject(Part, frozen=True, kw_only=True):
    """An object of the API; of a resource that no check reads, only this."""

    KIND: ClassVar[str] = ""
    metadata: Meta
    kind: str = ""
    """Empty in the items of lists."""

    @property
    def involved(self) -> verdicts.InvolvedObject:
        """The object as it is named in a violation."""
        meta = self.metadata
        return verdicts.InvolvedObject(
            kind=self.KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid
        )
