"""From request bytes to documents and back: JSON with field validation, YAML, protobuf. After k8s.io/apimachinery/pkg/runtime/serializer.

These modules know the API types. Formats without types belong in `codec`; the choice of a media type belongs in `endpoints`.
"""
