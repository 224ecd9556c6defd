"""Decoding of API objects. After k8s.io/apimachinery/pkg/runtime/serializer.

JSON with field validation, and protobuf. These modules know the API types; `json_codec` and
`harness.protobuf_wire` do not. The choice of a media type belongs in `endpoints`.
"""
