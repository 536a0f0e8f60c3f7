"""A training without a framework: ranks add up their numbers at rank 0 over sockets.
plain.py CAUSE FOLDER"""

import os
import socket
import sys
import threading
import time

CAUSE, FOLDER = sys.argv[1:3]
RANK, SIZE = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
CULPRIT = RANK == 2
AT = 4
START_LIMIT_S = 60
FOREVER_S = 10**6


def connected():
    """Rank 0's sockets to the other ranks, or another rank's socket to rank 0."""
    address = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    if RANK == 0:
        listener = socket.create_server(("", address[1]))
        return [listener.accept()[0] for _ in range(SIZE - 1)]
    limit = time.monotonic() + START_LIMIT_S
    while True:
        try:
            return [socket.create_connection(address)]
        except OSError:
            if time.monotonic() > limit:
                raise
            time.sleep(0.1)


def exchange(peers):
    if RANK == 0:
        for peer in peers:
            peer.recv(8)
        for peer in peers:
            peer.sendall(bytes(8))
    else:
        peers[0].sendall(bytes(8))
        peers[0].recv(8)


def stuck():
    if CAUSE == "asleep":
        time.sleep(FOREVER_S)
    if CAUSE == "fifo":
        open(f"{FOLDER}/control.fifo", "rb").read()
    if CAUSE == "lock":
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    if CAUSE == "spin":
        while True:
            pass
    if CAUSE == "queue":
        import queue
        queue.Queue().get()


def main():
    peers = connected()
    for step in range(10**6):
        time.sleep(0.05)
        if CULPRIT and step == AT and CAUSE not in ("quiet", "well"):
            print("begins", flush=True)
            stuck()
        if CAUSE in ("quiet", "well") and step == AT:
            print("begins", flush=True)
        exchange(peers)
        if step < 2 or CAUSE != "quiet":
            print(f"step {step}", flush=True)


main()
