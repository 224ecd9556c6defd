"""Locust users that create claims and pods, wait for them to run, and delete them: the load of a run, as processes of their own.

The only package that imports locust and gevent (`launching`, which others import, does not). Under Locust's monkey patching the
harness's own client is cooperative, so users, watch and journal are the same code as everywhere. Nothing is recorded in event
listeners, which may be swallowed: every call is journaled before and after it is made.
"""
