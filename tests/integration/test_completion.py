"""What real shells complete, and the manual pages."""

import os
import pty
import re
import select
import signal
import subprocess
import time

import pytest
from jobs import BUILD

LIMIT_S = 20
PROMPT = "ready> "
SETUP = {
    "bash": """
        bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'
        bind 'set page-completions off'; bind 'set enable-bracketed-paste off'
        source <(autodist completion bash)""",
    "bash-completion": """
        bind 'set show-all-if-ambiguous on'; bind 'set completion-query-items 0'
        bind 'set page-completions off'; bind 'set enable-bracketed-paste off'
        source /usr/share/bash-completion/bash_completion; source <(autodist completion bash)""",
    "zsh": """
        LISTMAX=10000; setopt no_list_ambiguous; unset zle_bracketed_paste
        autoload -Uz compinit; compinit -u -D; source <(autodist completion zsh)""",
}
SHELLS = [*SETUP, "fish"]

# The text before the tab, what has to be offered then, and what must not.
CASES = [
    ("r", ["run"], ["logs"]),
    ("", ["run", "logs", "completion"], ["--spec"]),
    ("run --", ["--spec", "--per", "--detach", "--max-restarts"], ["--follow"]),
    ("logs last --", ["--rank", "--follow"], ["--nproc-per-node"]),
    ("run --per ", ["device", "node", "job"], ["train.py"]),
    ("run --per=n", ["--per=node"], ["--per=device"]),
    ("run --spec c", ["cluster.yaml"], ["mkfifo"]),
    ("run --spec cluster.yaml --nccl-debug ", ["VERSION", "TRACE"], ["train.py"]),
    ("run --framework torch,ja", ["torch,jax"], ["torch,paddle"]),
    ("run --log-dir f", ["folder/"], ["file"]),
    ("run --pass-env OF_TH", ["OF_THE_TEST"], []),
    ("run -- mkfif", ["mkfifo"], []),
    ("run mkfif", ["mkfifo"], []),
    ("run --spec cluster.yaml -- cat trai", ["train.py"], []),
    ("doctor -n 2 -- cat trai", ["train.py"], []),
    ("validate cl", ["cluster.yaml"], []),
    ("frameworks pad", ["paddle"], ["torch"]),
    ("completion ", ["bash", "zsh", "fish"], []),
    ("help st", ["status", "stop"], ["run"]),
    ("logs la", ["last"], []),
    ("stop {job}", ["{job}-of-the-test"], []),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion")
    for name in ("cluster.yaml", "train.py", "file"):
        (path / name).touch()
    (path / "folder").mkdir()
    return path


@pytest.fixture(scope="module")
def environment():
    return {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "TERM": "dumb",
            "LC_ALL": "C.UTF-8", "OF_THE_TEST": "1"}


class Terminal:
    """An interactive shell."""

    def __init__(self, name, folder, environment):
        argv = ["zsh", "-f", "-i"] if name == "zsh" else ["bash", "--norc", "--noprofile", "-i"]
        self.shown = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(argv[0], argv, environment)
        setup = "; ".join(line.strip() for line in SETUP[name].split("\n") if line.strip())
        self.type(f"{setup}; PS1='ready''> '\n")
        self.until(PROMPT)

    def type(self, keys):
        os.write(self.terminal, keys.encode())

    def until(self, mark):
        limit = time.monotonic() + LIMIT_S
        while mark not in self.shown:
            left = max(0, limit - time.monotonic())
            assert select.select([self.terminal], [], [], left)[0], f"no {mark!r} after\n{self.shown}"
            self.shown += os.read(self.terminal, 1 << 16).decode(errors="replace")
        text, _, self.shown = self.shown.partition(mark)
        return text

    def complete(self, line):
        """The text on the screen after a tab. Control-U erases the line again."""
        self.type(f"autodist {line}\t\x15echo do''ne\n")
        shown = self.until("done\r\n")
        self.until(PROMPT)
        return re.sub(r"\x1b\[[^a-zA-Z]*[a-zA-Z]", "", shown.split("echo do''ne")[0])

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


@pytest.fixture(scope="module", params=SHELLS)
def complete(request, folder, environment):
    """What a shell shows after a line and a tab: complete(line)."""
    if request.param == "fish":
        def ask(line):
            return subprocess.run(
                ["fish", "--no-config", "-c",
                 'autodist completion fish | source; complete -C "autodist $argv[1]"', line],
                cwd=folder, env=environment, capture_output=True, text=True, check=True,
                timeout=LIMIT_S).stdout
        yield ask
        return
    terminal = Terminal(request.param, folder, environment)
    yield terminal.complete
    terminal.end()


@pytest.mark.parametrize("line, there, not_there", CASES, ids=[line for line, *_ in CASES])
def test_a_shell_completes(complete, autodist, line, there, not_there):
    job = f"c{os.getpid()}"
    if "{job}" in line:
        assert autodist("run", "--name", f"{job}-of-the-test", "--", "true").code == 0
    shown = complete(line.format(job=job))
    for word in there:
        assert word.format(job=job) in shown
    for word in not_there:
        assert not re.search(rf"(^|\s){word}(\s|$)", shown)


# Names in the records of jobs are untrusted.
def test_bash_executes_no_candidate(autodist, tmp_path):
    (tmp_path / "script").write_text(autodist("completion", "bash").out)
    (tmp_path / "autodist").write_text("#!/bin/sh\nprintf 'words\\n$(touch ran)\\tfailed\\n`touch ran`\\tfailed\\n*\\tfailed\\n'\n")
    (tmp_path / "autodist").chmod(0o755)
    shown = subprocess.run(
        ["bash", "-c", "source ./script; PATH=.:$PATH; COMP_WORDS=(autodist logs ''); COMP_CWORD=2; _autodist; "
         "printf '%s\\n' \"${COMPREPLY[@]}\""], cwd=tmp_path, capture_output=True, text=True, check=True, timeout=LIMIT_S)
    assert shown.stdout.split("\n") == ["$(touch ran)", "`touch ran`", "*", ""]
    assert not (tmp_path / "ran").exists()


def options_of_help(autodist, command):
    return set(re.findall(r"^  (?:-\w, )?(--[\w-]+)", autodist(command, "--help", "all").out, re.M))


@pytest.fixture
def commands(autodist):
    return re.findall(r"^  (\w+)  +[A-Z]", autodist("--help").out.split("Examples:")[0], re.M)


def test_shells_offer_every_option_of_the_help(autodist, commands):
    assert len(commands) > 10
    offered = autodist("complete", "--", "").out.splitlines()
    assert offered[0] == "words" and {line.split("\t")[0] for line in offered[1:]} == {*commands, "help"}
    for command in commands:
        offered = {line.split("\t")[0] for line in autodist("complete", "--", command, "-").out.splitlines()[1:]}
        assert options_of_help(autodist, command) <= offered


def test_man_pages_have_every_option_of_the_help(autodist, commands, tmp_path):
    assert autodist("man", "--folder", tmp_path).code == 0
    pages = sorted(path.name for path in tmp_path.iterdir())
    assert pages == sorted(["autodist.1", *(f"autodist-{command}.1" for command in commands)])
    lint = subprocess.run(["mandoc", "-Tlint", "-Wwarning", *(tmp_path / page for page in pages)],
                          capture_output=True, text=True)
    assert lint.stdout + lint.stderr == ""
    for command in commands:
        page = tmp_path / f"autodist-{command}.1"
        text = subprocess.run(["mandoc", "-Tutf8", page], capture_output=True, text=True, check=True).stdout
        text = re.sub(r".\x08", "", text)
        for option in options_of_help(autodist, command):
            assert option in text
        for example in re.findall(r"^  (autodist .*)$", autodist(command, "--help", "all").out, re.M):
            assert example in text
    assert autodist("man", "run").out == (tmp_path / "autodist-run.1").read_text()


def test_the_date_can_be_set(autodist, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert autodist("man").out.startswith(".TH AUTODIST 1 1970-01-02 ")
