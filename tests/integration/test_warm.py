"""--warm: Pythons that wait for a restart, and the program that runs them and the ranks."""

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

RUN_PYTHON = Path(__file__).resolve().parents[2] / "agent/prepare/run_python.py"
PYTHON = "/usr/bin/python3"
FAILS_ONCE = """
import os, signal, sys, time
import {module}
attempt = int(os.environ["AUTODIST_RESTART_COUNT"])
print(f"attempt {{attempt}} has {{{module}.VALUE}} imported by {{{module}.BY == os.getpid()}}", flush=True)
for step in range(1, 1000):
    print(f"step {{step}}/1000", flush=True)
    time.sleep(0.1)
    waiting = open(os.environ["IMPORTS"]).read().count("\\n") - attempt > 1
    if waiting and attempt == 0:
        {before}
        time.sleep(1)  # until it waits
        os.kill(os.getpid(), signal.SIGKILL)
    if attempt == 1:
        sys.exit(0)
"""


@pytest.fixture
def site(tmp_path):
    """A folder of installed modules, as pip install --user has it."""
    base = tmp_path / "base"
    path = subprocess.run([PYTHON, "-m", "site", "--user-site"], env={"PYTHONUSERBASE": str(base)},
                          capture_output=True, text=True, check=True).stdout.strip()
    Path(path).mkdir(parents=True)
    return base, Path(path)


def run(autodist, tmp_path, site, module, before="pass", name="some_module"):
    base, folder = site
    imports = tmp_path / "imports"
    (folder / f"{name}.py").write_text(
        "import os\nBY = os.getpid()\nVALUE = 1\n"
        "open(os.environ['IMPORTS'], 'a').write(f'{BY}\\n')\n" + module)
    (tmp_path / "train.py").write_text(FAILS_ONCE.format(module=name, before=before))
    outcome = autodist("run", "--max-restarts", "1", "--warm", "--env", f"PYTHONUSERBASE={base}", "--env",
                       f"IMPORTS={imports}", "--", PYTHON, "train.py")
    assert outcome.code == 0, outcome.err
    return outcome, imports.read_text().split()


def test_a_restart_continues_in_the_python_that_waited(autodist, tmp_path, site):
    outcome, imports = run(autodist, tmp_path, site, "")
    assert "attempt 1 has 1 imported by True" in outcome.out
    assert len(imports) >= 2, "one by the first attempt, one while it ran"
    assert "starts again" not in outcome.err


def test_a_module_that_read_a_changed_variable_is_imported_again(autodist, tmp_path, site):
    outcome, _ = run(autodist, tmp_path, site, "VALUE = 'R' + os.environ['AUTODIST_RESTART_COUNT']\n")
    assert "attempt 1 has R1 imported by True" in outcome.out
    assert ("autodist: --warm: Python starts again: a module read the variable AUTODIST_RESTART_COUNT when it was "
            "imported") in outcome.err


def test_a_module_that_has_changed_is_imported_again(autodist, tmp_path, site):
    outcome, _ = run(autodist, tmp_path, site, "",
                     before="open(some_module.__file__, 'a').write('VALUE = 2\\n')")
    assert "attempt 1 has 2 imported by True" in outcome.out
    assert "some_module.py has changed" in outcome.err


def test_modules_of_the_user_do_not_run_ahead(autodist, tmp_path, site):
    (tmp_path / "mine.py").write_text("import os\nopen(f'mine-{os.getpid()}', 'w')\n")
    outcome, _ = run(autodist, tmp_path, site, "import mine\n")
    assert "attempt 1 has 1 imported by True" in outcome.out
    (tmp_path / "train.py").write_text("import mine\n" + FAILS_ONCE.format(module="some_module", before="pass"))
    for path in tmp_path.glob("mine-*"):
        path.unlink()
    outcome = autodist("run", "--max-restarts", "1", "--warm", "--env", f"PYTHONUSERBASE={site[0]}", "--env",
                       f"IMPORTS={tmp_path / 'imports'}", "--", PYTHON, "train.py")
    assert outcome.code == 0, outcome.err
    assert len(list(tmp_path.glob("mine-*"))) == 2, "once per attempt"


@pytest.mark.parametrize("words, said", [
    (["--max-restarts", "1", "--warm", "--", "./train"], "--warm needs a program that begins like"),
    (["--max-restarts", "1", "--warm", "--", "python3", "-c", "pass"], "--warm needs a program that begins like"),
    (["--warm", "--", "python3", "train.py"], "--warm is for restarts; it needs --max-restarts"),
])
def test_what_cannot_wait_is_refused(autodist, words, said):
    outcome = autodist("run", *words)
    assert outcome.code == 2
    assert said in outcome.err


PROGRAMS = {
    "paths": "import sys\nprint(sys.argv, sys.path[0], __name__, __file__, getattr(sys, 'orig_argv', 0))\n",
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
    "inspect": "import inspect\n\n\ndef f():\n    return 1\n\n\nprint(inspect.getsource(f), __builtins__, __spec__ and __spec__.name)\n",
}


def both(words, folder, own=()):
    """The outcomes of Python itself, and of run_python.py."""
    def outcome(*before):
        done = subprocess.run([PYTHON, *own, *before, *words], cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr
    return outcome(), outcome(str(RUN_PYTHON), str(folder / "record"))


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_script_runs_as_in_python(tmp_path, name):
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    plain, ours = both(["program.py", "-x", "y"], tmp_path)
    assert ours == plain


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_module_runs_as_in_python(tmp_path, name):
    (tmp_path / "program.py").write_text(PROGRAMS[name])
    plain, ours = both(["-m", "program", "-x", "y"], tmp_path)
    # Errors in a module have frames of runpy in both.
    assert ours[:2] == plain[:2]
    assert ours[2].splitlines()[-1:] == plain[2].splitlines()[-1:]


def test_options_and_missing_files_are_as_in_python(tmp_path):
    plain, ours = both(["no.py"], tmp_path)
    assert ours == plain
    (tmp_path / "program.py").write_text("import sys\nassert False\nprint(sys.flags)\n")
    plain, ours = both(["program.py"], tmp_path, own=["-Ou", "-W", "error", "-X", "utf8"])
    assert ours == plain


@pytest.fixture
def in_waiting(tmp_path, site):
    """Runs train.py in a Python that waited: returns its output, and what it wrote to stderr."""
    base, _ = site
    variables = {"PYTHONUSERBASE": str(base), "AUTODIST_LOCAL_RANK": "0", "RANK": "0"}

    def run_train(program=RUN_PYTHON, **changes):
        command = [PYTHON, str(program), "record", "train.py"]
        if not (tmp_path / "record").exists():
            subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, check=True)
        gate, ours = socket.socketpair()
        waiting = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   pass_fds=[gate.fileno()],
                                   env={**variables, "AUTODIST_WARM_FD": str(gate.fileno())})
        gate.close()
        with ours:
            ours.settimeout(60)
            assert ours.recv(1) == b"w"
            ours.sendall(b"".join(f"{name}={value}\0".encode() for name, value in {**variables, **changes}.items()))
        return waiting.communicate(timeout=60)
    return run_train


def test_a_module_that_opens_a_device_is_left_out(tmp_path, site, in_waiting):
    """A file stands in for the device."""
    device = tmp_path / "device0"
    device.write_text("")
    program = tmp_path / "run_python.py"
    program.write_text(RUN_PYTHON.read_text().replace('"/dev/nvidia"', repr(str(device))))
    (site[1] / "opener.py").write_text(f"FILE = open({str(device)!r})\n")
    (site[1] / "harmless.py").write_text("")
    (tmp_path / "record").write_text("opener -\nharmless -\n")
    (tmp_path / "train.py").write_text("import sys\nprint('opener' in sys.modules, 'harmless' in sys.modules)\n")
    out, err = in_waiting(program)
    assert out == "False True\n"
    assert f"a restart will import opener later, because it opens {device}" in err


ALL = "early late wave"


@pytest.mark.parametrize("change, ahead", [
    ("import changes", ALL),
    ("os.environ['OTHER'] = '1'", "early"),
    ("os.environ.pop('RANK')", "early"),
    ("sys.path.append('/nowhere')", "early"),
    ("import mine", "early"),
    ("import changes\nos.environ['OTHER'] = '2'", "early"),
    ("os.environ['OTHER'] = '1'\nimport late\ndel os.environ['OTHER']", "early wave"),
    ("import importlib.util\nimportlib.util.find_spec('late')\nos.environ['OTHER'] = '1'", "early"),
    ("os.environ = dict(os.environ)", "early"),
])
def test_modules_are_imported_ahead_in_the_same_surroundings(tmp_path, site, in_waiting, change, ahead):
    (tmp_path / "mine.py").write_text("import os\nos.environ['OTHER'] = '1'\n")
    for name, text in {"early": "", "late": "import json.tool\n", "after": "import os\nos.environ['AFTER'] = '1'\n",
                       "changes": "import os\nos.environ['OTHER'] = '1'\nimport after\n"}.items():
        (site[1] / f"{name}.py").write_text(text)
    (tmp_path / "train.py").write_text(
        f"import os, sys\nprint(*sorted(set({ALL.split()}).intersection(sys.modules)))\n"
        f"import early\n{change}\nimport late, wave\n")
    out, err = in_waiting()
    assert out == ahead + "\n"
    assert ("because the program changes variables or sys.path before that" in err) == (ahead != ALL)


def test_a_module_may_look_for_variables_with_a_beginning(tmp_path, site, in_waiting):
    package = site[1] / "networkx/utils"
    package.mkdir(parents=True)
    for folder in package, package.parent:
        (folder / "__init__.py").write_text("")
    (package / "backends.py").write_text(
        "import os\nFOUND = {name: value for name, value in os.environ.items() if name.startswith('NETWORKX_')}\n"
        "ONE = os.environ.get('NETWORKX_ONE')\nOTHER = 'SOMETHING' in os.environ\n")
    (tmp_path / "train.py").write_text(
        "import sys\nahead = 'networkx.utils.backends' in sys.modules\nimport networkx.utils.backends as backends\n"
        "print(ahead, backends.FOUND, backends.ONE)\n")
    assert in_waiting(RANK="1", OTHER="2") == ("True {} None\n", "")
    for name in "NETWORKX_ONE", "NETWORKX_TWO", "SOMETHING":
        out, err = in_waiting(**{name: "1"})
        assert out.startswith("False")
        assert f"a module read the variable {name} when it was imported" in err


@pytest.mark.parametrize("reads", ["os.environ.copy()['RANK']", "[name for name in os.environ if 'RA' in name]",
                                   "[value for name, value in os.environ.items() if name.startswith('RA')]"])
def test_other_modules_that_list_variables_have_read_all(tmp_path, site, in_waiting, reads):
    (site[1] / "lists.py").write_text(f"import os\nREAD = {reads}\n")
    (tmp_path / "train.py").write_text("import sys\nprint('lists' in sys.modules)\nimport lists\n")
    assert in_waiting() == ("True\n", "")
    out, err = in_waiting(RANK="1", RAM="1")
    assert out == "False\n"
    assert "a module read the variable RA" in err
