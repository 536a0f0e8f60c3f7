"""Devices and number of ranks of a node."""

import pytest

FOUR_GPUS = "mount -t tmpfs tmpfs /proc/driver; mkdir -p /proc/driver/nvidia/gpus/0000:0{1,2,3,4}:00.0\n"


def test_a_node_without_gpus_among_gpu_nodes_has_one_rank(case):
    said = case(2, """
autodist run --hosts 10.77.0.1,10.77.0.2 -- sh -c 'echo rank $RANK of $WORLD_SIZE'; echo "[$?]"
""")
    assert "rank 1 of 2" in said, said
    assert said.endswith("[0]\n"), said
    assert ": 2 ranks on 2 nodes, on CPUs (no GPU found); logs in " in said, said


@pytest.mark.parametrize("visible, ranks", [
    ("2,3", 2),
    (" 1, 0 ", 2),
    ("GPU-8932f937-d72c-4106-c12f-20bd9faed9f6,GPU-1ab9f2aa-0000-1111-2222-333344445555", 2),
    ("GPU-8932", 1),
    ("MIG-a2b3c4d5-0000-5555-8888-0123456789ab", 1),
    ("MIG-GPU-8932f937-d72c-4106-c12f-20bd9faed9f6/1/0", 1),
], ids=["numbers", "blanks", "uuids", "abbreviated", "mig", "older-mig"])
def test_visible_devices(case, visible, ranks):
    said = case(1, FOUR_GPUS + f"CUDA_VISIBLE_DEVICES='{visible}' autodist run --dry-run --verbose -- ./train\n")
    assert f"{ranks} rank{'s' if ranks > 1 else ''} on 1 node, in" in said, said
    assert "AUTODIST_DEVICE=gpu" in said and ": cpu" not in said, said
    assert f"CUDA_VISIBLE_DEVICES={visible.replace(' ', '')}" in said, said


@pytest.mark.parametrize("visible, wrong", [
    ("all", "CUDA_VISIBLE_DEVICES is 'all': CUDA reads it as no GPU"),
    ("0-3", "CUDA_VISIBLE_DEVICES is '0-3': CUDA reads no ranges"),
    ("0,7", "CUDA_VISIBLE_DEVICES is '0,7': there is no GPU 7; this machine has 4 GPUs"),
    ("cuda:1", "'cuda:1' is neither the number nor the UUID of a GPU"),
    ("2,2", "'2' is listed twice"),
])
def test_invalid_visible_devices(case, visible, wrong):
    said = case(1, FOUR_GPUS + f"CUDA_VISIBLE_DEVICES='{visible}' autodist run -- true; echo \"[$?]\"\n")
    assert wrong in said and said.endswith("[2]\n"), said


@pytest.mark.parametrize("visible", ["", "-1", "none", "NoDevFiles"])
def test_gpus_that_are_hidden_by_the_user(case, visible):
    said = case(1, FOUR_GPUS + f"CUDA_VISIBLE_DEVICES='{visible}' autodist run -- true; echo \"[$?]\"\n")
    assert f"1 rank on 1 node, on CPUs (CUDA_VISIBLE_DEVICES is '{visible}')" in said, said
    assert said.endswith("[0]\n"), said


def test_a_missing_gpu_is_reported(case):
    said = case(1, """
autodist run -- true; CUDA_VISIBLE_DEVICES=0,1 autodist run -- true
NVIDIA_VISIBLE_DEVICES=all autodist run -- true; autodist run -n 2 -- true
""")
    first = [line for line in said.splitlines() if "; logs in " in line]
    assert "1 rank on 1 node, on CPUs (no GPU found);" in first[0], said
    assert "(no GPU found, though CUDA_VISIBLE_DEVICES is '0,1');" in first[1], said
    assert "(no GPU found, though NVIDIA_VISIBLE_DEVICES is 'all');" in first[2], said
    assert "2 ranks on 1 node; logs in" in first[3], said


def test_a_machine_without_gpus_starts_no_process_to_count_them(case):
    said = case(1, """
mkdir tools; printf '#!/bin/sh\\n: > %s/asked\\nexec /usr/bin/getconf "$@"\\n' "$PWD" > tools/getconf; chmod +x tools/getconf
PATH=$PWD/tools:$PATH
autodist run -- true; echo "[$?]"; ls asked
""" + FOUR_GPUS + """
autodist run --dry-run --verbose -- true; ls asked
""")
    assert "on CPUs (no GPU found)" in said and "4 ranks on 1 node" in said and "[0]\n" in said, said
    assert said.count("ls: cannot access 'asked'") == 2, said


def test_a_hanging_nvidia_smi_is_named(case):
    said = case(2, """
mkdir tools; printf '#!/bin/sh\\nexec sleep 1000\\n' > tools/nvidia-smi; chmod +x tools/nvidia-smi
PATH=$PWD/tools:$PATH
printf 'nodes:\\n  - address: localhost\\n    gpus: [0]\\n' > one.yaml
autodist run --start-timeout 8 -- touch started; echo "[$?]"
autodist run --spec one.yaml -- true; echo "[$?]"
autodist run --start-timeout 8 --hosts 10.77.0.1 -- touch started; echo "[$?]"
autodist run --start-timeout 8 --hosts localhost,10.77.0.2:1 -- touch started; echo "[$?]"; ls started
""")
    assert "waiting for " in said and "to list the GPUs, for 6 s at most" in said, said
    assert "cannot query the GPUs: nvidia-smi did not end within 3 s" in said, said
    assert said.count("nvidia-smi -L did not answer within 6 s") == 3, said
    assert said.count("[125]\n") == 3 and said.count("[0]\n") == 1, said
    assert said.count("give the number of ranks: -n N; ") == 1, said
    assert said.count("give the number of ranks: --hosts 10.77.0.1:N\n") == 1, said
    assert said.count("give the number of ranks: --hosts localhost:N,10.77.0.2:1\n") == 1, said
    assert "ls: cannot access 'started'" in said, said


# Stands for nvidia-smi: what it does on a host is in the file smi.HOST.
NVIDIA_SMI = r"""
cat > nvidia-smi <<'S'
#!/bin/sh
case $(cat "$(dirname "$0")/smi.$(hostname)" 2> /dev/null) in
mismatch) echo "Failed to initialize NVML: Driver/library version mismatch"; exit 18 ;;
inforom) trap 'echo "WARNING: infoROM is corrupted at gpu 0000:41:00.0"; exit 14' EXIT ;;
lost) echo "Unable to determine the device handle for GPU1: 0000:41:00.0: Unknown Error"; exit 255 ;;
slow) sleep 8 ;;
esac
case "$*" in
-L) echo "GPU 0: A100 (UUID: GPU-1)"; echo "GPU 1: A100 (UUID: GPU-2)" ;;
*query-gpu*) echo "0, A100, GPU-1, 4"; echo "1, A100, GPU-2, 4" ;;
esac
S
chmod +x nvidia-smi; echo "PATH=$PWD:\$PATH" > "$(dirname "$1")/host2/bashrc"; PATH=$PWD:$PATH
"""


@pytest.mark.parametrize("fault, reason", [
    ("mismatch", "nvidia-smi -L fails: Failed to initialize NVML: Driver/library version mismatch"),
    ("lost", "nvidia-smi -L fails: Unable to determine the device handle for GPU1"),
])
def test_gpus_that_cannot_be_counted_start_no_smaller_world(case, fault, reason):
    said = case(2, NVIDIA_SMI + f"""
echo {fault} > smi.host2
echo "--- run"; autodist run --hosts 10.77.0.1,10.77.0.2 -- touch started; echo "[$?]"; ls started
echo "--- given"; autodist run --hosts 10.77.0.1,10.77.0.2:2 --no-preflight -- sh -c 'echo $RANK of $WORLD_SIZE'; echo "[$?]"
echo "--- doctor"; autodist doctor --hosts 10.77.0.1,10.77.0.2; echo "[$?]"
echo "--- init"; autodist init --hosts 10.77.0.1,10.77.0.2 --output made.yaml; echo "[$?]"; cat made.yaml
autodist run --spec made.yaml -- touch started; echo "[$?]"; ls started
""")
    parts = dict(part.split("\n", 1) for part in said.split("--- ")[1:])
    assert "no rank was started, because 1 of 2 nodes did not report the devices:" in parts["run"], said
    assert reason in parts["run"] and "restart the node" in parts["run"] and "ranks: --hosts 10.77.0.1,10.77.0.2:N\n" in parts["run"], said
    assert "[125]\nls: cannot access 'started'" in parts["run"], said
    assert "3 of 4" in parts["given"] and "[0]\n" in parts["given"], said
    assert "the GPUs cannot be counted: " + reason in parts["doctor"] and "\n1 issue\n[1]\n" in parts["doctor"], said
    assert "[125]\n" in parts["init"] and f"    gpus: unknown  # {reason}" in parts["init"], said
    assert "made.yaml:9:11: 'gpus' is 'unknown'" in parts["init"], said
    assert "or write the numbers by hand" in parts["init"] and "asks nodes" not in parts["init"], said
    assert parts["init"].count("ls: cannot access 'started'") == 1, said


def test_a_corrupted_inforom_is_a_warning(case):
    said = case(2, NVIDIA_SMI + """
echo inforom > smi.host2
autodist init --hosts 10.77.0.1,10.77.0.2 --output made.yaml; echo "[$?]"; cat made.yaml
""")
    assert said.count("    gpus: [0, 1]\n") == 2 and "[0]\n" in said, said
    assert "warning: 10.77.0.2: nvidia-smi says: WARNING: infoROM is corrupted at gpu 0000:41:00.0" in said, said


# An NVIDIA GPU on the PCI bus, without a driver and nvidia-smi.
UNLOADED = """
bus=/sys/bus/pci/devices; mount -t tmpfs tmpfs $bus; mkdir $bus/0000:41:00.0
echo 0x10de > $bus/0000:41:00.0/vendor; echo 0x030200 > $bus/0000:41:00.0/class
"""


def test_gpus_without_a_driver_start_no_smaller_world(case):
    said = case(2, UNLOADED + """
for nodes in "" "--hosts 10.77.0.1,10.77.0.2" "-n 2" "--hosts 10.77.0.1:2,10.77.0.2:2"; do
  echo "--- $nodes"; autodist run $nodes -- sh -c 'echo on $AUTODIST_DEVICE'; echo "[$?]"
done
echo "--- init"; autodist init --hosts 10.77.0.1,10.77.0.2
""")
    parts = dict(part.split("\n", 1) for part in said.split("--- ")[1:])
    why = "neither nvidia-smi nor a driver found, though the PCI bus has an NVIDIA GPU"
    for nodes in ("", "--hosts 10.77.0.1,10.77.0.2"):
        assert "no rank was started, because" in parts[nodes] and why in parts[nodes], said
        assert "[125]\n" in parts[nodes] and "on cpu" not in parts[nodes], said
    assert f"2 ranks on 1 node, on CPUs ({why})" in parts["-n 2"], said
    assert parts["-n 2"].count("on cpu") == 2 and "[0]\n" in parts["-n 2"], said
    given = parts["--hosts 10.77.0.1:2,10.77.0.2:2"]
    assert "2 of them on CPUs (no GPU found on 10.77.0.2)" in given and given.count("on gpu") == 2, said
    assert "the driver is not loaded, though the PCI bus has an NVIDIA GPU (/sys)" in given and "[0]\n" in given, said
    assert f"    gpus: unknown  # {why}" in parts["init"], said


def test_a_slow_nvidia_smi_is_waited_for(case):
    said = case(2, NVIDIA_SMI + """
echo slow > smi.host2
autodist init --hosts 10.77.0.1,10.77.0.2; echo "[$?]"
""")
    assert said.count("    gpus: [0, 1]\n") == 2 and said.endswith("[0]\n"), said


def test_missing_gpus_of_the_spec(case):
    said = case(2, """
sed 's/cpus: .*/gpus: [0, 7]/' "$1" > gpus.yaml
autodist run --spec gpus.yaml -- touch started; echo "[$?]"; ls started
autodist doctor --spec gpus.yaml -- true; echo "[$?]"
autodist run --spec gpus.yaml --no-preflight -- true; echo "[$?]"
mkdir tools; printf '#!/bin/sh\\ncase "$*" in *query-gpu*) echo "0, A100, GPU-aa, 4";; esac\\n' > tools/nvidia-smi
chmod +x tools/nvidia-smi
printf "nodes:\\n  - {address: localhost, gpus: [0, 7], shared_envs: {PATH: '$PWD/tools:\\$PATH'}}\\n" > one.yaml
autodist run --spec one.yaml -- true; echo "[$?]"
""")
    refused = "no GPU there; the spec lists gpus [0, 7]"
    assert said.count(refused) >= 2, said
    assert "write cpus: [0, 1] in their place" in said, said
    assert "GPU 7 of the spec is not there: found 1 GPU" in said, said
    assert [line for line in said.splitlines() if line.startswith("[") and line.endswith("]")] == [
        "[125]", "[1]", "[0]", "[125]"], said


def test_a_spec_names_gpus_by_uuid(case):
    said = case(1, """
mkdir tools; cat > tools/nvidia-smi <<P
#!/bin/sh
case "\\$*" in
*query-gpu*) echo "0, A100, GPU-8932f937-d72c, 4"; echo "1, A100, GPU-1ab9f2aa-0000, 4";;
-L) echo "GPU 0: A100 (UUID: GPU-8932f937-d72c)"; echo "  MIG 1g.10gb Device 0: (UUID: MIG-a2b3c4d5-0000)";;
esac
P
chmod +x tools/nvidia-smi; PATH=$PWD/tools:$PATH
for gpus in '[MIG-a2b3c4d5-0000]' '[GPU-8932f937-d72c, GPU-1ab9]' '[GPU-ffff]' '[MIG-ffff]' all '[0-3]'; do
  printf "nodes:\\n  - address: localhost\\n    gpus: $gpus\\n" > one.yaml
  echo "--- $gpus"; autodist run --spec one.yaml -- sh -c 'echo $AUTODIST_DEVICE $CUDA_VISIBLE_DEVICES'; echo "[$?]"
done
""")
    parts = dict(part.split("\n", 1) for part in said.split("--- ")[1:])
    assert "gpu MIG-a2b3c4d5-0000\n" in parts["[MIG-a2b3c4d5-0000]"], said
    assert parts["[GPU-8932f937-d72c, GPU-1ab9]"].count("gpu GPU-8932f937-d72c,GPU-1ab9\n") == 2, said
    assert "GPU-ffff of the spec is not there: found 2 GPUs" in parts["[GPU-ffff]"], said
    assert "MIG-ffff of the spec is not there" in parts["[MIG-ffff]"], said
    assert "one.yaml:3:11: 'gpus' is 'all'; it should be a list of device numbers" in parts["all"], said
    assert "'0-3' is not a device number" in parts["[0-3]"], said


def test_slurm_with_different_nodes(case):
    said = case(1, """
export SLURM_JOB_ID=1 SLURM_JOB_NODELIST=new1,old1 SLURM_JOB_NUM_NODES=2 SLURM_GPUS_ON_NODE=8
echo "--- tasks"; SLURM_GPUS=12 SLURM_TASKS_PER_NODE=8,4 SLURM_NTASKS=12 autodist init --slurm --offline
echo "--- total"; SLURM_GPUS=12 SLURM_TASKS_PER_NODE='1(x2)' autodist init --slurm --offline
echo "--- unknown"; SLURM_JOB_NODELIST=new1,old[1-2] SLURM_GPUS=14 autodist init --slurm --offline
echo "--- het"; SLURM_HET_SIZE=2 SLURM_JOB_NODELIST=new1 SLURM_JOB_NODELIST_HET_GROUP_0=new1 \\
  SLURM_JOB_NODELIST_HET_GROUP_1='old[1-2]' SLURM_TASKS_PER_NODE_HET_GROUP_0=8 \\
  SLURM_TASKS_PER_NODE_HET_GROUP_1='4(x2)' autodist init --slurm --offline
""")
    parts = dict(part.split("\n", 1) for part in said.split("--- ")[1:])
    eight, four = "gpus: [0, 1, 2, 3, 4, 5, 6, 7]", "gpus: [0, 1, 2, 3]"
    assert [parts["tasks"].count(text) for text in (eight, four)] == [1, 1], said
    assert [parts["total"].count(text) for text in (eight, four)] == [1, 1], said
    assert "SLURM_GPUS_ON_NODE is '8', of this node alone, and SLURM_GPUS is '14'" in parts["unknown"], said
    assert parts["unknown"].count("gpus: unknown  # not asked") == 2, said
    assert [parts["het"].count(text) for text in (eight, four)] == [1, 2], said
