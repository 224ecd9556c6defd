"""Formats without API types: JSON, protobuf's wire format, Go's value syntax and JSON errors.

Nothing here decodes API objects; that belongs in `serializer`.

Contents: `json_codec`, `protobuf_wire`, `go_values`, `go_json_errors`, `memoization` (caches for
functions of small texts and documents).
"""
