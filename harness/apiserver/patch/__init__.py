"""JSON patch, JSON merge patch and strategic merge patch, on decoded documents.

Server-side apply belongs in `managedfields`; decoding a patch from a request body belongs in
`serializer`.
"""
