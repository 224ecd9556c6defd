"""Checks of the lives of claims: what each version of a claim may say, and how it may change.

Pods matter here only as the users and owners of claims, and when they are bound.
"""
