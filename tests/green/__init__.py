"""Tests of programs that run on greenlets: Locust, and gunicorn's gevent worker."""
