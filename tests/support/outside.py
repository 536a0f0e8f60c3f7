"""Nodes that host 1 controls from outside: hosts 2 to 4."""

NODES = (2, 3, 4)


def inner(host):
    """The host's address on a network of which host 1 knows nothing."""
    return f"10.88.0.{host}"
