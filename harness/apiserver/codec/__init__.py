"""Formats without API types: JSON, protobuf's wire format, Go's value syntax and JSON errors.

Nothing here decodes API objects; that belongs in `serializer`.
"""
