"""The program of the ranks: rank.py MARKER MODE [ARGUMENTS...]

MODE is the name of a function. Imports little, because eight ranks start on a few cores.
"""

import os
import signal
import sys
import time

from rank_lines import numbered


def variable(*names):
    return int(next(os.environ[name] for name in names if name in os.environ))


RANK = variable("AUTODIST_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "RANK")
WORLD_SIZE = variable("AUTODIST_WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "WORLD_SIZE")
VICTIM = 5  # the rank that has the fault


def write(fd, data):
    while data:
        data = data[os.write(fd, data):]


def ready():
    write(1, b"ready %d %d\n" % (RANK, os.getpid()))


def wait():
    """Waits for a signal: SIGUSR1 fails, SIGUSR2 succeeds."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGUSR2})
    ready()
    os._exit(3 if signal.sigwait({signal.SIGUSR1, signal.SIGUSR2}) == signal.SIGUSR1 else 0)


def stubborn():
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wait()


def grandchildren():
    for _ in range(2):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                while True:
                    time.sleep(1000)
            os._exit(0)
        os.wait()
    wait()


def tick(seconds):
    """Writes numbered lines at a steady rate: 400 per second."""
    ready()
    for number in range(int(float(seconds) * 20)):
        write(1, numbered(RANK, number * 20, 20))
        time.sleep(0.05)


def lines(count):
    ready()
    for start in range(0, int(count), 500):
        write(1, numbered(RANK, start, 500))


def flood():
    if RANK == VICTIM:
        wait()
    ready()
    while True:
        write(1, numbered(RANK, 0, 500))


def victim_writes(path):
    """One rank writes the content of a file."""
    if RANK == VICTIM:
        with open(path, "rb") as file:
            write(1, file.read())


def closed_stdout(count):
    write(1, b"before\n")
    os.close(1)
    write(2, numbered(RANK, 0, int(count)))


def flaky(folder):
    """One rank fails in the first two attempts; the others wait for the third."""
    attempt = len(os.listdir(folder))
    if RANK == VICTIM:
        attempt += 1
        open(os.path.join(folder, str(attempt)), "x", encoding="ascii").close()
    write(1, b"attempt of rank %d of %d\n" % (RANK, WORLD_SIZE))
    if RANK == VICTIM and attempt < 3:
        sys.exit(9)
    while len(os.listdir(folder)) < 3:
        time.sleep(0.02)


def elastic(full):
    """Waits forever in a world of the full size, and succeeds in a smaller one."""
    if WORLD_SIZE == int(full):
        wait()
    write(1, b"rank %d of %d\n" % (RANK, WORLD_SIZE))


if __name__ == "__main__":
    globals()[sys.argv[2]](*sys.argv[3:])
