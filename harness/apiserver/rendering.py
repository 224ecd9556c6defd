"""Objects and lists in the form that a client accepts: as they are, as a table, or as their metadata alone; JSON or YAML."""

import functools
from collections.abc import Callable
from typing import Any

import msgspec
import yaml

from harness.apiserver import negotiating, protobuf, requesting, resources, schemas, storing, tables

Document = dict[str, Any]
_TRUE = ("1", "true")


class Rendering:
    """How the objects of one resource look to one client."""

    def __init__(
        self,
        request: requesting.Request,
        resource: resources.ResourceType,
        now: Callable[[], str],
        *,
        is_list: bool = False,
        is_watch: bool = False,
    ) -> None:
        """406 when the client accepts nothing that there is."""
        self._resource, self._now, self._is_watch = resource, now, is_watch
        accept = request.headers.get("accept", "")
        self.form = self._best(accept, is_list=is_list) if accept else negotiating.PLAIN
        self._include = tables.include(request.query.get("includeObject", ""))
        self._is_pretty = request.query.get("pretty", "").lower() in _TRUE
        self._shows_columns = True

    def _best(self, accept: str, *, is_list: bool) -> negotiating.Form:
        """What the client likes best of what can be made."""
        for form in negotiating.forms(accept, is_list=is_list):
            if form.media != negotiating.PROTOBUF or self._knows_protobuf(form):
                return form
        raise negotiating.not_acceptable(
            f"{self._resource.plural} are not encoded as {negotiating.PROTOBUF} by this server: accept JSON as well"
        )

    def _knows_protobuf(self, form: negotiating.Form) -> bool:
        return not (form.view or self._is_watch)

    @property
    def content_type(self) -> str:
        """The media type of the bytes."""
        return self.form.media

    def one(self, stored: storing.Stored) -> bytes:
        """One object."""
        if not self.form.view:
            return self.encoded(stored.data)
        if self.form.view == "PartialObjectMetadataList":
            raise negotiating.not_acceptable(
                "you requested PartialObjectMetadataList, but the requested object is not a list"
            )
        return self.encoded(self._viewed(stored))

    def event(self, stored: storing.Stored) -> bytes:
        """One object of a watch; a table tells its columns only once."""
        if not self.form.view:
            return stored.data
        viewed = storing.encode(self._viewed(stored))
        self._shows_columns = False
        return viewed

    def page(self, found: list[storing.Stored], meta: Document) -> bytes:
        """A list of objects."""
        match self.form.view:
            case "":
                return self.encoded(self._plain_list(found, meta))
            case "Table":
                return self.encoded(self._table(found, meta))
            case "PartialObjectMetadata":
                raise negotiating.not_acceptable(
                    "you requested PartialObjectMetadata, but the requested object is a list"
                )
        version = self.form.version
        return self.encoded(
            {
                "kind": "PartialObjectMetadataList",
                "apiVersion": f"meta.k8s.io/{version}",
                "metadata": meta,
                "items": [tables.partial(stored.document(), version) for stored in found],
            }
        )

    def _viewed(self, stored: storing.Stored) -> Document:
        if self.form.view == "Table":
            return self._table([stored], {"resourceVersion": str(stored.resource_version)})
        return tables.partial(stored.document(), self.form.version)

    def _table(self, found: list[storing.Stored], meta: Document) -> Document:
        return tables.table(
            self._resource,
            [stored.document() for stored in found],
            meta=meta,
            now=self._now(),
            version=self.form.version,
            include=self._include,
            with_columns=self._shows_columns,
        )

    def _plain_list(self, found: list[storing.Stored], meta: Document) -> bytes:
        resource = self._resource
        head = storing.encode(
            {"kind": f"{resource.kind}List", "apiVersion": resource.api_version, "metadata": meta}
        )
        items = b",".join(map(storing.item, found))
        return head[:-1] + b',"items":[' + items + b"]}"

    def encoded(self, answer: bytes | Document) -> bytes:
        """A document, or its JSON, in the media type that was agreed on."""
        data = answer if isinstance(answer, bytes) else storing.encode(answer)
        if self.form.media == negotiating.PROTOBUF:
            return self._to_protobuf(storing.decode(data))
        if self.form.media == negotiating.YAML:
            return to_yaml(storing.decode(data))
        return msgspec.json.format(data, indent=2) if self._is_pretty else data

    def _to_protobuf(self, document: Document) -> bytes:
        kind = schemas.of(self._resource)
        is_list = document["kind"] != self._resource.kind
        encoded = protobuf.encode_list if is_list else protobuf.encode_object
        return protobuf.encode(document, encoded(kind, document))


def to_yaml(document: Any) -> bytes:
    """A document as YAML."""
    return yaml.dump(document, Dumper=_dumper(), encoding="utf-8", allow_unicode=True)


@functools.cache
def _dumper() -> type[yaml.SafeDumper]:
    class Dumper(yaml.SafeDumper):
        """Without anchors: what is the same twice is written twice."""

        def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002
            return True

    return Dumper
