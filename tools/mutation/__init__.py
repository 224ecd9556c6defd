"""Mutation of modules, for tools/mutations.py.

Contents: changes (what is changed), loaded_code (the change of code that is loaded already),
children (processes that answer), sessions (the tests of a set of modules, forked for each mutant),
survivors (which survivors are known, and why).
"""
