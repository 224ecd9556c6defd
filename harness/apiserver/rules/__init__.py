"""What an object must be to be stored: one module for each part of the API, as generators of causes.

Each rule yields `statuses.Cause` in the server's own order and wording; `validating` runs the rules of a kind. Rules look at documents
only: they change nothing, know no store, and never check that a device is in one claim only (that is what this project is for).
"""
