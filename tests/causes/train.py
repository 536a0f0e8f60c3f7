"""A small training of PyTorch with Gloo that has a fault, or only seems to:
train.py CAUSE FOLDER [--ddp] [--quiet]

Four ranks; the culprit is rank 2 unless a comment says otherwise. It prints "begins" when it does what CAUSE
says. FOLDER is shared by the ranks and the driver.
"""

import ctypes
import datetime
import faulthandler
import fcntl
import logging
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

CAUSE, FOLDER = sys.argv[1:3]
DDP, QUIET = "--ddp" in sys.argv, "--quiet" in sys.argv
RANK = int(os.environ["RANK"])
CULPRIT = RANK == 2
AT = 4  # the step of the fault
STEP_S = 0.1
FOREVER_S = 10**6
GLOO_LIMIT_S = 10  # for causes in which a timeout ends the wait
# Output of PyTorch 2.7 after a timeout of NCCL.
WATCHDOG = """\
[rank{rank}]:[E1126 04:12:07.123456789 ProcessGroupNCCL.cpp:632] [Rank {rank}] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=17, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600129 milliseconds before timing out.
[rank{rank}]:[E1126 04:12:07.234567891 ProcessGroupNCCL.cpp:756] [Rank {rank}] Some NCCL operations have failed or timed out. \
Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data.
[rank{rank}]:[E1126 04:12:07.345678912 ProcessGroupNCCL.cpp:762] [Rank {rank}] To avoid data inconsistency, we are taking \
the entire process down.
terminate called after throwing an instance of 'c10::DistBackendError'
  what():  [PG ID 0 PG GUID 0(default_pg) Rank {rank}] Process group watchdog thread terminated with exception: [Rank {rank}] \
Watchdog caught collective operation timeout: WorkNCCL(SeqNum=17, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, \
Timeout(ms)=600000) ran for 600129 milliseconds before timing out."""


def say(text):
    print(text, flush=True)


def begins():
    say("begins")


# What a rank does instead of continuing.

def spin():
    x = 0
    while True:
        x += 1


def asleep():
    time.sleep(FOREVER_S)


def deadlock():
    one, other = threading.Lock(), threading.Lock()
    ready = threading.Barrier(2)

    def update_metrics(mine, others):
        with mine:
            ready.wait()
            with others:
                pass
    threading.Thread(target=update_metrics, args=(one, other), daemon=True).start()
    update_metrics(other, one)


def at_a_lock_file():
    with open(f"{FOLDER}/cache.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # the driver holds the lock


def open_a_fifo():
    with open(f"{FOLDER}/control.fifo", "rb") as file:
        file.read()


def ask():
    os.dup2(os.pipe()[0], 0)  # a pipe without a writer
    input("continue? ")


def thread_dies():
    class Prefetcher(threading.Thread):
        def run(self):
            raise KeyError("image_42")
    import queue
    ready = queue.Queue()
    Prefetcher(daemon=True).start()
    ready.get()


def stop_itself():
    os.kill(os.getpid(), signal.SIGSTOP)


def keep_the_gil():
    holds = ctypes.PyDLL("libc.so.6")

    def decode():
        holds.sleep(FOREVER_S)
    threading.Thread(target=decode, daemon=True).start()
    time.sleep(0.5)
    asleep()


def ask_a_silent_server():
    listener = socket.create_server(("127.0.0.1", 0))
    urllib.request.urlopen(f"http://127.0.0.1:{listener.getsockname()[1]}/data.tar").read()


def unpack_a_fifo():
    subprocess.run(["tar", "xf", f"{FOLDER}/control.fifo"], check=True)


def in_a_barrier():
    dist.barrier()


def broadcast():
    dist.broadcast(torch.ones(4), 0)


def miss_in_a_group():
    asleep()


def zombies():
    for _ in range(4):
        subprocess.Popen(["true"])
    asleep()


def wait_for_a_pipe():
    reader, _ = os.pipe()
    os.read(reader, 1)


def wait_for_a_condition():
    threading.Event().wait()


def wait_for_a_future():
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(1) as pool:
        pool.submit(time.sleep, FOREVER_S).result()


def poll_for_a_file():
    while not os.path.exists(f"{FOLDER}/never"):
        time.sleep(0.2)


def use_async():
    import asyncio
    asyncio.run(asyncio.sleep(FOREVER_S))


def await_a_child():
    child = multiprocessing.get_context("fork").Process(target=time.sleep, args=(FOREVER_S,))
    child.start()
    child.join()


def debug():
    os.dup2(os.pipe()[0], 0)
    import pdb
    pdb.set_trace()


def write_to_a_full_pipe():
    _, writer = os.pipe()
    while True:
        os.write(writer, bytes(65536))


def raised_and_hangs():
    try:
        raise RuntimeError("bad batch 17")
    except RuntimeError:
        import traceback
        traceback.print_exc()
        sys.stderr.flush()
    wait_for_a_condition()


# Healthy behaviour.

def burn(seconds):
    until = time.monotonic() + seconds
    values = torch.ones(200, 200)
    while time.monotonic() < until:
        values = (values @ values).clamp(max=1)


def evaluate():
    burn(FOREVER_S)


def evaluate_in_a_pool():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        pool.map(endless_sum, range(2))


def endless_sum(_):
    x = 0
    while True:
        x += 1


def evaluate_in_a_thread():
    thread = threading.Thread(target=evaluate, daemon=True)
    thread.start()
    thread.join()


def evaluate_in_a_process():
    subprocess.run([sys.executable, "-c", "while True: pass"], check=True)


def compile_something():
    subprocess.run(["sh", "-c", "while :; do :; done"], check=True)


def move(sender):
    """Sends 400 kB a second forever."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = listener.accept()
        while True:
            (connection.sendall(bytes(40_000)) if sender else connection.recv(40_000))
            time.sleep(0.1)
    threading.Thread(target=serve, daemon=True).start()
    mine = socket.create_connection(listener.getsockname())
    while True:
        (mine.recv(65_536) if sender else mine.sendall(bytes(65_536)))


def save_in_a_thread():
    def save():
        with open(f"{FOLDER}/checkpoint-{RANK}", "wb") as file:
            while True:
                file.write(bytes(100_000))
                file.flush()
                time.sleep(0.2)
                file.truncate(0)
    thread = threading.Thread(target=save)
    thread.start()
    thread.join()


def save_slowly():
    with open(f"{FOLDER}/checkpoint-{RANK}", "wb") as file:
        while True:
            file.write(bytes(100_000))
            file.flush()
            time.sleep(0.2)
            file.truncate(0)


# How a rank fails.

def fail_slowly():
    import atexit
    atexit.register(time.sleep, 8)
    open("/data/shard-17.tar")  # noqa: SIM115


def fail_in_a_chain():
    try:
        {}["vocab"]
    except KeyError as error:
        raise RuntimeError("cannot load the tokenizer") from error


def fail_by_two_free():
    libc = ctypes.CDLL("libc.so.6")
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    memory = libc.malloc(64)
    libc.free(memory)
    libc.free(memory)


def fail_by_signal():
    ctypes.string_at(0)


def fail_by_the_kernel():
    os.kill(os.getpid(), signal.SIGKILL)


def fail_by_text():
    sys.exit("config: 'lr' is missing")


def fail_by_log():
    try:
        raise ValueError("batch is empty")
    except ValueError:
        logging.exception("step failed")
        sys.exit(1)


def fail_by_group():
    raise ExceptionGroup("2 shards", [OSError("shard 1"), OSError("shard 2")])


def fail_by_import():
    import flash_attn_of_nowhere  # noqa: F401


def fail_in_a_thread():
    def load():
        raise KeyError("image_42")
    thread = threading.Thread(target=load)
    thread.start()
    thread.join()
    os._exit(1)


def fail_by_disk():
    torch.save(torch.ones(10**6), "/dev/full")


def end_well():
    sys.exit(0)


def end_at_once():
    os._exit(0)


def fail_by_assertion():
    assert torch.isfinite(torch.tensor(float("nan"))), "loss is nan at step 4"


def fail_by_watchdog():
    asleep()


INSTEAD = {name: function for name, function in globals().items()
           if callable(function) and getattr(function, "__module__", "") == __name__}
AS = {  # causes with a name that differs from the function's
    "flock": (at_a_lock_file, (2,)), "two": (None, (1, 2)), "flock3": (None, (0, 1, 2, 3)),
    "download": (lambda: move(True), (2,)), "upload": (lambda: move(False), (2,)),
    "barrier": (in_a_barrier, (1,)), "subgroup": (None, (3,)), "timeout": (asleep, (2,)),
    "hang_at_deadlock3": (deadlock, (3,)), "zombies1": (None, (1, 3)),
    "watchdog": (None, (0, 1, 2, 3)), "frozen": (None, ()), "gdbheld": (None, ()),
}


class Shards(Dataset):
    """Later items block or fail on the culprit, or are slow on all ranks."""

    def __len__(self):
        return 10**6

    def __getitem__(self, i):
        if CAUSE == "dl_slow":
            begins()
            time.sleep(1.5)
        elif CULPRIT and i >= 2 * AT and CAUSE.startswith("dl_"):
            self.odd()
        return torch.ones(4)

    def odd(self):
        begins()
        if CAUSE == "dl_socket":
            ask_a_silent_server()
        elif CAUSE == "dl_stopped":
            stop_itself()
        elif CAUSE == "dl_spin":
            spin()
        elif CAUSE == "dl_sleep":
            asleep()
        elif CAUSE == "dl_raise":
            raise ValueError("shard 17 is cut off")
        elif CAUSE == "dl_exit":
            os._exit(3)
        elif CAUSE == "dl_killed":
            os.kill(os.getpid(), signal.SIGKILL)


def instead(step):
    """Replaces the exchange of one step."""
    if step != AT:
        return
    if CAUSE in AS:
        function, whose = AS[CAUSE]
    else:
        function, whose = INSTEAD.get(CAUSE), (2,)
    if RANK not in whose or (function is None and CAUSE not in AS):
        return
    if CAUSE == "barrier" and RANK != 1:
        return
    begins()
    if CAUSE == "two":
        (asleep if RANK == 1 else wait_for_a_pipe)()
    elif CAUSE == "flock3":
        (in_a_barrier if RANK == 3 else at_a_lock_file)()
    elif CAUSE == "zombies1":
        if RANK == 1:
            for _ in range(4):
                subprocess.Popen(["true"])
        else:
            asleep()
    elif CAUSE == "subgroup":
        if RANK == 3:
            asleep()
    elif CAUSE == "watchdog":
        if RANK == 2:
            asleep()
        time.sleep(1)
        print(WATCHDOG.format(rank=RANK), file=sys.stderr, flush=True)
        os.abort()
    elif function:
        function()


def noise():
    if CAUSE in ("noisy", "noisy_fail") and RANK in (0, 1):
        print("Traceback (most recent call last):\n  File \"cache.py\", line 3, in load\n    open(path)\n"
              "OSError: [Errno 28] No space left on device: '/scratch/cache'", file=sys.stderr, flush=True)


def step_of(model, groups, step):
    time.sleep(STEP_S / 2)
    if CAUSE in ("straggler", "straggler3"):
        burn(STEP_S * (1.6 if CULPRIT and CAUSE == "straggler" else 3 if CULPRIT else 1))
    if CAUSE == "slower" and step > 700:
        burn(STEP_S * 5)
    instead(step)
    if CAUSE == "shape" and step == AT:
        begins()
        dist.all_reduce(torch.ones(40_000 if CULPRIT else 4))
    if DDP:
        model(torch.ones(2, 4)).sum().backward()
    elif CAUSE == "subgroup":
        dist.all_reduce(torch.ones(4), group=groups[RANK // 2])
        if step % 2:
            dist.all_reduce(torch.ones(4))
    elif CAUSE == "pipeline":
        pipeline(step)
    else:
        dist.all_reduce(torch.ones(200_000 if CAUSE in ("link", "loss", "wait") else 4))


def pipeline(step):
    """Rank 1 of a chain does not pass its part on."""
    if RANK > 0:
        dist.recv(torch.ones(4), RANK - 1)
    if RANK == 1 and step == AT:
        begins()
        asleep()
    if RANK < 3:
        dist.send(torch.ones(4), RANK + 1)


def await_others():
    """Creates the process group; some causes fail before or during that."""
    if CAUSE in ("store", "wrongport"):
        begins()
    if CAUSE == "store" and CULPRIT:
        asleep()
    if CAUSE == "wrongport" and CULPRIT:
        os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)
        os.environ["MASTER_ADDR"] = "127.0.0.1"
    limit = GLOO_LIMIT_S if CAUSE == "timeout" else 1800
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=limit))


def main():
    if CAUSE == "import":
        if CULPRIT:
            begins()
            fail_by_import()
    faulthandler.enable() if CAUSE == "faulthandler" else None
    await_others()
    groups = [dist.new_group([0, 1]), dist.new_group([2, 3])] if CAUSE == "subgroup" else []
    model = torch.nn.Linear(4, 1)
    if DDP:
        model = DistributedDataParallel(model)
    loader = DataLoader(Shards(), batch_size=2, num_workers=1) if CAUSE.startswith("dl_") else None
    batches = iter(loader) if loader else None
    noise()
    steps = 30 if CAUSE in ("short", "atexit", "raised_at_end") else 10**6
    for step in range(steps):
        if batches:
            next(batches)
        step_of(model, groups, step)
        if not QUIET or step < 2:
            say(f"step {step} loss {1 / (step + 1):.4f}")
        if QUIET and step == 2:
            begins()
    begins()
    if CAUSE == "atexit" and CULPRIT:
        threading.Thread(target=wait_for_a_condition).start()
    elif CAUSE == "atexit":
        os._exit(0)  # otherwise Gloo's threads may abort the process


if __name__ == "__main__":
    main()
