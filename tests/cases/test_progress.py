"""Progress of jobs: steps, stalls, and slowdowns."""

import json
import re

KERAS = """
# what Keras 3's model.fit() writes where stdout is a pipe: a line a step
import time
for epoch in (1, 2):
    print(f"Epoch {epoch}/2")
    for s in range(1, 61):
        bar = "━" * (s // 3) + "─" * (20 - s // 3)
        print(f"\\33[1m{s}/60\\33[0m \\33[32m{bar}\\33[0m\\33[37m\\33[0m \\33[1m{60 - s}s\\33[0m 99ms/step - "
              f"accuracy: 0.51 - loss: {3 - s / 40:.4f}", flush=True); time.sleep(0.1)
"""
LOGURU = """
import time
for s in range(1, 101):
    print(f"\\33[32m2026-11-25 04:06:{s % 60:02}.123\\33[0m | \\33[1mINFO    \\33[0m | \\33[36mtrain\\33[0m:"
          f"\\33[36mmain\\33[0m:\\33[36m12\\33[0m - \\33[1mstep {s}/100\\33[0m", flush=True); time.sleep(0.1)
"""
BACKSPACES = """
import sys, time
print("Epoch 1/1")
width = 0
for s in range(1, 101):
    text = f"{s}/100 [{'=' * (s // 5)}>{'.' * (20 - s // 5)}] - ETA: {100 - s}s - loss: {3 - s / 50:.4f}"
    sys.stdout.write("\\b" * width + "\\r" + text); sys.stdout.flush(); width = len(text); time.sleep(0.1)
print()
"""
HANGS = """
import time
for s in range(1, 60):
    print(f"step {s}/100000 loss {3 - s / 40:.4f}", flush=True); time.sleep(0.1)
time.sleep(1000)
"""
GOES_ON = """
import time
for s in range(1, 40): print(f"step {s}/100 loss 1", flush=True); time.sleep(0.2)
time.sleep(16)
for s in range(40, 101): print(f"step {s}/100 loss 1", flush=True); time.sleep(0.2)
"""
EVALUATES = """
import sys, time
for s in range(1, 40): print(f"step {s}/100 loss 1", flush=True); time.sleep(0.2)
for s in range(180): sys.stderr.write(f"\\rEvaluating: {s // 2:3}%|#  | {s}/360 [00:01<00:01, 10.00it/s]"); \
    sys.stderr.flush(); time.sleep(0.1)
"""
SLOWS_DOWN = """
import time
for s in range(1, 1000): print(f"step {s} loss 1", flush=True); time.sleep(0.25 if s < 120 else 1.0)
"""


def run(program, then, *options):
    return (f"cat > it.py <<'P'\n{program}P\n"
            f"autodist run -n 1 --show none --name k {' '.join(options)} -- /usr/bin/python3 it.py > run.log 2>&1 &\n"
            f"{then}\nautodist stop k --now > /dev/null 2>&1; wait\n")


def test_keras(case):
    said = case(1, run(KERAS, "sleep 9; autodist top k --once; autodist status k; autodist report k --markdown"))
    step = int(re.search(r"(\d+) / 120", said)[1])
    assert 60 < step < 100, said
    assert "accuracy" in said and "loss" in said and "\\x1b" not in said, said
    assert re.search(r"step (\d+) of 120.*epoch 2/2", said), said
    assert re.search(r"\d+ of 120", said.split("# ", 1)[1]), said


def test_loguru(case):
    said = case(1, run(LOGURU, "sleep 6; autodist top k --once; autodist status k"))
    assert re.search(r"\d+ / 100", said) and re.search(r"step \d+ of 100", said), said


def test_keras_with_backspaces(case):
    said = case(1, run(BACKSPACES, "sleep 6; autodist status k"))
    assert re.search(r"step \d+ of 100", said) and "loss" in said, said


def test_a_job_that_stands_still_is_stalled(case):
    said = case(1, run(HANGS, "sleep 22; autodist top k --once; echo == status; autodist status k; echo == json; "
                              "autodist status k --json; echo == report; autodist report k --markdown"))
    [top, rest] = said.split("== status\n")
    [status, rest] = rest.split("== json\n")
    [as_json, report] = rest.split("== report\n")
    pattern = r"stalled: no step for \d+ s; usually 0\.1\d s"
    assert "stalled" in top.splitlines()[0] and re.search(pattern, top) and "0 steps/s" in top, top
    assert re.search(pattern, status), status
    assert re.search(pattern, json.loads(as_json)["stalled"]["what"]), as_json
    assert "stalled" in report and re.search(pattern, report), report
    goodput = float(re.search(r"goodput (\d+(?:\.\d+)?)", top)[1])
    assert goodput < 60, top


def test_a_stalled_job_recovers(case):
    said = case(1, run(GOES_ON, "sleep 21; autodist status k; echo ==; sleep 6; autodist status k"))
    [before, after] = said.split("==\n")
    assert "stalled" in before and "stalled" not in after, said


def test_an_evaluating_job_is_not_stalled(case):
    said = case(1, run(EVALUATES, "sleep 22; autodist status k; autodist top k --once"))
    assert "stalled" not in said and "step 39 of 100" in said, said


def test_a_job_that_becomes_slower(case):
    said = case(1, run(SLOWS_DOWN, "sleep 75; autodist top k --once; echo ==; autodist status k; echo ==; autodist why k"))
    pattern = r"steps take 1(?:\.\d)? s, [34]\.\d times as long as before \d\d:\d\d"
    for shown in said.split("==\n"):
        assert re.search(pattern, shown), said
    assert "stalled:" not in said
