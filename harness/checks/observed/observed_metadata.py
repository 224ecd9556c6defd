"""The metadata of the objects that were observed, as far as checks read them."""

from typing import ClassVar

import msgspec

from harness.checks import verdicts

NO_OBJECTS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Errors of reading what is no object of the API."""


class ObjectError(ValueError):
    """The object of a sound record is not an object of the API."""


class Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """A part of an API object, without cycles; fields that no check reads are left out."""


class Owner(Part, frozen=True):
    """An entry of `metadata.ownerReferences`."""

    uid: str
    kind: str = ""
    name: str = ""
    controller: bool = False


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

    def __str__(self) -> str:
        return f"{self.key} (uid {self.uid})"

    @property
    def key(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    @property
    def owner(self) -> str | None:
        """UID of the pod or PodGroup that the object was generated for; None: a user created it."""
        kinds, owners = ("Pod", "PodGroup"), self.owner_references or ()
        return next((item.uid for item in owners if item.controller and item.kind in kinds), None)


class LabelledMeta(Meta, frozen=True):
    """The metadata of an object whose labels are read."""

    labels: dict[str, str] | None = None


class ApiObject(Part, frozen=True, kw_only=True):
    """An object of the API; of a resource that no check reads, only this."""

    KIND: ClassVar[str] = ""
    metadata: Meta
    kind: str = ""
    """Empty in the items of lists."""

    @property
    def involved(self) -> verdicts.InvolvedObject:
        meta = self.metadata
        return verdicts.InvolvedObject(
            kind=self.KIND, namespace=meta.namespace, name=meta.name, uid=meta.uid
        )
