"""Formats without API types: JSON, protobuf's wire format, Go's value syntax and JSON errors.

Also caches for functions of small texts and documents. Nothing here decodes API objects; that
belongs in `serializer`.
"""
