"""Decoding and encoding of API objects. After k8s.io/apimachinery/pkg/runtime/serializer.

JSON with field validation, YAML and protobuf. These modules know the API types; formats without
types belong in `codec`, and the choice of a media type belongs in `endpoints`.
"""
