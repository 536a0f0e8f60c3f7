"""Hosts 2 to 4 as nodes that host 1 controls from outside."""

NODES = (2, 3, 4)


def inner(host):
    """The host's address on a network that host 1 cannot reach."""
    return f"10.88.0.{host}"
