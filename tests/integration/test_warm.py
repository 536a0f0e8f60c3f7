"""--warm: Pythons that wait for a restart, and the program that runs them and the ranks."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

RUN_PYTHON = Path(__file__).resolve().parents[2] / "agent/prepare/run_python.py"
PYTHON = "/usr/bin/python3"
LIMIT_S = 60
# At its end: the first attempt fails once a Python waits beside each rank, the second succeeds.
FAILS_ONCE = """
attempt = int(os.environ["AUTODIST_RESTART_COUNT"])
open(os.environ["RUNS"], "a").write(f"{attempt} {os.environ['RANK']} {os.getpid()}\\n")


def cpu_time_of_waiting():
    times = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = open(f"/proc/{pid}/cmdline").read().split("\\0")
            fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == os.getppid() and any(word.endswith("run_python.py") for word in words):
            times[pid] = fields[11:13]
    return times


step, seen, still = 0, {}, 0
while attempt == 0 and still < 10 and step < 300:
    step += 1
    print(f"step {step}/1000", flush=True)
    time.sleep(0.1)
    before, seen = seen, cpu_time_of_waiting()
    still = still + 1 if seen == before and (seen or WAITED) else 0
    WAITED = seen or WAITED
if attempt == 0:
    print("the ranks fail", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
PRELUDE = "import os, signal, time\nimport torch\n"
PROGRAM = PRELUDE + """
WAITED = False
print(f"attempt {os.environ['AUTODIST_RESTART_COUNT']} has {torch.VALUE} imported by {torch.BY == os.getpid()}", flush=True)
""" + FAILS_ONCE
TORCH = "import os\nBY = os.getpid()\nVALUE = 1\n"


@pytest.fixture
def site(tmp_path):
    """A folder of installed modules, as pip install --user has it, with a small module torch."""
    base = tmp_path / "base"
    path = subprocess.run([PYTHON, "-m", "site", "--user-site"], env={"PYTHONUSERBASE": str(base)},
                          capture_output=True, text=True, check=True).stdout.strip()
    Path(path).mkdir(parents=True)
    (Path(path) / "torch.py").write_text(TORCH)
    return Path(path)


@pytest.fixture
def run(autodist, tmp_path, site):
    """Runs a job that fails once; returns the outcome, and each run of the program: [attempt, rank, process]."""
    def run_job(*command, ranks=1, options=("--warm",)):
        outcome = autodist("run", "-n", ranks, "--max-restarts", "1", *options, "--env", f"PYTHONUSERBASE={tmp_path / 'base'}",
                           "--env", f"RUNS={tmp_path / 'runs'}", "--", PYTHON, *command)
        assert outcome.code == 0, outcome.err
        return outcome, [line.split() for line in (tmp_path / "runs").read_text().splitlines()]
    return run_job


@pytest.mark.parametrize("options", [("--warm",), ("--warm", "torch"), ("--warm=sleeptrainer",)])
def test_a_program_runs_once_for_each_rank_and_attempt(run, site, options):
    package = site / "sleeptrainer"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(PROGRAM)
    outcome, runs = run("-m", "sleeptrainer", ranks=2, options=options)
    assert sorted(run[:2] for run in runs) == [["0", "0"], ["0", "1"], ["1", "0"], ["1", "1"]], outcome.err
    assert ("attempt 1 has 1 imported by True" in outcome.out)
    assert ("Python starts again: a module imports sleeptrainer" in outcome.err) == (options[0] == "--warm=sleeptrainer")


def test_a_restart_continues_in_the_python_that_waited(run, tmp_path, site):
    (site / "torch.py").write_text(TORCH + "open(os.environ['RUNS'] + '.imports', 'a').write(f'{BY}\\n')\n")
    (tmp_path / "train.py").write_text(PROGRAM)
    outcome, runs = run("train.py")
    assert "starts again" not in outcome.err
    assert [attempt for attempt, _, _ in runs] == ["0", "1"]
    imports = (tmp_path / "runs.imports").read_text().split()
    assert imports[:2] == [runs[0][2], runs[1][2]], "the second one before it became the rank"


def test_the_reason_for_a_usual_start_is_in_the_output(run, tmp_path):
    (tmp_path / "train.py").write_text("import os\nos.environ['SET'] = '1'\n" + PROGRAM)
    outcome, _ = run("train.py")
    assert "autodist: --warm: Python starts again: the program does something else before it imports" in outcome.err


@pytest.mark.parametrize("words, said", [
    (["--max-restarts", "1", "--warm", "--", "./train"], "--warm needs a program that begins like"),
    (["--max-restarts", "1", "--warm", "--", "python3", "-c", "pass"], "--warm needs a program that begins like"),
    (["--warm", "--", "python3", "train.py"], "and --max-restarts, --spares or --min-nodes"),
    (["--max-restarts", "1", "--warm", "python3", "train.py"], "write -- before the program"),
    (["--max-restarts", "1", "--warm=torch.nn", "--", "python3", "train.py"], "must be modules, such as"),
    (["--max-restarts", "1", "--warm=torch,,os", "--", "python3", "train.py"], "must be modules, such as"),
])
def test_what_cannot_wait_is_refused(autodist, words, said):
    outcome = autodist("run", *words)
    assert outcome.code == 2
    assert said in outcome.err


class Waiting:
    """A Python that was started to wait: `said` is what it wrote, b"w" or why it does not wait."""

    def __init__(self, words, folder, script=RUN_PYTHON, modules="", own=(), **variables):
        self.variables = {"PYTHONUSERBASE": str(folder / "base"), "AUTODIST_LOCAL_RANK": "0", "PATH": os.environ["PATH"],
                          **variables}
        self.command = [PYTHON, *own]
        self.words, self.folder = words, folder
        gate, self.ours = socket.socketpair()
        self.process = subprocess.Popen(
            [*self.command, str(script), str(gate.fileno()), modules, str(folder), *words], cwd=folder, env=self.variables,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, pass_fds=[gate.fileno()])
        gate.close()
        self.ours.settimeout(LIMIT_S)
        self.said = self.ours.recv(1000)

    def become(self, **added):
        """Makes it the rank; returns its exit code, output and errors. If it refuses, `said` is why."""
        assert self.said == b"w"
        variables = {**self.variables, **added}
        self.ours.sendall(b"".join(f"{name}={value}\0".encode() for name, value in variables.items()) + b"\0")
        self.said = self.ours.recv(1000)
        if self.said == b"w":
            self.ours.sendall(b"r")
        return self.end()

    def end(self):
        self.ours.close()
        out, err = self.process.communicate(timeout=LIMIT_S)
        return self.process.returncode, out, err

    def plain(self, **added):
        """What Python itself does."""
        done = subprocess.run([*self.command, *self.words], cwd=self.folder, env={**self.variables, **added},
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("program, waits", [
    ("import torch", True),
    ("'''A text.'''\nfrom __future__ import annotations\nimport os, torch", True),
    ("from torch import VALUE", True),
    ("import json, xml.sax as sax\nfrom os import path\nimport torch\nimport mine", True),
    ("import os\nos.environ['SET'] = '1'\nimport torch", False),
    ("print()\nimport torch", False),
    ("import mine\nimport torch", False),
    ("import installed\nimport torch", False),
    ("from . import torch", False),
    ("import importlib.util\nimportlib.util.find_spec('torch')", False),
    ("try:\n    import torch\nexcept ImportError:\n    pass", False),
    ("if True:\n    import torch", False),
    ("def f():\n    import torch", False),
    ("import torch as a, mine as b", True),
    ("import mine as b, torch as a", False),
])
@pytest.mark.parametrize("kind", ["script", "module", "package"])
def test_only_what_the_program_imports_first_is_imported_ahead(tmp_path, site, program, waits, kind):
    (tmp_path / "mine.py").write_text("open('mine', 'a')\n")
    (site / "installed.py").write_text("")
    (site / "torch.py").write_text("open('torch', 'a').write('1')\nVALUE = 1\n")
    name = {"script": "train.py", "module": "pack/train.py", "package": "pack/__main__.py"}[kind]
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / "pack/__init__.py").write_text("import json\n") if kind != "script" else None
    (tmp_path / name).write_text(program + "\n")
    waiting = Waiting({"script": ["train.py"], "module": ["-m", "pack.train"], "package": ["-m", "pack"]}[kind], tmp_path)
    assert (waiting.said == b"w") == waits, waiting.said
    assert (tmp_path / "torch").exists() == waits
    assert not (tmp_path / "mine").exists(), "the user's module does not run ahead"
    if not waits:
        assert waiting.said.startswith(b"the program does something else before it imports one of ")
    assert waiting.end()[0] == 0


def test_what_a_package_does_comes_before_its_program(tmp_path, site):
    package = tmp_path / "pack"
    package.mkdir()
    (package / "__init__.py").write_text("import os\nos.environ['SET'] = '1'\n")
    (package / "__main__.py").write_text("import torch\n")
    waiting = Waiting(["-m", "pack"], tmp_path)
    assert waiting.said.startswith(b"the program does something else")
    waiting.end()


SHOWS_STATE = """
import torch, os, resource, signal, sys
handled = [line for line in open("/proc/self/status") if line.startswith("Sig")][2:]
print(os.umask(0), handled, signal.getsignal(signal.SIGTERM), sys.path, os.nice(0), os.sched_getaffinity(0))
print([resource.getrlimit(number) for number in range(16)], sys.argv, [repr(one)[:12] for one in sys.meta_path])
"""


@pytest.mark.parametrize("words", [["train.py", "-x"], ["-m", "train", "-x"]])
@pytest.mark.parametrize("module", [
    "os.umask(0)",
    "signal.signal(signal.SIGTERM, signal.default_int_handler)",
    "signal.signal(signal.SIGUSR1, signal.SIG_IGN)",
    "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
    "faulthandler.enable()",
    "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))",
    "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])",
    "os.nice(1)",
    "sys.path.append('/nowhere')",
    "sys.argv.append('y')",
    "print(sys.argv)",
    "os.environ.update(SET='1')",
    "sys.meta_path.insert(0, type('Finder', (), {'find_spec': lambda *_: None})())",
])
def test_the_effects_of_a_module_are_those_of_its_import(tmp_path, site, module, words):
    (site / "torch.py").write_text("import faulthandler, os, resource, signal, sys\n" + module + "\n")
    (tmp_path / "train.py").write_text(SHOWS_STATE)
    waiting = Waiting(words, tmp_path)
    assert waiting.become(RANK="1") == waiting.plain(RANK="1")
    assert waiting.said == b"w"


@pytest.mark.parametrize("module, said", [
    ("import json", "a module imports json, which is also a module of the user"),
    ("import train", "a module imports train, which is the program"),
    ("import venv.__main__", "a module imports venv.__main__, which is the program"),
    ("try:\n    import train\nexcept BaseException:\n    pass", "a module imports train, which is the program"),
    ("raise SystemExit(3)", "SystemExit(3)"),
    ("raise ValueError('x\\n')", "ValueError"),
    ("import missing_module", "ModuleNotFoundError"),
])
def test_a_module_that_runs_code_of_the_user_or_fails_is_not_imported_ahead(tmp_path, site, module, said):
    (tmp_path / "json.py").write_text("open('json', 'a')\n")
    (tmp_path / "train.py").write_text("open('train', 'a')\n")
    (site / "torch.py").write_text(module + "\n")
    waiting = Waiting(["train.py"], tmp_path, modules="torch")
    assert waiting.said.decode().startswith(said)
    assert waiting.end() == (0, "", "")
    assert not (tmp_path / "json").exists() and not (tmp_path / "train").exists(), "the user's modules do not run"


def test_modules_in_pythonpath_are_those_of_the_user(tmp_path, site):
    (tmp_path / "train.py").write_text("import torch\n")
    own, installed = tmp_path / "own", tmp_path / "site-packages"
    for folder in own, installed:
        folder.mkdir()
        (folder / "torch.py").write_text(f"open({str(folder / 'imported')!r}, 'a')\n")
    waiting = Waiting(["train.py"], tmp_path, PYTHONPATH=f"own:{installed}")
    assert waiting.said.startswith(b"the program does something else")
    assert waiting.end()[0] == 0
    waiting = Waiting(["train.py"], tmp_path, PYTHONPATH=str(installed))
    assert waiting.said == b"w"
    assert waiting.become()[0] == 0
    assert (installed / "imported").exists() and not (own / "imported").exists()


def test_a_module_that_leaves_a_thread_is_not_imported_ahead(tmp_path, site):
    (site / "torch.py").write_text("import threading, time\nthreading.Thread(target=time.sleep, args=(60,)).start()\n")
    (tmp_path / "train.py").write_text("import torch\n")
    waiting = Waiting(["train.py"], tmp_path)
    assert waiting.said == b"a module has started a thread"
    waiting.end()


STANDARD = ("ast", "contextlib", "fnmatch", "inspect", "ntpath", "pathlib", "runpy", "selectors", "signal", "subprocess", "token")


@pytest.mark.parametrize("name", STANDARD)
@pytest.mark.parametrize("variables", [{"PYTHONPATH": "."}, {}])
def test_a_module_of_the_user_that_is_named_as_a_standard_one_does_not_run_ahead(tmp_path, site, name, variables):
    (tmp_path / f"{name}.py").write_text("import os\nopen('ran', 'a').write(os.environ.get('RANK', 'ahead'))\n")
    (tmp_path / "train.py").write_text("'''A text.'''\nimport torch\n")
    waiting = Waiting(["train.py"], tmp_path, **variables)
    assert waiting.said in (b"w", f"a module imports {name}, which is also a module of the user".encode())
    waiting.end()
    assert not (tmp_path / "ran").exists()


def test_nothing_is_printed_ahead(tmp_path, site):
    (tmp_path / "train.py").write_text("import torch\nprint(len('\\d'))\n")
    waiting = Waiting(["train.py"], tmp_path, own=("-W", "default"))
    assert waiting.said == b"w"
    assert waiting.end() == (0, "", "")


def test_a_module_that_opens_a_device_is_not_imported_ahead(tmp_path, site):
    """A file stands in for the device."""
    device = tmp_path / "device0"
    device.write_text("")
    script = tmp_path / "run_python.py"
    script.write_text(RUN_PYTHON.read_text().replace('"/dev/nvidia"', repr(str(device))))
    (site / "torch.py").write_text(f"FILE = open({str(device)!r})\n")
    (tmp_path / "train.py").write_text("import torch\n")
    waiting = Waiting(["train.py"], tmp_path, script=script)
    assert waiting.said.decode() == f"a module opens {device} when it is imported"
    waiting.end()


def test_what_a_module_starts_cannot_pass_variables(tmp_path, site):
    (site / "torch.py").write_text("import os\nos.system('ls -l /proc/self/fd > files')\n")
    (tmp_path / "train.py").write_text("import torch\n")
    waiting = Waiting(["train.py"], tmp_path)
    assert waiting.said == b"w"
    waiting.end()
    assert "socket" not in (tmp_path / "files").read_text()


SHOWS = ("import torch, os, sys\nprint(torch.VALUE, torch.BY, os.getcwd(), os.umask(0), os.environ['RANK'], sys.argv, "
         "__file__, sys.path[0])\n")


@pytest.mark.parametrize("module, name", [
    ("VALUE = os.environ.get('RANK')", "RANK"),
    ("VALUE = os.getenv('RANK')", "RANK"),
    ("VALUE = os.environb.get(b'RANK')", "RANK"),
    ("VALUE = 'RANK' in os.environ", "RANK"),
    ("VALUE = os.environ.copy().get('RANK')", "MASTER_PORT"),
    ("VALUE = ','.join(n for n in os.environ if 'RA' in n)", "MASTER_PORT"),
    ("VALUE = dict(os.environ.items()).get('RANK')", "MASTER_PORT"),
    ("os.environ['RANK'] = 'x'\nVALUE = 1", "RANK"),
    ("os.environ.pop('RANK', None)", "RANK"),
    ("try:\n    del os.environ['RANK']\nexcept KeyError:\n    pass", "RANK"),
    ("os.unsetenv('RANK')", "RANK"),
    ("os.putenv('RANK', 'x')", "RANK"),
    ("VALUE = len(os.environ)", "MASTER_PORT"),
    ("VALUE = repr(os.environ)", "MASTER_PORT"),
    ("os.environ.setdefault('OTHER', 'x')\nVALUE = os.environ['AUTODIST_LOCAL_RANK'] + os.environ['OTHER']", ""),
    ("VALUE = os.environ.get('LOCAL_RANK', 'none')", ""),
])
def test_a_module_that_read_a_variable_of_the_attempt_is_not_used(tmp_path, site, module, name):
    (site / "torch.py").write_text(TORCH + module + "\n")
    (tmp_path / "train.py").write_text(SHOWS)
    waiting = Waiting(["train.py", "-x", "y"], tmp_path)
    added = {"RANK": "1", "MASTER_PORT": "2"}
    done = waiting.become(**added)
    if name:
        assert waiting.said.decode() == f"a module read or set the variable {name} when it was imported"
        assert done == (0, "", "")
    else:
        assert waiting.said == b"w"
        assert done[1].split()[1] == str(waiting.process.pid)
        plain = waiting.plain(**added)[1].split(" ")
        assert [word for at, word in enumerate(done[1].split(" ")) if at != 1] == plain[:1] + plain[2:]


@pytest.mark.parametrize("file, text, name", [
    ("sitecustomize.py", "import builtins, os\nbuiltins.SEEN = os.environ.get('RANK')\n", "RANK"),
    ("usercustomize.py", "import builtins, os\nbuiltins.SEEN = os.environ.get('RANK')\n", "RANK"),
    ("some.pth", "import builtins, os; builtins.SEEN = os.environ.get('RANK')\n", "RANK"),
    ("some.pth", "import builtins, os; builtins.SEEN = os.environ.get('HOME'); print('text')\n", ""),
])
def test_what_is_read_before_the_program_counts_too(tmp_path, site, file, text, name):
    folder = tmp_path / "first"  # before Debian's own sitecustomize.py
    folder.mkdir()
    (folder / file if file == "sitecustomize.py" else site / file).write_text(text)
    (tmp_path / "train.py").write_text("import torch\nprint(SEEN)\n")
    waiting = Waiting(["train.py"], tmp_path, PYTHONPATH=str(folder), HOME="/")
    done = waiting.become(RANK="1")
    assert waiting.said.decode() == (f"a module read or set the variable {name} when it was imported" if name else "w")
    assert done == ((0, "", "") if name else waiting.plain(RANK="1"))


CHANGED = pytest.mark.parametrize("file, words", [("torch.py", ["train.py"]), ("train.py", ["train.py"]), ("train.py", ["-m", "train"])])


@CHANGED
def test_a_file_that_changed_while_modules_were_imported_is_not_used(tmp_path, site, file, words):
    path = {"torch.py": site, "train.py": tmp_path}[file] / file
    (tmp_path / "train.py").write_text("import torch\nprint(torch.VALUE)\n")
    (site / "torch.py").write_text(f"VALUE = 1\nopen({str(path)!r}, 'a').write('#')\n")
    waiting = Waiting(words, tmp_path)
    assert waiting.become(RANK="1") == (0, "", "")
    assert waiting.said.decode() == f"{path} has changed"


@CHANGED
def test_a_file_that_has_changed_is_not_used(tmp_path, site, file, words):
    (tmp_path / "train.py").write_text("import torch\nprint(torch.VALUE)\n")
    waiting = Waiting(words, tmp_path)
    path = {"torch.py": site, "train.py": tmp_path}[file] / file
    path.write_text(path.read_text() + "#\n")
    assert waiting.become(RANK="1") == (0, "", "")
    assert waiting.said.decode() == f"{path} has changed"


def test_a_program_that_is_gone_is_not_run(tmp_path, site):
    (tmp_path / "train.py").write_text("import torch\n")
    waiting = Waiting(["train.py"], tmp_path)
    (tmp_path / "train.py").unlink()
    assert waiting.become() == (0, "", "")
    assert waiting.said.decode() == f"{tmp_path / 'train.py'} has changed"


def test_a_module_of_the_user_that_was_written_meanwhile_is_found(tmp_path, site):
    (site / "torch.py").write_text("import json\n")
    (tmp_path / "train.py").write_text("import torch, json\n")
    waiting = Waiting(["train.py"], tmp_path)
    (tmp_path / "json.py").write_text("")
    waiting.become(RANK="1")
    assert waiting.said == b"a module imports json, which is also a module of the user"


@pytest.mark.parametrize("module", ["mine", "torch"])
def test_a_folder_that_was_made_meanwhile_is_found(tmp_path, site, module):
    (tmp_path / "train.py").write_text("import torch\nimport mine\nprint(mine.VALUE)\n")
    waiting = Waiting(["train.py"], tmp_path, PYTHONPATH=str(tmp_path / "later"))
    (tmp_path / "later").mkdir()
    (tmp_path / f"later/{module}.py").write_text("VALUE = 1\n")
    assert waiting.become(RANK="1") == ((0, "1\n", "") if module == "mine" else (0, "", ""))
    assert waiting.said == (b"w" if module == "mine" else b"a module imports torch, which is also a module of the user")


@pytest.mark.parametrize("module", ["", "import os; os.chdir('/')"])
def test_the_program_runs_in_the_folder_that_a_new_start_would_have(tmp_path, site, module):
    """A link to the current release of a program, for example."""
    folder = tmp_path / "current"
    folder.mkdir()
    (tmp_path / "train.py").write_text("import torch\n")
    (site / "torch.py").write_text(module)
    waiting = Waiting([str(tmp_path / "train.py")], folder, PYTHONUSERBASE=str(tmp_path / "base"))
    if not module:
        folder.rename(tmp_path / "old")
        folder.mkdir()
    waiting.become(RANK="1")
    assert waiting.said == b"the working directory has changed"


@pytest.mark.parametrize("sent", [b"RANK=1\0WORLD", b"RANK=1\0", b"RANK=1\0\0"])
def test_the_program_does_not_run_without_the_order(tmp_path, site, sent):
    """The agent ends, or is to end, before it has sent the variables, or while they are checked."""
    (tmp_path / "train.py").write_text("import torch\nopen('ran', 'a')\n")
    waiting = Waiting(["train.py"], tmp_path)
    waiting.ours.sendall(sent)
    assert waiting.ours.recv(1000) == b"w" if sent.endswith(b"\0\0") else True
    waiting.end()
    assert not (tmp_path / "ran").exists()


PROGRAMS = {
    "paths": "import os, sys\nprint(sys.argv, sys.path, __name__, __file__, getattr(sys, 'orig_argv', 0), sys.flags)\n"
             "print(os.getcwd(), sorted(os.environ.items()))\n"
             "print([n for n in os.listdir('/proc/self/fd') if 'socket:' in os.path.realpath('/proc/self/fd/' + n)])\n",
    "signals": "import os, signal\nprint([signal.getsignal(n) for n in range(1, 65)], os.umask(0))\n"
               "print([line for line in open('/proc/self/status') if line.startswith('Sig')][2:])\n",
    "meta path": "import os, sys\nprint([type(f) for f in sys.meta_path if f.__class__ is not type], os.environ.__class__,"
                 " type(os.environ).__getitem__.__name__, type(os.environ).__iter__.__name__)\n",
    "traceback": "def f():\n    raise ValueError('x')\n\n\ntry:\n    f()\nexcept ValueError as error:\n"
                 "    raise RuntimeError('y') from error\n",
    "syntax error": "print('x'\n",
    "exit with a text": "import sys\nsys.exit('no')\n",
    "exit code": "import atexit, sys\natexit.register(print, 'at exit')\nsys.exit(7)\n",
    "excepthook": "import sys\nsys.excepthook = lambda *what: print('hook', what[0])\n1 / 0\n",
    "pickle": "import pickle\n\n\nclass A:\n    pass\n\n\nprint(type(pickle.loads(pickle.dumps(A()))))\n",
    "spawned": "import multiprocessing as mp\n\n\ndef f(x):\n    print('child', x, __name__, flush=True)\n\n\n"
               "if __name__ == '__main__':\n    p = mp.get_context('spawn').Process(target=f, args=(1,))\n"
               "    p.start()\n    p.join()\n    print(p.exitcode)\n",
    "thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('last'))).start()\n1 / 0\n",
    "names": "import sys\nprint(sorted(globals()), __annotations__, sys.modules['__main__'].__dict__ is globals())\n",
    "interrupt": "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n",
    "inspect": "import inspect\n\n\ndef f():\n    return 1\n\n\nprint(inspect.getsource(f), __builtins__, __spec__ and __spec__.name)\n",
}


@pytest.mark.parametrize("own", [(), ("-Ou", "-W", "error", "-X", "utf8"), ("-I",)])
@pytest.mark.parametrize("words", [["program.py"], ["-m", "program"], ["./program.py"]])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_as_in_python(tmp_path, name, words, own):
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    waiting = Waiting([*words, "-x", "y"], tmp_path, modules="wave", own=own)
    if name == "syntax error" or (own == ("-I",) and "-m" in words):  # which has no such module
        assert waiting.said.startswith(b"SyntaxError") or "-I" in own
        waiting.end()
        return
    plain, warm = waiting.plain(RANK="1"), waiting.become(RANK="1")
    assert warm[:2] == plain[:2]
    assert warm[2].splitlines()[-1:] == plain[2].splitlines()[-1:]
