"""JSON patch, JSON merge patch and strategic merge patch, on decoded documents.

Server-side apply belongs in `managedfields`; reading the patch from a request belongs in `serializer`.
"""
