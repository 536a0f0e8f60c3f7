"""Faults that are injected, and healthy behaviour that looks like one, with the expected diagnosis.

Each cause has a command and the right answer. `Wrong`, `Well`: the answer of `why` after the cause has begun;
`Fails`: the first lines when the job ends; `Lives`: a job that continues under a hang timeout. A diagnosis
that names a rank other than the culprits is BLAMES.
"""

from dataclasses import dataclass, field

TRAIN = ("/usr/bin/python3", "{here}/train.py")
PLAIN = ("/usr/bin/python3", "{here}/plain.py")
PLACES = ("/usr/bin/python3", "{here}/places.py")
NOT_ENTERED = "has not entered .*; it "  # the collective; unknown without stacks
MISSING = r"rank {n} \(\S+\) " + NOT_ENTERED
STEADY_STEPS = 700  # after which the duration of a step is known
AUTO_S = 75  # longer than `auto` takes to stop a job that hangs


@dataclass
class Cause:
    name: str
    command: tuple
    right: str                     # a regular expression that the sentence matches
    kind: str = "wrong"            # wrong, well, fails, lives, stops
    culprits: tuple = (2,)
    options: tuple = ()
    inject: str = ""               # what the driver does to hosts or ranks when it begins
    after: int = 10                # steps until the injection
    by: tuple = ("py-spy", "gdb", "kernel")  # tools that can detect it
    ends: str = ""                 # of "wrong": what else it has to name
    env: dict = field(default_factory=dict)

    @property
    def alone(self):
        """Other jobs on the hosts would disturb it: their ranks are other programs that use the cores."""
        computes = self.kind in ("well", "slow") and any(it in self.name for it in ("spin", "evaluate", "compile", "straggler"))
        return computes or self.inject in ("link", "loss", "loss_all", "cut23", "hog")


def train(name, right, kind="wrong", culprits=(2,), cause=None, arguments=(), **more):
    return Cause(name, (*TRAIN, cause or name, "{folder}", *arguments), right, kind, culprits, **more)


ALL_REDUCE = "(all.reduce|another collective)"  # in gdb, the one of Debian's Gloo has no name


def stands(cause, does, culprits=(2,), **more):
    """The same with all_reduce and with DistributedDataParallel."""
    number = culprits[0]
    # gdb may take too long; then the data comes from the kernel.
    words = rf"rank {number} \(\S+\) ({NOT_ENTERED})?({does})"
    return [train(cause, words, culprits=culprits, **more),
            train(f"ddp_{cause}", words, culprits=culprits, cause=cause, arguments=("--ddp",), **more)]


def parts(cause, odd, usual, culprits=(0,), how=""):
    """Ranks wait at different places: the odd ones in one operation, all others in another one."""
    number = culprits[0]
    words = rf"rank {number} \(\S+\) waits in .*{odd}.*, the 3 others in .*{usual}.*: they do not execute"
    name = f"places_{how.strip('-')}_{cause}" if how else f"places_{cause}"
    return Cause(name, (*PLACES, cause, "{folder}", *([how] if how else [])), words, culprits=culprits, by=("py-spy", "gdb"))


def parts_of_two(how=""):
    """Two ranks wait at each place, so none of them is known to be right."""
    name = f"places_{how.strip('-')}_gather_of_two" if how else "places_gather_of_two"
    words = r"ranks 0, 3 wait in .*, the 2 others in .*all.gather.*: they do not execute the same collectives"
    return Cause(name, (*PLACES, "gather_of_two", "{folder}", *([how] if how else [])), words, culprits=(0, 1, 2, 3),
                 by=("py-spy", "gdb"))


PARTED = [
    parts("gather", "all.gather", ALL_REDUCE),
    parts("gather_objects", "all.gather", ALL_REDUCE),
    parts("barrier", "barrier", ALL_REDUCE, (1,)),
    parts("broadcast", "broadcast", ALL_REDUCE, (3,)),
    parts("reduce", "reduce", ALL_REDUCE, (2,)),
    parts("scatter", "scatter", ALL_REDUCE),
    parts("new_group", "(new_group|set-up of a process group)", ALL_REDUCE, (1,)),
    parts("skip", "all.gather", ALL_REDUCE, (2,)),
    parts("uneven", "barrier", ALL_REDUCE),
    parts_of_two(),
    parts("gather", "all.gather", "backward", how="--ddp"),
    parts("barrier", "barrier", "backward", (1,), how="--ddp"),
    parts("broadcast", "broadcast", "backward", (3,), how="--ddp"),
    parts("skip", "all.gather", "backward", (2,), how="--ddp"),
    parts("uneven", "barrier", "backward", how="--ddp"),
    parts("gather_objects", "all.gather", "backward", how="--ddp"),
    parts_of_two(how="--ddp"),
    parts("barrier", "barrier", "all.gather", (1,), how="--sharded"),
    parts("skip", "all.gather", f"({ALL_REDUCE}|backward)", (2,), how="--sharded"),
    parts("uneven", "barrier", "all.gather", how="--sharded"),
]

HANGS = [
    *stands("asleep", "sleeps"),
    *stands("deadlock", "waits for a lock"),
    *stands("flock", "waits for a lock"),
    *stands("open_a_fifo", "opens .*control.fifo"),
    *stands("ask", "waits for its standard input"),
    *stands("thread_dies", "waits for a lock"),
    *stands("keep_the_gil", "(sleeps|waits)"),
    *stands("ask_a_silent_server", "waits at a socket"),
    *stands("unpack_a_fifo", "(waits|opens|reads)"),
    *stands("wait_for_a_pipe", "reads from"),
    *stands("wait_for_a_condition", "waits for a lock"),
    *stands("wait_for_a_future", "(waits|sleeps)"),
    *stands("use_async", "(waits|sleeps)"),
    *stands("await_a_child", "(waits|sleeps)"),
    *stands("zombies1", "sleeps", culprits=(3,)),
    *stands("dl_socket", "is in its data loader|.*waits at a socket"),
    *stands("dl_stopped", "is in its data loader|.*is stopped"),
    *stands("dl_sleep", "is in its data loader|.*sleeps"),
    train("debug", MISSING.format(n=2) + "waits for its standard input"),
    train("write_to_a_full_pipe", MISSING.format(n=2) + "writes to"),
    train("poll_for_a_file", MISSING.format(n=2) + "sleeps"),
    train("stop_itself", r"rank 2 \(\S+\) is stopped by a signal"),
    train("ddp_stop_itself", r"rank 2 \(\S+\) is stopped by a signal", cause="stop_itself", arguments=("--ddp",)),
    train("two", "ranks 1-2 (have not entered|stand still)", culprits=(1, 2)),
    train("barrier", r"rank 1 \(\S+\) waits in .*barrier.*, the 3 others in .*" + ALL_REDUCE, culprits=(1,),
          by=("py-spy", "gdb")),
    train("broadcast", r"rank 2 \(\S+\) waits in .*broadcast.*, the 3 others in .*" + ALL_REDUCE, by=("py-spy", "gdb")),
    train("flock3", "ranks 0-2 .*lock", culprits=(0, 1, 2)),
    train("subgroup", MISSING.format(n=3) + "sleeps", culprits=(3,)),
    train("pipeline", r"rank 1 \(\S+\) .*sleeps", culprits=(1,)),
    train("atexit", r"rank 2 \(\S+\) .*(3 others|ended)"),
    train("wrongport", r"rank 2 \(\S+\) cannot connect to 127\.0\.0\.1:\d+: the attempts are refused: .*; autodist gave "
          "MASTER_ADDR="),
    train("store", r"rank 2 \(\S+\) .*sleeps", by=("py-spy", "gdb")),
    train("raised_and_hangs", r"rank 2 \(\S+\) .*RuntimeError: bad batch 17"),
    train("frozen", "rank 2", inject="freeze"),
    train("gdbheld", r"rank 2 \(\S+\) .*(debugger|gdb)", inject="gdb"),
    train("spin", r"nothing is wrong as far as autodist sees: rank 2 \(\S+\) computes", "well"),
    train("ddp_spin", r"nothing is wrong as far as autodist sees: rank 2 \(\S+\) computes", "well", cause="spin",
          arguments=("--ddp",)),
    train("dl_spin", r"nothing is wrong as far as autodist sees: rank 2", "well"),
    Cause("plain_asleep", (*PLAIN, "asleep", "{folder}"), r"rank 2 \(\S+\) .*sleeps"),
    Cause("plain_fifo", (*PLAIN, "fifo", "{folder}"), r"rank 2 \(\S+\) .*opens"),
    Cause("plain_lock", (*PLAIN, "lock", "{folder}"), r"rank 2 \(\S+\) .*waits for a lock"),
    Cause("plain_queue", (*PLAIN, "queue", "{folder}"), r"rank 2 \(\S+\) .*waits for a lock"),
    Cause("plain_spin", (*PLAIN, "spin", "{folder}"), r"rank 2 \(\S+\) computes", "well"),
    Cause("mpi_asleep", ("{mpi}", "asleep"), MISSING.format(n=2) + "sleeps", options=("--framework", "mpi"), by=("py-spy", "gdb")),
    Cause("mpi_abba", ("{mpi}", "abba"), MISSING.format(n=2) + "waits for a lock", options=("--framework", "mpi"), by=("py-spy", "gdb")),
    Cause("mpi_abba_stripped", ("{mpi_stripped}", "abba"), MISSING.format(n=2) + "waits for a lock", options=("--framework", "mpi"), by=("py-spy", "gdb")),
    Cause("mpi_tag", ("{mpi}", "tag"), MISSING.format(n=2) + "is in a receive", options=("--framework", "mpi"), by=("py-spy", "gdb")),
    Cause("mpi_barrier", ("{mpi}", "barrier"), r"rank 1 \(\S+\) waits in a barrier", options=("--framework", "mpi"), culprits=(1,), by=("py-spy", "gdb")),
    Cause("two_of_a_shell", ("/bin/sh", "{here}/two.sh"), r"process \d+ of process 2 \(\S+\) " + NOT_ENTERED + "sleeps",
          options=("--per", "node")),
    Cause("two_of_spawn", ("/usr/bin/python3", "{here}/spawn.py", "asleep", "{folder}"),
          r"process \d+ of process 2 \(\S+\) " + NOT_ENTERED + "sleeps", options=("--per", "node")),
]

NETWORK = [
    train("cut23", r"between \S+ and \S+|does not answer", cause="wait", culprits=(1, 2), inject="cut23"),
    train("loss", r"(lost|sent again)", cause="loss", culprits=(2,), inject="loss"),
    train("loss_all", r"(lost|sent again)", cause="loss", culprits=(2,), inject="loss_all"),
    train("link", r"(times as long|sent again)", "slow", cause="link", culprits=(2,), inject="link", after=STEADY_STEPS),
]

SLOW = [
    train("straggler", r"rank 2 \(\S+\) keeps the others waiting", "slow", inject="wait"),
    train("straggler3", r"rank 2 \(\S+\) keeps the others waiting", "slow", inject="wait"),
    train("ddp_straggler3", r"rank 2 \(\S+\) keeps the others waiting", "slow", cause="straggler3", arguments=("--ddp",),
          inject="wait"),
    train("slower", r"times as long", "slow", culprits=(), inject="wait", after=STEADY_STEPS),
]

FAILURES = [
    train("shape", r"rank \d", "fails", culprits=(0, 1, 2, 3)),
    train("fail_in_a_chain", r"rank 2 .*RuntimeError: cannot load the tokenizer", "fails"),
    train("noisy_fail", r"rank 2 .*nan", "fails", cause="fail_by_assertion"),
    train("fail_slowly", r"rank 2 .*FileNotFoundError.*shard-17", "fails"),
    train("ddp_fail_slowly", r"rank 2 .*FileNotFoundError.*shard-17", "fails", cause="fail_slowly", arguments=("--ddp",)),
    train("end_well", r"rank 2 .*(exited|ended) with (code )?0", "fails"),
    train("end_at_once", r"rank 2 .*(exited|ended) with (code )?0", "fails"),
    train("ddp_end_at_once", r"rank 2 .*(exited|ended) with (code )?0", "fails", cause="end_at_once", arguments=("--ddp",)),
    train("timeout", r"rank 2 .*sleeps", "fails"),
    train("watchdog", r"rank 2 .*sleeps", "fails"),
    train("fail_by_signal", r"rank 2 .*(SIGSEGV|signal 11|[Ss]egmentation)", "fails"),
    train("fail_by_two_free", r"rank 2 .*(double free|SIGABRT|invalid pointer)", "fails"),
    train("fail_by_the_kernel", r"rank 2 .*SIGKILL", "fails"),
    train("fail_by_text", r"rank 2 .*'lr' is missing", "fails"),
    train("fail_by_log", r"rank 2 .*ValueError: batch is empty", "fails"),
    train("fail_by_group", r"rank 2 .*ExceptionGroup: 2 shards", "fails"),
    train("import", r"rank 2 .*No module named 'flash_attn_of_nowhere'", "fails"),
    train("fail_in_a_thread", r"rank 2 .*KeyError: 'image_42'", "fails"),
    train("fail_by_disk", r"rank 2 .*(No space left|disk|write)", "fails"),
    train("dl_raise", r"rank 2 .*ValueError: shard 17 is cut off", "fails"),
    train("dl_exit", r"rank 2 .*(DataLoader|worker)", "fails"),
    train("dl_killed", r"rank 2 .*(DataLoader|worker)", "fails"),
    train("hangs_with_a_limit", r"rank 2 \(\S+\) .*sleeps", "stops", cause="asleep", options=("--hang-timeout", "10")),
    train("ddp_hangs_with_a_limit", r"rank 2 \(\S+\) .*sleeps", "stops", cause="asleep", arguments=("--ddp",),
          options=("--hang-timeout", "10")),
]

HEALTHY = [
    train("evaluate", "nothing is wrong", "well"),
    train("ddp_evaluate", "nothing is wrong", "well", cause="evaluate", arguments=("--ddp",)),
    train("compile_something", "nothing is wrong", "well"),
    train("evaluate_in_a_process", "nothing is wrong", "well"),
    train("evaluate_in_a_pool", "nothing is wrong", "well"),
    train("evaluate_in_a_thread", "nothing is wrong", "well"),
    train("ddp_evaluate_in_a_pool", "nothing is wrong", "well", cause="evaluate_in_a_pool", arguments=("--ddp",)),
    train("download", "nothing is wrong", "well"),
    train("upload", "nothing is wrong", "well"),
    train("save_in_a_thread", "nothing is wrong", "well"),
    train("save_slowly", "nothing is wrong", "well"),
    train("dl_slow", "nothing is wrong", "well"),
    train("noisy", "nothing is wrong", "well", inject="wait"),
    train("quiet", "nothing is wrong", "well", arguments=("--quiet",), inject="wait"),
    train("ddp_quiet", "nothing is wrong", "well", cause="quiet", arguments=("--quiet", "--ddp"), inject="wait"),
    train("well", "nothing is wrong", "well", inject="wait"),
    Cause("plain_quiet", (*PLAIN, "quiet", "{folder}"), "nothing is wrong", "well"),
    Cause("plain_well", (*PLAIN, "well", "{folder}"), "nothing is wrong", "well"),
    Cause("spawn_well", ("/usr/bin/python3", "{here}/spawn.py", "well", "{folder}"), "nothing is wrong", "well",
          options=("--per", "node")),
    Cause("mpi_quiet", ("{mpi}", "well"), "nothing is wrong", "well", options=("--framework", "mpi"), inject="wait"),
    *[train(f"auto_{cause}", "", "lives", cause=cause, options=("--hang-timeout", "auto"))
      for cause in ("evaluate_in_a_pool", "evaluate_in_a_thread", "upload", "evaluate_in_a_process")],
]

GROUPS = {"ranks in different collectives": PARTED, "hang": HANGS, "network": NETWORK, "slow": SLOW,
          "failure": FAILURES, "healthy, but looks like one of these": HEALTHY}
CAUSES = [cause for causes in GROUPS.values() for cause in causes]
