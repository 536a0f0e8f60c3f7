"""The program of the jobs, and its expected output."""

import sys
from dataclasses import dataclass

RANKS = 8
FAILING = 5  # the rank that fails, in a program that fails
CODE = 7

HUGE = 2  # the rank that writes one huge line, if any

# rank program LINES SECONDS GRANDCHILDREN FAILS HUGE (sizes in bytes, counts, and 0 or 1)
SCRIPT = f"""
import os, subprocess, sys, time
lines, seconds, grandchildren, fails, huge = int(sys.argv[1]), float(sys.argv[2]), *map(int, sys.argv[3:])
for _ in range(grandchildren):
    subprocess.Popen(['setsid', 'setsid', 'sleep', '1000'])
steps = 10
if huge and os.environ['RANK'] == '{HUGE}':
    print('x' * huge)
for step in range(steps):
    for number in range(lines * step // steps, lines * (step + 1) // steps):
        sys.stdout.write('line %d %s\\n' % (number, 'x' * 80))
    sys.stdout.flush()
    if fails and step == steps // 2 and os.environ['RANK'] == '{FAILING}':
        os._exit({CODE})
    time.sleep(seconds / steps)
"""


@dataclass
class Program:
    lines: int
    seconds: float
    grandchildren: int
    fails: bool
    huge: int

    @staticmethod
    def any(chance):
        return Program(chance.choice([0, 10, 500, 5000]), chance.uniform(0.2, 4), chance.choice([0, 0, 1, 2]),
                       chance.random() < 0.15, chance.choice([0] * 9 + [4 << 20]))

    def argv(self):
        return [sys.executable, "-c", SCRIPT, *map(str, (
            self.lines, self.seconds, self.grandchildren, int(self.fails), self.huge))]

    def whole(self):
        """{rank: lines} of an undisturbed job."""
        lines = [f"line {number} " + "x" * 80 for number in range(self.lines)]
        whole = dict.fromkeys(range(RANKS), lines)
        if self.huge:
            whole[HUGE] = ["x" * self.huge, *lines]
        return {rank: lines for rank, lines in whole.items() if lines}
