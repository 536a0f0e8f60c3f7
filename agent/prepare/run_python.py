"""Runs a program as Python itself would, with modules that were imported ahead (--warm).

    python [OPTIONS] run_python.py FD MODULES (SCRIPT | -m MODULE) [ARGUMENT]...

Imports MODULES, such as "torch,flash_attn", and the frameworks that the program imports before it does anything
else. Then it writes "w" to the descriptor FD, reads the rank's variables from there, and runs the program. If the
program could notice a difference, it writes the reason to FD and ends; once it has the variables, it executes this
Python without this script. Without arguments it prints which variables `site` reads. For Python 3.6 and later.
"""

import ast
import importlib
import os
import runpy
import signal
import subprocess
import sys
import types
from importlib.machinery import PathFinder, SourceFileLoader

# A program cannot notice that they were imported ahead. Not paddle: it handles SIGTERM from then on.
FRAMEWORKS = ("jax", "mindspore", "numpy", "tensorflow", "torch")
STANDARD = getattr(sys, "stdlib_module_names", ())  # since Python 3.10; before that, modules must be named
DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/render", "/dev/davinci", "/dev/accel")


class StartsCold(BaseException):
    """Why the rank must start in the usual way. Modules handle an Exception."""


def content(path):
    with open(path, "rb") as file:
        return file.read()


def record_reads():
    """Returns the set of the variables that are read from now on, b"*" for all, and what undoes it."""
    kind, names = type(os.environ), set()
    get, listing = kind.__getitem__, kind.__iter__
    kind.__getitem__ = lambda environ, name: names.add(os.fsencode(name)) or get(environ, name)
    kind.__iter__ = lambda environ: names.add(b"*") or listing(environ)
    return names, lambda: (setattr(kind, "__getitem__", get), setattr(kind, "__iter__", listing))


def print_reads_of_site():
    import site
    names, _ = record_reads()
    site.main()
    sys.stdout.buffer.write(b"\n\n" + b"\0".join(names))


def is_in(folders, name):
    spec = PathFinder.find_spec(name, folders)  # executes nothing
    return spec is not None and spec.has_location


def files_of(program):
    """The program's files in the order in which they run."""
    if program[0] != "-m":
        return [program[0]]
    files, places, parts = [], sys.path, program[1].split(".") + ["__main__"]
    for end in range(1, len(parts) + 1):
        spec = places and PathFinder.find_spec(".".join(parts[:end]), places)
        files += [spec.origin] if spec and spec.has_location else []
        places = spec and spec.submodule_search_locations
    return files


def first_frameworks(files, own):
    """The frameworks that are imported before anything but the standard library can have an effect."""
    for path in files:
        tree = ast.parse(content(path))
        for statement in tree.body[ast.get_docstring(tree) is not None:]:
            if not isinstance(statement, (ast.Import, ast.ImportFrom)) or getattr(statement, "level", 0):
                return
            for alias in statement.names:
                name = (getattr(statement, "module", None) or alias.name).split(".")[0]
                if is_in(own, name) or name not in FRAMEWORKS + tuple(STANDARD):
                    return
                if name in FRAMEWORKS:
                    yield name


def state():
    """What a program may find out about its process when it begins."""
    status = dict(line.split(b":", 1) for line in content("/proc/self/status").splitlines())
    # Without the signals 32 and 33, which the C library uses.
    masks = [int(status[name], 16) & ~(3 << 31) for name in (b"SigBlk", b"SigIgn", b"SigCgt")]
    return {"the arguments": content("/proc/self/cmdline"), "the working directory": os.readlink("/proc/self/cwd"),
            "signals": (masks, [signal.getsignal(number) for number in range(1, signal.NSIG)]),
            "the umask": status.get(b"Umask"), "the CPUs": status[b"Cpus_allowed"],
            "limits": content("/proc/self/limits"), "sys.path": list(sys.path)}


def import_ahead(modules, program, own):
    """Returns the variables that were read. `own`: folders with modules of the user, which do not run."""
    name_of_program = (program[1] if program[0] == "-m" else os.path.basename(program[0])).split(".")[0]
    refused = []

    def refuse(name, path=None, target=None):
        if name.split(".")[0] == name_of_program or name.endswith("__main__"):
            refused.append(name)
            raise StartsCold("a module imports {}, which is the program".format(name))

    path, guard = list(sys.path), types.SimpleNamespace(find_spec=refuse)
    sys.path[:] = [folder for folder in path if folder not in own]
    before = state()
    sys.meta_path.insert(0, guard)
    reads, end_recording = record_reads()
    for name in modules:
        importlib.import_module(name)
    end_recording()
    sys.meta_path.remove(guard)
    after = state()
    changed = [what for what in before if after[what] != before[what]]
    if changed:
        raise StartsCold("a module changes {} when it is imported".format(changed[0]))
    sys.path[:] = path
    for number in os.listdir("/proc/self/fd"):
        link = "/proc/self/fd/" + number
        if os.path.lexists(link) and os.readlink(link).startswith(DEVICES):
            raise StartsCold("a module opens {} when it is imported".format(os.readlink(link)))
    early = {"__main__", "sitecustomize", "usercustomize"}
    hidden = [name for name in {name.split(".")[0] for name in sys.modules} - early if is_in(own, name)]
    if hidden or refused:
        raise StartsCold("a module imports {}, which is {}".format(
            (hidden + refused)[0], "also a module of the user" if hidden else "the program"))
    return reads


def state_of(path):
    found = os.path.exists(path) and os.stat(path)
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)


def difference(added, used, files):
    """Why a Python that starts now would differ; "": it would not. `added`: variables that it would have."""
    for name in sorted(added):
        if name in used or b"*" in used:
            return "a module read or set the variable {} when it was imported".format(os.fsdecode(name))
    changed = [path for path in sorted(files) if state_of(path) != files[path]]
    return changed[0] + " has changed" if changed else ""


def variables_in(data):
    return dict(variable.split(b"=", 1) for variable in data.split(b"\0") if b"=" in variable)


def prepare(named, program, options):
    """Imports modules; returns the variables that they read, and the files that they are from."""
    places = os.environ.get("PYTHONPATH")
    own = [os.path.abspath(place) for place in (places.split(":") if places else ())
           if not place.rstrip("/").endswith("-packages")]
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        sys.path[0] = os.getcwd() if program[0] == "-m" else os.path.dirname(os.path.realpath(program[0]))
        own.append(sys.path[0])
    files = files_of(program)
    modules = named + list(first_frameworks(files, own))
    if not modules:
        raise StartsCold("the program does something else before it imports one of {}; hint: name modules, as in "
                         "--warm=torch".format(", ".join(FRAMEWORKS)))
    reads = import_ahead(modules, program, own)
    if not sys.flags.no_site:  # what sitecustomize and .pth files read, which have run before this script
        found = subprocess.check_output([sys.executable, "-S", *options, __file__])
        reads.update(found.rpartition(b"\n\n")[2].split(b"\0"))
    paths = [getattr(module, "__file__", None) for module in list(sys.modules.values())] + files
    return reads, {path: state_of(path) for path in paths if isinstance(path, str)}


def wait(fd, named, program, command):
    """Waits for the variables of the rank, and sets them. `command`: of this Python, without this script."""
    os.set_inheritable(fd, False)
    try:
        reads, files = prepare(named, program, command[1:-len(program)])
    except BaseException as error:
        reason = str(error) if isinstance(error, StartsCold) else repr(error)
        os.write(fd, reason.encode("utf-8", "replace")[:500])
        os._exit(0)
    os.write(fd, b"w")
    with os.fdopen(fd, "rb") as file:
        variables = variables_in(file.read())
    if not variables:
        os._exit(0)
    old = variables_in(content("/proc/self/environ"))
    added = {name: value for name, value in variables.items() if name not in old}
    why = difference(added, reads.union(os.environb), files)
    if why:
        if variables.get(b"AUTODIST_LOCAL_RANK") == b"0":  # all ranks of a node would say it
            print("autodist: --warm: Python starts again: " + why, file=sys.stderr, flush=True)
        os.execve(sys.executable, command, {**old, **added})
    os.environb.update(added)


def begin():
    fd, named, *program = sys.argv[1:]
    command = content("/proc/self/cmdline").split(b"\0")[:-1]
    at = len(command) - len(sys.argv)
    if hasattr(sys, "orig_argv"):
        del sys.orig_argv[at:at + 3]
    sys.argv[:] = program
    # Modules may look at it when they are imported.
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]
    if program[0] != "-m":
        main.__file__ = os.path.join(os.getcwd(), program[0]) if sys.version_info >= (3, 9) else program[0]
        main.__cached__, main.__loader__ = None, SourceFileLoader("__main__", main.__file__)
    wait(int(fd), named.split(",") if named else [], program, command[:at] + command[at + 3:])
    if program[0] == "-m":
        sys.argv[:] = program[1:]
        runpy._run_module_as_main(program[1])
    else:
        exec(compile(content(main.__file__), main.__file__, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    begin() if len(sys.argv) > 1 else print_reads_of_site()
