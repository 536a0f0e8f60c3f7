"""autodist at a terminal."""

import fcntl
import os
import pty
import select
import struct
import termios
import time

from jobs import AUTODIST

WORDS_LIMIT_S = 60


class Terminal:
    """autodist in its own session on a terminal."""

    def __init__(self, folder, *arguments):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execv(AUTODIST, [AUTODIST, *map(str, arguments)])
        self.said = b""

    def read(self):
        """Reads until the last process closes the terminal. Normalizes line ends: the terminal may add a
        return to output that was written for its raw mode."""
        try:
            while data := os.read(self.fd, 4096):
                self.said += data
        except OSError:  # Linux reports the end of a terminal like this
            pass
        return self.said.decode().replace("\r\r\n", "\r\n")

    def await_words(self, words):
        limit = time.monotonic() + WORDS_LIMIT_S
        while words not in self.said:
            ready, _, _ = select.select([self.fd], [], [], limit - time.monotonic())
            assert ready, f"no {words!r} in {self.said!r}"
            try:
                self.said += os.read(self.fd, 4096)
            except OSError as end:
                raise AssertionError(f"no {words!r} to the end of {self.said!r}") from end

    def await_next(self, words):
        """Waits for the words after those awaited before."""
        self.await_words(words)
        before, self.said = self.said.split(words, 1)
        return before

    def type(self, keys):
        os.write(self.fd, keys)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def mode(self):
        return termios.tcgetattr(self.fd)

    def close(self):
        os.close(self.fd)

    def wait(self):
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
