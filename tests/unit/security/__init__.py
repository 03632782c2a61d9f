"""TLS, logins, secrets."""
