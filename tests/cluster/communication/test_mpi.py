"""Unmodified MPI programs: without mpirun, where MPI_Init finds the ranks of all hosts, and with it."""

import os
import shlex
import signal
import subprocess
from pathlib import Path

import hosts
import pytest
import yaml
from hosts import SPEC, address

RANKS = 8
ALL = range(RANKS)
# Exchanges addresses at the start, or only on demand.
LAZILY = {"OMPI_MCA_pmix_base_async_modex": "1", "OMPI_MCA_pmix_base_collect_data": "0"}

WORLD = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, size, sum;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm host;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int host_rank, host_size, *shared;
  MPI_Comm_rank(host, &host_rank);
  MPI_Comm_size(host, &host_size);
  /* Memory of one host's ranks: each writes, and reads what its neighbour wrote. */
  MPI_Win window;
  MPI_Aint bytes;
  int unit, *neighbour;
  MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, host, &shared, &window);
  *shared = 100 + rank;
  MPI_Win_fence(0, window);
  MPI_Win_shared_query(window, (host_rank + 1) % host_size, &bytes, &unit, &neighbour);
  int read = *neighbour;
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  /* Between all pairs, more than what goes with the first packet. */
  enum { kCount = 100000 };
  int* to = malloc(kCount * sizeof(int));
  int* from = malloc(kCount * sizeof(int));
  int right = 0;
  for (int distance = 0; distance < size; ++distance) {
    const int next = (rank + distance) % size, previous = (rank + size - distance) % size;
    for (int i = 0; i < kCount; ++i) to[i] = rank * size + next + i;
    MPI_Sendrecv(to, kCount, MPI_INT, next, 0, from, kCount, MPI_INT, previous, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    int i = 0;
    while (i < kCount && from[i] == previous * size + rank + i) ++i;
    right += i == kCount;
  }
  printf("rank %d of %d, sum %d, %d of %d here, neighbour wrote %d, %d pairs are right\n", rank, size,
         sum, host_rank, host_size, read, right);
  MPI_Finalize();
  return 0;
}
"""

ENDLESS = r"""
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  printf("up %d\n", (int)getpid());
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && rank == atoi(argv[1])) MPI_Abort(MPI_COMM_WORLD, atoi(argv[2]));
  for (;;) MPI_Barrier(MPI_COMM_WORLD);
}
"""

STRANGERS = r"""
#include <pmix.h>
#include <stdio.h>

int main(void) {
  pmix_proc_t me, other;
  pmix_value_t* value;
  if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 1;
  PMIX_LOAD_PROCID(&other, "\xff", 0);
  printf("%s\n", PMIx_Error_string(PMIx_Get(&other, "key", NULL, 0, &value)));
  PMIX_LOAD_PROCID(&other, me.nspace, 99);
  printf("%s\n", PMIx_Error_string(PMIx_Get(&other, "key", NULL, 0, &value)));
  return PMIx_Finalize(NULL, 0);
}
"""


@pytest.fixture(autouse=True)
def nothing_in_shared_memory():
    """Shared memory is common to all virtual hosts."""
    def segments():
        # Open MPI uses "open_mpi.N" only to test whether shared memory works; it may exist for a moment.
        return {name for name in os.listdir("/dev/shm") if not name.startswith("open_mpi.")}
    before = segments()
    yield
    assert segments() <= before


@pytest.fixture
def program(folder):
    """Compiles a program in C; gives its path."""
    def compiled(source, *options):
        path = folder / "program"
        path.with_suffix(".c").write_text(source)
        subprocess.run(["mpicc", "-O1", "-o", path, path.with_suffix(".c"), *options], check=True)
        return path
    return compiled


def mpi(*options, spec=SPEC):
    return ["run", *(["--spec", spec] if spec else []), "--framework", "mpi", *options, "--"]


def world_of(ranks, per_host):
    def line(rank):
        neighbour = rank - rank % per_host + (rank + 1) % per_host
        return (f"rank {rank} of {ranks}, sum {ranks * (ranks - 1) // 2}, {rank % per_host} of {per_host} "
                f"here, neighbour wrote {100 + neighbour}, {ranks} pairs are right")
    return {rank: [line(rank)] for rank in range(ranks)}


@pytest.mark.parametrize("env", [{}, LAZILY], ids=["fence", "direct_modex"])
def test_one_world_over_all_hosts(autodist, program, env):
    outcome = autodist(*mpi(), "env", *(f"{name}={value}" for name, value in env.items()), program(WORLD))
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == world_of(RANKS, 2)
    assert "warning" not in outcome.err.lower()


def test_this_machine_alone_without_a_spec(autodist, program):
    outcome = autodist(*mpi(spec=None), program(WORLD))
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == world_of(1, 1)


def test_two_jobs_at_once(start, program):
    path = program(WORLD)
    jobs = [start(*mpi(), path) for _ in range(2)]
    for job in jobs:
        outcome = job.finish()
        assert outcome.code == 0, outcome.err
        assert outcome.lines() == world_of(RANKS, 2)


def with_files(folder, *command):
    """Also writes each rank's lines to a file: on a busy machine mpirun may tear the lines it forwards."""
    return ["sh", "-c", f'"$0" "$@" | tee {folder}/lines.$OMPI_COMM_WORLD_RANK.$$', *map(str, command)]


def check_lines(folder, outcome, expected):
    """The lines are right in the files, and all of their bytes came through mpirun."""
    assert sorted(line for file in folder.glob("lines.*") for line in file.read_text().splitlines()) == sorted(expected)
    assert set(outcome.lines()) == {0}
    assert sorted("".join(outcome.lines()[0])) == sorted("".join(expected))


@pytest.mark.parametrize("how", ["pmix", "mpirun"])
def test_mpi4py(autodist, folder, how):
    script = folder / "reduce.py"
    script.write_text("""
from mpi4py import MPI
world = MPI.COMM_WORLD
print(world.Get_rank(), world.Get_size(), world.allreduce({world.Get_rank()}, lambda a, b: a | b),
      world.Split_type(MPI.COMM_TYPE_SHARED).Get_size())
""")
    command = ["/usr/bin/python3", script]
    outcome = autodist(*(mpi() if how == "pmix" else mpirun()),
                       *(command if how == "pmix" else with_files(folder, *command)))
    assert outcome.code == 0, outcome.err
    expected = [f"{rank} {RANKS} {set(ALL)} 2" for rank in ALL]
    if how == "pmix":
        assert outcome.lines() == {rank: [expected[rank]] for rank in ALL}
    else:
        check_lines(folder, outcome, expected)


def test_ranks_that_never_call_mpi(autodist):
    outcome = autodist(*mpi(), "sh", "-c", "echo $OMPI_COMM_WORLD_RANK")
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: [str(rank)] for rank in ALL}


def test_service_processes_of_another_framework_are_not_in_the_world(autodist, program):
    outcome = autodist("run", "--spec", SPEC, "--framework", "horovod,mpi", "--", program(WORLD))
    assert outcome.code == 0, outcome.err
    assert {rank: lines for rank, lines in outcome.lines().items() if rank in ALL} == world_of(RANKS, 2)


def test_ranks_outside_the_world_are_not_awaited(autodist, program):
    pmix = subprocess.run(["pkg-config", "--cflags", "--libs", "pmix"], check=True, stdout=subprocess.PIPE, text=True)
    outcome = autodist(*mpi(), program(STRANGERS, *pmix.stdout.split()))
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == {rank: ["NOT-FOUND", "NOT-FOUND"] for rank in ALL}


def test_mpi_abort_ends_the_job_with_its_code_and_is_named(autodist, program):
    outcome = autodist(*mpi(), program(ENDLESS), 3, 7)
    assert outcome.code == 7, outcome.err
    assert f"error: rank 3 on {address(2)} called MPI_Abort with 7\n" in outcome.err


def test_a_rank_killed_in_a_collective_ends_the_job(start, program):
    job = start(*mpi(), program(ENDLESS))
    pids = {line.split("]")[0].split(":")[-1]: int(line.split()[-1]) for line in job.await_lines(RANKS)}
    os.kill(pids["5"], signal.SIGKILL)
    outcome = job.finish()
    assert outcome.code == 128 + signal.SIGKILL
    assert f"error: rank 5 on {address(3)} (pid {pids['5']}) was ended by SIGKILL" in outcome.err


def test_a_rank_that_dies_before_mpi_init_ends_the_job(autodist, program):
    outcome = autodist(*mpi(), "sh", "-c", '[ $AUTODIST_RANK = 6 ] && exit 3; exec "$0"', program(WORLD))
    assert outcome.code == 3
    assert f"error: rank 6 on {address(4)}" in outcome.err


def test_a_restart_finds_another_world(autodist, program, folder):
    outcome = autodist(*mpi("--max-restarts", 1), "sh", "-c",
                       '[ $AUTODIST_RANK = 2 ] && [ $AUTODIST_RESTART_COUNT = 0 ] && exit 1; echo "$PMIX_NAMESPACE" '
                       f'>{folder}/world.$AUTODIST_RESTART_COUNT.$AUTODIST_RANK; exec "$0"', program(WORLD))
    assert outcome.code == 0, outcome.err
    assert outcome.lines() == world_of(RANKS, 2)
    # A rank may be ended before it has written.
    worlds = [{path.read_text() for path in Path(folder).glob(f"world.{attempt}.*")} - {""} for attempt in (0, 1)]
    assert [len(world) for world in worlds] == [1, 1] and worlds[0] != worlds[1]


def test_a_broken_connection_during_mpi_init_loses_nothing(start, program, folder, cut):
    go = folder / "go"
    job = start(*mpi("--lease", 60), "sh", "-c", f"echo up; case $AUTODIST_RANK in [45]) while ! [ -e {go} ]; "
                'do sleep 0.05; done;; esac; exec "$0"', program(WORLD))
    job.await_lines(RANKS)
    cut(3)
    go.touch()  # host 3's contribution to the fence waits for the new connection
    job.await_err(f"{address(3)}: its agent has not answered for", 30)
    hosts.heal(3)
    outcome = job.finish()
    assert outcome.code == 0, outcome.err
    assert {rank: lines[-1:] for rank, lines in outcome.lines().items()} == world_of(RANKS, 2)


def mpirun(*options, spec=SPEC):
    return ["run", "--spec", spec, "--per", "job", "--", "mpirun", "--allow-run-as-root", "-n", RANKS, *options]


def shell(script):
    """A job that runs only this script, on the chief."""
    return ["run", "--spec", SPEC, "--per", "job", "--framework", "mpi", "--", "sh", "-c", script]


# An allocation that is unrelated to the spec.
SLURM = {"SLURM_JOBID": "1", "SLURM_JOB_ID": "1", "SLURM_NODELIST": "elsewhere[1-2]",
         "SLURM_JOB_NODELIST": "elsewhere[1-2]"}


@pytest.mark.parametrize("env", [{}, SLURM], ids=["alone", "in_slurm"])
def test_mpirun_reaches_all_hosts_through_the_agents(autodist, program, folder, env):
    outcome = autodist(*mpirun(*with_files(folder, program(WORLD))), env=env)
    assert outcome.code == 0, outcome.err
    check_lines(folder, outcome, [line for lines in world_of(RANKS, 2).values() for line in lines])
    # On a busy machine mpirun warns that setpgid failed for a shell that has already done it itself.
    assert not [line for line in outcome.err.splitlines() if "warning" in line.lower() and "setpgid" not in line]


@pytest.mark.parametrize("two", ["{0} && {0}", "{0} & {0} && wait $!"], ids=["in_turn", "at_once"])
def test_a_job_may_run_mpirun_twice(autodist, program, folder, two):
    ranks = shlex.join(with_files(folder, program(WORLD)))
    outcome = autodist(*shell(two.format(f"mpirun --allow-run-as-root -n {RANKS} {ranks}")))
    assert outcome.code == 0, outcome.err
    check_lines(folder, outcome, 2 * [line for lines in world_of(RANKS, 2).values() for line in lines])


def test_mpirun_with_a_host_list_is_refused(autodist):
    outcome = autodist(*mpirun("--host", "elsewhere:8", "hostname"))
    assert outcome.code != 0
    addresses = ",".join(address(host) for host in range(1, 5))
    assert f"elsewhere is none of the job's nodes, which are {addresses}; leave out --hostfile" in outcome.err


@pytest.mark.parametrize("words", [
    "-x -p 2222 -oA=b me@{} -l me -q", "-qi key {} -p2222", "-- {}"], ids=["on_both_sides", "joined", "dashes"])
def test_options_for_ssh_are_skipped(autodist, folder, words):
    outcome = autodist(*shell(f"$OMPI_MCA_plm_rsh_agent {words.format(address(3))} "
                              f"'echo $AUTODIST_NODE_RANK >{folder}/new;' mv {folder}/new {folder}/ran && "
                              f"while ! [ -e {folder}/ran ]; do sleep 0.05; done"))
    assert outcome.code == 0, outcome.err
    assert (folder / "ran").read_text() == "2\n"


def test_a_command_that_fails_on_a_node_ends_the_job(autodist):
    on_node = f"$OMPI_MCA_plm_rsh_agent {address(2)}"
    outcome = autodist(*shell(f"{on_node} true && {on_node} exit 9 && sleep 100"))
    assert outcome.code == 9
    assert f"mpirun's daemon on {address(2)}" in outcome.err


EXCLUDE = {f"OMPI_MCA_{layer}_tcp_if_exclude": "lo" for layer in ("btl", "oob")}


@pytest.mark.parametrize("how", ["env", "option", "mpirun_env", "mpirun_option"])
def test_excluded_interfaces_replace_the_network_of_the_nodes(autodist, program, how):
    path = program(WORLD)
    given = [word for name, value in EXCLUDE.items() for word in ("--env", f"{name}={value}")]
    outcome = {
        "env": lambda: autodist(*mpi(spec=None), path, env=EXCLUDE),
        "option": lambda: autodist(*mpi(*given), path),
        "mpirun_env": lambda: autodist(*mpirun(path), env=EXCLUDE),
        "mpirun_option": lambda: autodist(*mpirun("--mca", "btl_tcp_if_exclude", "lo", path)),
    }[how]()
    assert outcome.code == 0, outcome.err
    assert "mutually exclusive" not in outcome.err.lower(), outcome.err
    assert "exclude" not in outcome.err.lower(), outcome.err


def test_processes_of_mpirun_have_the_environment_of_the_spec(autodist, folder):
    spec = yaml.safe_load(SPEC.read_text())
    for number, name in enumerate(sorted(spec["ssh"])):
        spec["ssh"][name]["shared_envs"] = {"GREETING": f"hello {number}"}
    file = folder / "spec.yaml"
    file.write_text(yaml.safe_dump(spec))
    outcome = autodist(*mpirun(*with_files(folder, "sh", "-c", "echo $OMPI_COMM_WORLD_RANK $GREETING"), spec=file))
    assert outcome.code == 0, outcome.err
    groups = sorted(spec["ssh"])
    greeting = {rank: f"hello {groups.index(spec['nodes'][rank // 2]['ssh_config'])}" for rank in ALL if rank > 1}
    check_lines(folder, outcome, [f"{rank} {greeting.get(rank, '')}".strip() for rank in ALL])


def test_mpi_abort_under_mpirun_ends_all(autodist, program):
    outcome = autodist(*mpirun(program(ENDLESS), 3, 7))
    assert outcome.code == 7, outcome.err
    assert f"process 0 on {address(1)}" in outcome.err
    assert "exited with code 7: MPI_ABORT was invoked on rank 3" in outcome.err
