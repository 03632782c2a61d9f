"""Programs of greenlets: Locust, and gunicorn's gevent worker."""
