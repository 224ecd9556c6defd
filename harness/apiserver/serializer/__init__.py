"""Decoding and encoding of API objects. After k8s.io/apimachinery/pkg/runtime/serializer.

JSON with field validation, YAML and protobuf. These modules know the API types; formats without
types belong in `codec`, and the choice of a media type belongs in `endpoints`.

Contents: `request_objects` (objects and patches of requests), `decoding` (normalization by type),
`strict_decoding` (unknown and duplicate fields), `json_bodies`, `yaml_bodies`, `protobuf`
(envelopes), `protobuf_decoder`, `protobuf_encoder`, `protobuf_field_numbers`.
"""
