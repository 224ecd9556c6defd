"""The program that `flake-hunt test` is about: what it is, and which scenarios fit it.

It makes no runs: a test is a campaign whose plan names its program.
"""
