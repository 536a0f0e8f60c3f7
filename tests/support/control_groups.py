"""Control groups with limits, of version 1 or 2."""

from pathlib import Path

import pytest
from jobs import own_name


def limits(controller, *settings):
    """Creates a control group with one of these settings, {file: value} of version 1 or 2; returns its
    folder."""
    places = (Path("/sys/fs/cgroup") / controller, Path("/sys/fs/cgroup"))
    for place, values in zip(places, settings):
        group = place / own_name("limits")
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            for name, value in values.items():
                (group / name).write_text(str(value))
            return group
        except OSError:
            group.rmdir()
    return pytest.skip(f"no cgroup whose {controller} can be limited")
