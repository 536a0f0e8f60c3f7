"""A program in a terminal, with its output as pyte, a terminal emulator, displays it."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pyte

LIMIT_S = 60
# The start of each frame of bars.
FRAME = re.compile(rb"\x1b\[\?7l")


class Terminal:
    def __init__(self, command, cwd, env=None, columns=80, rows=24, emulated=True):
        """`emulated`: False skips the slow emulation."""
        self.screen = pyte.HistoryScreen(columns, rows, history=100_000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        self.emulated = emulated
        self.written = b""
        self.code = None
        self.started = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(cwd)
            os.execvpe(command[0], [str(word) for word in command],
                       {**os.environ, "TERM": "xterm-256color", **(env or {})})
        self.resize(columns, rows)

    def resize(self, columns, rows):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def type(self, text):
        os.write(self.fd, text.encode())

    def read(self, seconds):
        """Reads for at most this time; False at the end."""
        if not select.select([self.fd], [], [], max(seconds, 0))[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.written += data
        if self.emulated:
            self.stream.feed(data)
        return bool(data)

    def lines(self):
        """The screen's lines from top to bottom, without empty lines at the end."""
        return "\n".join(line.rstrip() for line in self.screen.display).rstrip("\n").split("\n")

    def all_lines(self):
        """The same, including lines that have scrolled away."""
        columns = range(self.screen.columns)
        before = ["".join(row[x].data for x in columns).rstrip() for row in self.screen.history.top]
        return before + self.lines()

    def until(self, holds, limit=LIMIT_S):
        """Reads until the screen is as expected; returns the lines."""
        deadline = time.monotonic() + limit
        while not holds(self.lines()):
            assert time.monotonic() < deadline, "\n".join(["not within the time:", *self.all_lines()])
            assert self.read(deadline - time.monotonic()), "\n".join(["it has ended:", *self.all_lines()])
        return self.lines()

    def finish(self, limit=LIMIT_S):
        """Waits for the end and sets `code`; returns the program's own CPU seconds, without its
        children's."""
        deadline = time.monotonic() + limit
        while self.read(deadline - time.monotonic()):
            assert time.monotonic() < deadline, "\n".join(["not ended:", *self.all_lines()])
        os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as stat:
            user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        os.close(self.fd)
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def frames(self):
        return len(FRAME.findall(self.written))

    def kill(self):
        """Ends the program if the test failed before its end."""
        if self.code is None:
            os.kill(self.pid, signal.SIGTERM)
            self.finish()
