"""What a user sees at a terminal while ranks run: lines above, bars below."""

import os
import re
import signal
import subprocess
import time

import pytest
from jobs import AUTODIST
from terminal import Terminal

BARS = """
import os, sys, time
from tqdm import tqdm
rank = os.environ["RANK"]
print("rank", rank, "begins")
go_on = sys.argv[1]
for epoch in range(2):
    for step in tqdm([0, 1, 2, 3], desc=f"epoch {epoch}", ncols=60, mininterval=0, miniters=1):
        time.sleep(0.1)  # so that all have begun
        if step == 2:
            tqdm.write("half of it", file=sys.stdout)
            while epoch == 1 and not os.path.exists(go_on):
                time.sleep(0.02)
print("rank", rank, "ends")
"""
SIZES = [(80, 24), (120, 40)]


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "bars.py"
    path.write_text(BARS)
    return ["--", "/usr/bin/python3", path, tmp_path / "go_on"]


@pytest.fixture
def terminal(tmp_path):
    opened = []

    def run(*arguments, **options):
        opened.append(Terminal([AUTODIST, *map(str, arguments)], tmp_path, **options))
        return opened[-1]
    yield run
    for one in opened:
        one.kill()


def without_times(lines):
    """Lines with rates removed from bars, and job ids and times removed from messages."""
    text = "\n".join(lines)
    text = re.sub(r"\d{8}-\d{6}-[0-9a-f]{6}", "ID", re.sub(r"\[\d\d:\d\d<.*?(\]|$)", "[time]", text, flags=re.M))
    text = re.sub(r"\|[█▏▎▍▌▋▊▉ ]+\|", "|█|", text)
    return re.sub(r"\b[\d.]+ (min|s)\b", "T s", text).split("\n")


def bars(lines):
    return [line for line in lines if re.search(r"\|.*\d/\d", line)]


EPOCHS = """
import time
from tqdm import tqdm
for epoch in range(3):
    for step in tqdm(range(10), desc=f"epoch {epoch}", ncols=60):
        time.sleep(0.03)
    print("epoch", epoch, "ends")
"""


def test_output_after_a_bar_stands_below_it(terminal, tmp_path):
    (tmp_path / "epochs.py").write_text(EPOCHS)
    seen = terminal("run", "-n", 1, "--", "/usr/bin/python3", "epochs.py")
    seen.finish()
    lines = [line.split()[1:4] for line in seen.all_lines() if "epoch " in line]
    assert [f"{words[1].rstrip(':')} {words[2].partition('|')[0]}" for words in lines] == [
        line for epoch in range(3) for line in (f"{epoch} 100%", f"{epoch} ends")]


@pytest.mark.parametrize("columns, rows", SIZES)
def test_only_the_first_ranks_bar_is_shown(terminal, program, tmp_path, columns, rows):
    seen = terminal("run", "-n", 4, *program, columns=columns, rows=rows)
    lines = seen.until(lambda lines: "50%" in lines[-1] and sum(line.endswith("half of it") for line in lines) == 8)
    *above, bar = without_times(lines)
    assert bar == "[localhost:0] epoch 1:  50%|█| 2/4 [time]"
    assert sorted(line for line in above if "begins" in line) == [f"[localhost:{i}] rank {i} begins" for i in range(4)]
    assert bars(above) == ["[localhost:0] epoch 0: 100%|█| 4/4 [time]"]
    (tmp_path / "go_on").touch()
    seen.finish()
    assert seen.code == 0
    lines = without_times(seen.all_lines())
    assert bars(lines) == [f"[localhost:0] epoch {i}: 100%|█| 4/4 [time]" for i in range(2)]
    assert sorted(line for line in lines if "ends" in line) == [f"[localhost:{i}] rank {i} ends" for i in range(4)]
    assert lines[-1] == "autodist: job ID finished: 4 ranks on 1 node, T s"


@pytest.mark.parametrize("columns, rows", SIZES)
def test_each_selected_rank_has_a_bar(terminal, program, tmp_path, columns, rows):
    seen = terminal("run", "-n", 12, "--show", "8-10", *program, columns=columns, rows=rows)
    lines = seen.until(lambda lines: sum("epoch 1:  50%" in line for line in lines[-3:]) == 3)
    assert without_times(lines)[-3:] == [
        f"{f'[localhost:{i}]':14} epoch 1:  50%|█| 2/4 [time]" for i in (8, 9, 10)]
    (tmp_path / "go_on").touch()
    seen.finish()
    assert seen.code == 0
    ranks = set(re.findall(r"localhost:(\d+)", "\n".join(seen.all_lines())))
    assert ranks == {"8", "9", "10"}
    [folder] = (tmp_path / "autodist-runs").glob("2*")
    assert b"\r" in (folder / "rank-0.err").read_bytes()


def test_more_bars_than_fit(terminal, program, tmp_path):
    seen = terminal("run", "-n", 12, "--show", "0-11", *program, rows=12)
    lines = seen.until(lambda lines: lines[-1] == "... and 9 bars more; see --show")
    assert [line[:14] for line in lines[-4:-1]] == ["[localhost:0] ", "[localhost:1] ", "[localhost:2] "]
    (tmp_path / "go_on").touch()
    seen.finish()
    assert seen.code == 0
    assert len(bars(seen.all_lines())) == 24


def test_a_row_is_cut_at_the_width_of_the_terminal(terminal, program, tmp_path):
    seen = terminal("run", *program, columns=40)
    seen.until(lambda lines: lines[-1].startswith("[localhost:0] epoch 1:  50%|███") and
               lines[-2] == "[localhost:0] half of it")
    seen.resize(100, 24)
    (tmp_path / "go_on").touch()
    seen.until(lambda lines: any(re.search(r"epoch 1: .* 4/4 \[.*\]$", line) for line in lines))
    seen.finish()
    assert seen.code == 0


def test_nested_bars(terminal, tmp_path):
    program = tmp_path / "nested.py"
    program.write_text("""
import os, sys, time
from tqdm import tqdm
for outer in tqdm(range(3), desc="outer", ncols=60):
    for inner in tqdm(range(4), desc="inner", leave=False, ncols=60, mininterval=0):
        while (outer, inner) == (1, 2) and not os.path.exists("go_on"):
            time.sleep(0.02)
""")
    seen = terminal("run", "--", "/usr/bin/python3", program)
    lines = seen.until(lambda lines: len(bars(lines)) == 2 and "50%" in lines[-1])
    assert [line[14:21] for line in lines[-2:]] == ["outer: ", "inner: "]
    (tmp_path / "go_on").touch()
    seen.finish()
    assert seen.code == 0
    assert [line[14:26] for line in bars(seen.all_lines())] == ["outer: 100%|"]


def test_a_traceback_stays_in_one_piece_between_bars(terminal, tmp_path):
    program = tmp_path / "fails.py"
    program.write_text("""
import os, time
from tqdm import tqdm
for step in tqdm(range(1000), mininterval=0):
    time.sleep(0.01)
    if step == 20 and os.environ["RANK"] == "5":
        {}["label"]
""")
    seen = terminal("run", "-n", 8, "--show", "0", "--", "/usr/bin/python3", program, columns=120)
    seen.finish()
    assert seen.code == 1
    text = "\n".join(seen.all_lines())
    # The rank is not selected, but its output is shown because it failed.
    assert re.search(r'''\[localhost:5\] Traceback \(most recent call last\):
\[localhost:5\]   File ".*/fails.py", line 7, in <module>
\[localhost:5\]     {}\["label"\]
\[localhost:5\].*
\[localhost:5\] KeyError: 'label'
''', text), text
    assert seen.lines()[-1].startswith("autodist: job ")


def test_at_most_ten_frames_a_second(terminal, tmp_path):
    program = tmp_path / "fast.py"
    program.write_text("""
import sys, time
for i in range(3000):
    sys.stderr.write(f"\\rstep {i}")
    time.sleep(0.001)
""")
    seen = terminal("run", "-n", 2, "--show", "0-1", "--", "/usr/bin/python3", program)
    seen.finish()
    assert seen.code == 0
    seconds = time.monotonic() - seen.started
    assert 10 <= seen.frames() <= 10 * seconds + 1
    assert [line for line in seen.lines() if "step 2999" in line] == [
        "[localhost:0] step 2999", "[localhost:1] step 2999"]


@pytest.mark.parametrize("options, env, coloured", [
    ([], {}, True), ([], {"NO_COLOR": "1"}, False), (["--color", "never"], {}, False),
    (["--color", "always"], {"NO_COLOR": "1"}, True), ([], {"TERM": "dumb"}, False)])
def test_colours(terminal, options, env, coloured):
    seen = terminal("run", *options, "--", "echo", "hello", env=env)
    seen.finish()
    assert seen.code == 0
    assert (b"\x1b[36m[localhost:0]\x1b[0m hello" in seen.written) == coloured
    assert (b"\x1b[" in seen.written) == coloured


def test_control_sequences_of_ranks_are_removed(terminal):
    seen = terminal("run", "--", "printf", r"\033[2J\033]0;title\007\033[31mred\033[0m\n")
    seen.finish()
    assert seen.code == 0
    assert b"\x1b[31mred" in seen.written
    assert b"\x1b[2J" not in seen.written
    assert b"title" not in seen.written


# Clipboard, title, DCS, queries that the terminal answers, another screen, C1 in UTF-8 and raw, a reset.
HOSTILE = (r"\033]52;c;ZXZpbA==\007\033]0;title\007\033P+q544e\033\\\\\033[6n\033[c\033[?1049h"
           r"\302\2336n\302\2350;title\302\234\2336n\033c\033[2J\007\010 seen")
# Sequences that autodist itself prints.
OURS = re.compile(rb"\x1b\[(?:\?7[lh]|\d+A|[JK]|[\d;]*m)")


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
@pytest.mark.parametrize("command", [
    "logs last", "logs last --rank 0", "logs last -f --rank 0", "logs last --rank 0 --stderr",
    "logs last --rank 0 --timestamps", "logs last --rank 0 --rank 1", "attach last --all", "attach last --rank 0 --all",
    "status last", "report last --markdown", "ps --all", "why last", "top last --once", "status last --json",
    "ps --all --json", "why last --json"])
def test_no_command_passes_control_sequences_of_ranks(autodist, terminal, term, command):
    text = subprocess.run(["printf", HOSTILE], stdout=subprocess.PIPE, check=True).stdout
    # Rank 0 ends the job, after its output.
    program = f"printf '{HOSTILE}'; printf '{HOSTILE}\\n' >&2; [ $RANK = 1 ] && exec sleep 60; exit 3"
    assert autodist("run", "-n", 2, "--", "sh", "-c", program, text.decode(errors="ignore")).code == 3
    seen = terminal(*command.split(), emulated=False, env={"TERM": term})
    seen.finish()
    # ps cuts long commands, and top shows how a rank ended in place of the last line.
    shown = {"ps --all": b"sh -c", "top last --once": b"exited with code 3"}
    assert shown.get(command, b"seen") in seen.written
    left = re.search(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|(?<![\x80-\xff])[\x80-\x9f]",
                     OURS.sub(b"", seen.written))
    assert not left, seen.written


@pytest.mark.parametrize("command", ["why", "why --json", "stacks"])
def test_what_is_read_is_shown_on_a_terminal_meanwhile(autodist, terminal, command):
    autodist("run", "--detach", "-n", 2, "--", "sleep", "60")
    notice = b"reading the stacks of 2 ranks on 1 node"
    try:
        piped = autodist(*command.split(), "last")
        assert notice.decode() not in piped.out + piped.err
        seen = terminal(*command.split(), "last", emulated=False)
        seen.finish()
        assert notice in seen.written
    finally:
        autodist("stop", "--now", "last")


@pytest.mark.parametrize("command", ["validate spec.yaml", "run --spec spec.yaml --dry-run --show-env-values -- true"])
def test_a_spec_with_control_sequences_is_safe_to_show(terminal, tmp_path, command):
    (tmp_path / "spec.yaml").write_text(
        'nodes:\n  - {address: localhost, cpus: [0], python_venv: "true \\e]0;title\\a"}\n'
        'ssh: {"\\e]0;title\\a": {username: "\\e]0;title\\a"}}\n' if "validate" in command else
        'nodes:\n  - {address: localhost, cpus: [0], python_venv: "true \\e]0;title\\a"}\n')
    seen = terminal(*command.split(), emulated=False)
    seen.finish()
    assert b"\\x1b]0;title\\x07" in seen.written and b"\x1b]" not in seen.written and b"\x07" not in seen.written


def test_a_pipe_gets_the_exact_bytes_of_a_rank(autodist, tmp_path):
    autodist("run", "-n", 1, "--", "sh", "-c", f"printf '{HOSTILE}'; printf '{HOSTILE}' >&2")
    with open(tmp_path / "out", "wb") as out, open(tmp_path / "err", "wb") as err:
        subprocess.run([AUTODIST, "logs", "last", "--rank", "0"], cwd=tmp_path, stdout=out, stderr=err, check=True)
    text = subprocess.run(["printf", HOSTILE], stdout=subprocess.PIPE, check=True).stdout
    assert (tmp_path / "out").read_bytes() == (tmp_path / "err").read_bytes() == text


def test_a_suspended_job_leaves_no_bar(terminal, program, tmp_path):
    seen = terminal("run", *program)
    seen.until(lambda lines: "50%" in lines[-1] and len(lines) >= 6)
    os.kill(seen.pid, signal.SIGTSTP)
    seen.until(lambda lines: "epoch 1" not in lines[-1])
    os.kill(seen.pid, signal.SIGCONT)
    (tmp_path / "go_on").touch()
    seen.finish()
    assert seen.code == 0
    assert len(bars(seen.all_lines())) == 2


def test_without_a_terminal_only_the_end_of_a_bar_is_printed(autodist, program, tmp_path):
    (tmp_path / "go_on").touch()
    outcome = autodist("run", "-n", 2, *program)
    assert outcome.code == 0
    assert "\r" not in outcome.err
    assert [line.split("%")[0] for line in bars(outcome.err.splitlines())] == [
        "[localhost:0] epoch 0: 100", "[localhost:0] epoch 1: 100"]
    assert {rank: lines for rank, lines in outcome.lines().items()} == {
        rank: [f"rank {rank} begins", "half of it", "half of it", f"rank {rank} ends"] for rank in range(2)}
    logs = autodist("logs", "last")
    assert [line.split("%")[0] for line in bars(logs.err.splitlines())] == [
        "[localhost:0] epoch 0: 100", "[localhost:0] epoch 1: 100"]
    raw = autodist("logs", "last", "--rank", 1)
    assert raw.err.count("\r") > 8


@pytest.mark.parametrize("options, lines", [
    (["--show", "1"], ["[localhost:1] hello 1"]),
    (["--show", "none"], []),
    (["--show", "local0"], ["[localhost:0] hello 0"]),
    (["--show", "node:localhost"], ["[localhost:0] hello 0", "[localhost:1] hello 1"]),
    (["--prefix", "none", "--show", "0"], ["hello 0"]),
    (["--prefix", "rank", "--show", "0"], ["[0] hello 0"])])
def test_show_selects_ranks(autodist, options, lines):
    outcome = autodist("run", "-n", 2, *options, "--", "sh", "-c", "echo hello $RANK")
    assert outcome.code == 0, outcome.err
    assert sorted(outcome.out.splitlines()) == lines
    assert sorted(autodist("logs", "last", *options).out.splitlines()) == lines
    assert sorted(autodist("attach", "last", *options).out.splitlines()) == lines


@pytest.mark.parametrize("options, answer", [
    (["--show", "2"], "--show: '2' names no rank; the job has 2 ranks on 1 node, counted from 0"),
    (["--show", "x"], "--show: 'x' names no ranks; say all, none, or ranks as in 0,8-15, local0 or node:gpu3"),
    (["--prefix", "nod"], "'nod' is not none, rank, node or time; did you mean node?")])
def test_invalid_selections_are_refused(autodist, options, answer):
    outcome = autodist("run", "-n", 2, *options, "--", "true")
    assert outcome.code == 2
    assert answer in outcome.err
