"""A jump host whose SSH server accepts one concurrent login, and refuses others."""

import pytest
from hosts import SHARED, SPEC, address, spec_of

pytestmark = pytest.mark.hosts(16)


def test_nodes_behind_a_busy_jump_host_log_in_one_after_the_other(autodist, sshd, folder):
    assert autodist("run", "--spec", SPEC, "--", "true").code == 0  # installs the agents, for speed
    jump = sshd(2, MaxStartups="1", MaxSessions="1")
    spec = spec_of(folder / "spec.yaml", *map(address, range(3, 17)),
                   ssh=f"key_file: {SHARED}/user_ed25519\nproxy_jump: root@{jump.address}:{jump.port}\n"
                       "host_key_check: accept-new")
    outcome = autodist("run", "--spec", spec, "--", "true")
    assert outcome.code == 0, outcome.err
    assert "(logged in; " not in outcome.err, outcome.err  # ssh does not report when it is
    outcome = autodist("clean", "--spec", spec)
    assert outcome.out == "cleaned 15 nodes\n", outcome.err
