"""A PyTorch training with Gloo in which rank 2 does what the first argument says in its third step;
some causes are no fault: standstill.py CAUSE [FILE]"""

import multiprocessing
import os
import signal
import socket
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

CAUSE, REST, RANK = sys.argv[1], sys.argv[2:], int(os.environ["RANK"])
ODD = RANK == 2
AT = 2  # the step
DECODING_S = 10  # of an example, if the first epoch is slow


class Examples(Dataset):
    """Examples of which later ones never arrive on rank 2, or take long on all ranks."""

    def __len__(self):
        return 64

    def __getitem__(self, i):
        if CAUSE == "data" and ODD and i >= 4 * AT:
            threading.Event().wait()
        if CAUSE == "epoch" and i >= 4 * AT:
            compute(until=time.monotonic() + DECODING_S)
        return torch.ones(4)


def odd():
    if CAUSE in ("asleep", "ddp"):
        time.sleep(10**6)
    if CAUSE == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if CAUSE == "file":
        open(REST[0], "rb").read()
    if CAUSE == "lock":
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    if CAUSE == "broadcast":
        dist.broadcast(torch.ones(4), 0)


def compute(until=float("inf")):
    values = torch.ones(300, 300)
    while time.monotonic() < until:
        values = values @ values


def serve(listener):
    """Sends 400 kB per second, forever."""
    connection, _ = listener.accept()
    while True:
        connection.sendall(bytes(10_000))
        time.sleep(0.025)


def download():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, args=[listener], daemon=True).start()
        with socket.create_connection(listener.getsockname()) as connection:
            while connection.recv(1_000_000):
                pass


def work_elsewhere():
    """Does work that the main thread waits for, such as an evaluation or a download."""
    if CAUSE == "pool":
        with multiprocessing.Pool(1) as pool:
            pool.apply(compute)
    if CAUSE == "thread":
        thread = threading.Thread(target=compute)
        thread.start()
        thread.join()
    if CAUSE == "download":
        download()


def compile_model():
    """Waits in a function named like that of PyTorch's compiler, which some versions lack."""
    path = os.path.join(os.path.dirname(torch.__file__), "_inductor", "compile_fx.py")
    scope = {}
    exec(compile("def compile_fx(wait):\n    wait()\n", path, "exec"), scope)  # pylint: disable=exec-used
    scope["compile_fx"](threading.Event().wait)


class Slowly:
    """An object that takes forever to pickle, like writing a checkpoint to a slow disk."""

    def __reduce__(self):
        compute()


def train():
    torch.set_num_threads(1)
    loader = iter(DataLoader(Examples(), batch_size=4, num_workers=1)) if CAUSE in ("data", "epoch") else None
    model = DistributedDataParallel(torch.nn.Linear(4, 1)) if CAUSE == "ddp" else None
    step = 0
    while True:
        batch = next(loader) if loader else torch.ones(4)
        if step == AT - 1:
            print("step", step, flush=True)
        if step == AT:
            if CAUSE == "barrier" and not ODD:
                dist.barrier()
            if ODD:
                odd()
                work_elsewhere()
            if CAUSE == "compile":
                compile_model()
            if CAUSE == "evaluate" and ODD:
                compute()
            if CAUSE == "checkpoint" and ODD:
                torch.save(Slowly(), os.devnull)
        if CAUSE == "uneven" and step % 4 == RANK:
            time.sleep(0.1)
        if model:
            model(batch).sum().backward()
        else:
            dist.all_reduce(batch)
        if CAUSE == "output":
            print("epoch 0", flush=True)
            time.sleep(0.2)
        step += 1


dist.init_process_group("gloo")
train()
