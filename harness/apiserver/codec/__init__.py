"""Formats without API types: JSON, the protobuf wire format, Go's way to print values and JSON errors; memoization of small texts.

Nothing here knows a kind or a field. Decoding of API objects belongs in `serializer`.
"""
