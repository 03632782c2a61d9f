"""Tests of TLS, logins, and secrets."""
