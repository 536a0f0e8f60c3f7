"""CPU affinity and NCCL settings of ranks on GPUs, on a machine without GPUs."""

import os

import pytest
from jobs import BUILD, python

CPUS = sorted(os.sched_getaffinity(0))

# The machine that hwloc sees: two NUMA nodes, each with one of our CPUs and one GPU.
NUMA_NODE = """
    <object type="Package" os_index="{i}" {sets} gp_index="{i}2">
      <object type="NUMANode" os_index="{i}" {sets} gp_index="{i}3"/>
      <object type="PU" os_index="{cpu}" {sets} gp_index="{i}4"/>
      <object type="Bridge" gp_index="{i}5" bridge_type="0-1" depth="0" bridge_pci="000{i}:[00-01]">
        <object type="PCIDev" gp_index="{i}6" pci_busid="000{i}:01:00.0" pci_type="0302 [10de:20b2] [0:0] a1" pci_link_speed="0"/>
      </object>
    </object>"""


def sets(cpus, nodes):
    names = {"cpuset": cpus, "complete_cpuset": cpus, "nodeset": nodes, "complete_nodeset": nodes}
    return " ".join(f'{name}="0x{bits:08x}"' for name, bits in names.items())


@pytest.fixture
def two_gpus(tmp_path):
    """The options of a run on them, and its environment."""
    own = CPUS[:2]
    inner = "".join(NUMA_NODE.format(i=i, cpu=cpu, sets=sets(1 << cpu, 1 << i))
                    for i, cpu in enumerate(own))
    everything = sets(sum(1 << cpu for cpu in own), 3)
    (tmp_path / "machine.xml").write_text(f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" {everything} gp_index="1">{inner}
  </object>
</topology>
""")
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho '0, 00000000:01:00.0, A100'; echo '1, 00000001:01:00.0, A100'\n")
    tool.chmod(0o755)
    (tmp_path / "spec.yaml").write_text("nodes:\n  - address: localhost\n    gpus: [0, 1]\n")
    return (["run", "--spec", "spec.yaml", "--no-preflight"],
            {"HWLOC_XMLFILE": str(tmp_path / "machine.xml"), "HWLOC_THISSYSTEM": "1",
             "PATH": f"{tmp_path}:{os.environ['PATH']}"})


@pytest.mark.skipif(len(CPUS) < 2 or CPUS[1] > 31, reason="needs two of the first 32 CPUs")
def test_a_rank_runs_on_the_cpus_near_its_gpu(autodist, two_gpus):
    options, environment = two_gpus
    program = ["--", *python("import os; print(sorted(os.sched_getaffinity(0)))")]
    outcome = autodist(*options, *program, env=environment)
    assert outcome.lines() == {0: [f"[{CPUS[0]}]"], 1: [f"[{CPUS[1]}]"]}, outcome.err
    outcome = autodist(*options, "--no-affinity", *program, env=environment)
    assert outcome.lines() == {0: [str(CPUS)], 1: [str(CPUS)]}
    under = ["taskset", "-c", str(CPUS[1])]  # no CPU near the first GPU, and only this one near the second
    outcome = autodist(*options, *program, env=environment, under=under)
    assert outcome.lines() == {0: [f"[{CPUS[1]}]"], 1: [f"[{CPUS[1]}]"]}


@pytest.mark.parametrize("level, stream", [("WARN", "out"), ("INFO", "err")])
def test_nccl_logs_are_kept_with_their_rank(autodist, tmp_path, level, stream):
    # Opens its log as NCCL does.
    script = """import os, sys
name = os.environ.get("NCCL_DEBUG_FILE")
log = open(name, "w", buffering=1) if name else sys.stdout
print("before", file=sys.stderr, flush=True)
print("NCCL", os.environ["NCCL_DEBUG"], os.environ["RANK"], file=log, flush=True)
"""
    (tmp_path / "spec.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0, 1]\n")
    assert autodist("run", "--spec", "spec.yaml", "--log-dir", "logs", "--nccl-debug", level, "--",
                    *python(script), env={"NCCL_DEBUG": "TRACE"}).code == 0
    for rank in range(2):
        log, = tmp_path.glob(f"logs/*/rank-{rank}.{stream}")
        assert log.read_text() == ("before\n" if stream == "err" else "") + f"NCCL {level} {rank}\n"


def test_nccl_debug_levels(autodist):
    assert autodist("run", "--nccl-debug", "LOUD", "--", "true").code == 2


@pytest.mark.skipif(not (BUILD / "nccl_communicators").exists(), reason="built without NCCL")
def test_nccl_defaults_are_set(autodist, tmp_path):
    (tmp_path / "spec.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0]\n")
    outcome = autodist("run", "--spec", "spec.yaml", "--", BUILD / "nccl_communicators")
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {0: ["all is as it should be"]}
