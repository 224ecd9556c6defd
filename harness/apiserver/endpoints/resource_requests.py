"""Requests for resources as the handlers receive them: one class for each thing to do.

`request_decoding` makes them. A handler needs nothing else of the HTTP request.
"""

from collections.abc import Callable

import msgspec

from harness.apiserver.endpoints import list_options, negotiation, request_info, request_options
from harness.apiserver.managedfields import server_side_apply
from harness.apiserver.registry import object_deletion
from harness.apiserver.scheme.json_document import Document

Change = Callable[[Document], Document]
"""Returns the changed document; may change the one that it is given."""


class ResourceRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a resource."""

    target: request_info.Target
    form: negotiation.Form
    """The form of the response."""


# ------------------------------------------------------------------ reads


class Get(ResourceRequest, frozen=True, kw_only=True):
    """Read one object."""

    version: int
    """The resource version that the store must have reached, 0 for any."""


class List(ResourceRequest, frozen=True, kw_only=True):
    """Read one page of a list."""

    options: list_options.ListOptions


# ------------------------------------------------------------------ writes


class Create(ResourceRequest, frozen=True, kw_only=True):
    """Create an object, or a binding, eviction or review, which is not stored."""

    document: Document
    options: request_options.WriteOptions


class Update(ResourceRequest, frozen=True, kw_only=True):
    """Replace an object or its subresource."""

    document: Document
    options: request_options.WriteOptions


class Patch(ResourceRequest, frozen=True, kw_only=True):
    """Change an object or its subresource."""

    change: Change
    options: request_options.WriteOptions


class Apply(ResourceRequest, frozen=True, kw_only=True):
    """Apply a configuration to an object or its subresource."""

    configuration: server_side_apply.Configuration
    options: request_options.WriteOptions


# ------------------------------------------------------------------ deletions


class Delete(ResourceRequest, frozen=True, kw_only=True):
    """Delete one object."""

    options: object_deletion.DeleteOptions


class DeleteCollection(ResourceRequest, frozen=True, kw_only=True):
    """Delete the objects on one page of a list."""

    listed: list_options.ListOptions
    options: object_deletion.DeleteOptions


AnyRequest = Get | List | Create | Update | Patch | Apply | Delete | DeleteCollection
