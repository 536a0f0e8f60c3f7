"""Incomplete lines, and progress bars, which count as one line each."""

import re

# Prints the output to a terminal, each piece with the seconds since the start.
WATCH = """
import os, pty, sys, time
pid, fd = pty.fork(); began = time.time()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
try:
    while seen := os.read(fd, 65536): print(f"{time.time() - began:4.1f} s", seen, flush=True)
except OSError: pass
"""
DOTS = """
import sys, time
sys.stdout.write("Loading checkpoint shards "); sys.stdout.flush()
for i in range(10): time.sleep(0.5); sys.stdout.write("."); sys.stdout.flush()
print(" done")
"""
PROMPT = """
import os, sys, time
sys.stdout.write("Overwrite? [y/N] "); sys.stdout.flush()
time.sleep(4)
print("no")
"""
OTHERS = """
import os, sys, time
if os.environ["RANK"] == "0":
    sys.stderr.write("Downloading... "); sys.stderr.flush(); time.sleep(5); sys.stderr.write("100 MB\\n")
else:
    for i in range(4): time.sleep(1); print("line", i, flush=True)
"""
# Prints three bars in tqdm's format, one below the other.
BARS = r"""
import sys, time
for epoch in range(3):
    for done in range(0, 101, 2):
        sys.stderr.write(f"\repoch {epoch}: {done:3}%|{'#' * (done // 10):10}| {done}/100 [00:01<00:00, 50.00it/s]")
        sys.stderr.flush()
    sys.stderr.write("\n")
"""


def script(program, *arguments):
    return (f"cat > watch.py <<'P'\n{WATCH}P\ncat > it.py <<'P'\n{program}P\n"
            f"python3 watch.py autodist run {' '.join(arguments)} -- /usr/bin/python3 it.py\n")


def first_second(said, text):
    """Seconds until the terminal showed the text."""
    for line in said.splitlines():
        if text in line:
            return float(line.split(" s ")[0])
    raise AssertionError(f"{text!r} is not in\n{said}")


def test_dots_are_shown_immediately(case):
    said = case(1, script(DOTS, "-n", "1"))
    began = first_second(said, "Loading checkpoint shards")
    assert began < 3, said
    assert began < first_second(said, "shards ...") < first_second(said, "shards ......")
    assert "[localhost:0]" in said and said.count(r" shards .......... done\r\n") == 1, said


def test_a_prompt_is_shown_before_the_answer(case):
    said = case(1, script(PROMPT, "-n", "1"))
    assert first_second(said, "Overwrite? [y/N]") < 3.5, said
    assert said.count(r"Overwrite? [y/N] no\r\n") == 1, said


def test_equal_incomplete_lines_of_ranks_are_shown_as_one(case):
    said = case(1, script(DOTS, "-n", "3"))
    assert first_second(said, "Loading checkpoint shards") < 3.5
    frames = [line for line in said.split(" done")[0].splitlines() if "shards ." in line]
    assert len(frames) > 4 and sum(line.count("shards") == 1 for line in frames) > len(frames) / 2, said
    for rank in range(3):
        assert re.search(rf"\[localhost:{rank}\][^\n]*shards \.{{10}} done", said), said


def test_lines_of_other_ranks_do_not_break_an_incomplete_one(case):
    said = case(1, script(OTHERS, "-n", "2"))
    assert first_second(said, "Downloading...") < 3, said
    assert "Downloading... 100 MB" in said
    for i in range(4):
        assert re.search(rf"line {i}\\r\\n", said), said


def test_a_pipe_gets_complete_lines(case):
    said = case(1, f"cat > it.py <<'P'\n{DOTS}P\nautodist run -n 1 -- /usr/bin/python3 it.py | cat\n")
    assert said.count("Loading") == 1 and "[localhost:0] Loading checkpoint shards .......... done" in said


def test_a_bar_counts_as_one_line_for_tail_and_since(case):
    said = case(1, f"cat > it.py <<'P'\n{BARS}P\nautodist run -n 2 --show none -- /usr/bin/python3 it.py\n"
                   "for options in '--rank 0 --tail 1' '--rank 0 --tail 2' '--rank 0 --since 1h' '--tail 3'; do\n"
                   "  echo \"== $options\"; autodist logs last $options 2>&1\ndone\n")
    [_, one, two, since, three] = said.split("== ")
    bar = r"epoch {}: 100%\|#{{10}}\| 100/100 \[00:01<00:00, 50\.00it/s\]"
    assert re.fullmatch(r"--rank 0 --tail 1\n" + bar.format(2) + "\n", one), one
    assert len(two.splitlines()) == 3 and len(since.splitlines()) == 4 and "\r" not in said, said
    assert len(three.splitlines()) == 4, three
