"""The check of the claim controller's writes about pods.

Contents: `controller_history`, `controller_records`.
"""
