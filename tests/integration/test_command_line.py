"""What is typed in another way than autodist wants it: what is meant is done, or named."""

import sys

import pytest

# What was typed, and what the answer has to name.
WRONG = [
    ("rnu -- ./train", "`autodist run`"),
    ("./train", "autodist run -- ./train"),
    ("python train.py", "autodist run -- python"),
    ("-- ./train", "autodist run -- "),
    ("--spec c.yaml -- ./train", "`autodist run --spec`"),
    ("start -- ./train", "`autodist "),
    ("run", "autodist run --spec cluster.yaml -- ./train"),
    ("run cluster.yaml -- ./train", "autodist run --spec cluster.yaml"),
    ("run 4 -- ./train", "after '--' comes the program"),
    ("run --spce c.yaml -- ./train", "did you mean --spec?"),
    ("run --lease=0 -- ./train", "--lease: '0' is not a number of seconds"),
    ("run --per nod -- ./train", "did you mean node?"),
    ("run --nccl-debug info -- ./train", "did you mean INFO?"),
    ("run --fan-out many -- ./train", "a whole number from 1 to 4096"),
    ("run --spool lots -- ./train", "500M"),
    ("run --max-restarts -- ./train", "--max-restarts needs a value"),
    ("run --dialect pytorch -- ./train", "torch"),
    ("run --env LR -- ./train", "--env LR=VALUE"),
    ("run --follow -- ./train", "`autodist logs` has"),
    ("logs", "which JOB?"),
    ("stop --grcae 3 last", "stop has no option '--grcae'"),
    ("validate a.yaml b.yaml", "too many words: 'b.yaml'"),
    ("bench --collective allreduce", "did you mean all-reduce?"),
    ("init", "--hosts"),
    ("help rnu", "`autodist run`"),
    ("run -n 0 true", "a whole number from 1 to 4096"),
    ("run -n 2 --hosts localhost true", "--spec, --hosts and -n"),
    ("run --hosts localhost:x true", "is not a number of devices"),
    ("run --spec none.yaml true", "autodist init --hosts gpu1,gpu2 --output none.yaml"),
]


@pytest.mark.parametrize("words, named", WRONG, ids=[words for words, _ in WRONG])
def test_the_right_words_are_named(autodist, words, named):
    outcome = autodist(*words.split())
    assert outcome.code == 2, outcome.err
    assert named in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("words, named", [
    ("", "autodist run -- ./train"), ("help", "Subcommands:"), ("help run", "--spec FILE"), ("-V", "autodist "),
    ("--version", "autodist ")])
def test_help_is_had_in_several_ways(autodist, words, named):
    outcome = autodist(*words.split())
    assert (outcome.code, outcome.err) == (0, "")
    assert named in outcome.out


def test_a_program_may_follow_the_options(autodist):
    outcome = autodist("run", "--grace", "2", "echo", "hello", "--grace", "3")
    assert outcome.lines() == {0: ["hello --grace 3"]}


RANKS = ["sh", "-c", "echo $WORLD_SIZE"]


@pytest.mark.parametrize("options", [["-n", "3"], ["-n3"], ["--nproc-per-node", "3"], ["--hosts", "localhost:3"]])
def test_nodes_without_a_spec(autodist, monkeypatch, options):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.setenv("AUTODIST_SPEC", "none.yaml")  # what is given wins
    assert autodist("run", *options, "--", *RANKS).lines() == {rank: ["3"] for rank in range(3)}


def test_a_spec_is_found(autodist, monkeypatch, tmp_path):
    (tmp_path / "autodist.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0, 1]\n")
    (tmp_path / "other.yaml").write_text("nodes:\n  - address: localhost\n    cpus: [0]\n")
    outcome = autodist("run", "--", *RANKS)
    assert outcome.lines() == {0: ["2"], 1: ["2"]}
    assert outcome.err.startswith("autodist: the spec is autodist.yaml, of this folder\n")
    monkeypatch.setenv("AUTODIST_SPEC", "other.yaml")
    outcome = autodist("run", "--", *RANKS)
    assert outcome.lines() == {0: ["1"]}
    assert outcome.err.startswith("autodist: the spec is other.yaml, of $AUTODIST_SPEC\n")
    assert "the spec is" not in autodist("run", "--spec", "autodist.yaml", "--", *RANKS).err


@pytest.mark.parametrize("value, seen", [(None, "1"), ("yes", "yes"), ("", None)])
def test_what_python_prints_is_seen_at_once(autodist, monkeypatch, value, seen):
    if value is None:
        monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    else:
        monkeypatch.setenv("PYTHONUNBUFFERED", value)
    words = "import os; print('last words', os.environ['PYTHONUNBUFFERED']); os.kill(os.getpid(), 9)"
    outcome = autodist("run", "--", sys.executable, "-c", words)
    assert outcome.code == 137
    assert outcome.lines() == ({0: [f"last words {seen}"]} if seen else {})
