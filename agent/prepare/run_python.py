"""Runs a program as Python itself would, with modules that were imported ahead (--warm).

    python [OPTIONS] run_python.py FD MODULES FOLDER (SCRIPT | -m MODULE) [ARGUMENT]...

Imports MODULES, such as "torch,flash_attn", and the frameworks that the program imports before it does anything
else. Then it writes "w" to the socket FD, reads the rank's variables from there, writes "w" again, reads "r", and runs
the program in FOLDER. If the program could notice that modules were imported ahead, it instead writes the reason, and
is killed. Without arguments it prints which variables `site` reads. For Python 3.6 and later.
"""

import sys

PLACES = sys.path[:]
LIBRARY = sys.modules["encodings"].__path__[0].rpartition("/")[0]
# Before it are modules of the user, which may have the names of these.
sys.path[:] = PLACES[LIBRARY in PLACES and PLACES.index(LIBRARY):]

import ast  # noqa: E402
import importlib  # noqa: E402
import os  # noqa: E402
import runpy  # noqa: E402
import subprocess  # noqa: E402
import warnings  # noqa: E402
from importlib.machinery import PathFinder, SourceFileLoader  # noqa: E402

sys.path[:] = PLACES

# Not paddle, whose import reads PADDLE_TRAINER_ID.
FRAMEWORKS = ("jax", "mindspore", "numpy", "tensorflow", "torch")
STANDARD = getattr(sys, "stdlib_module_names", ())  # since Python 3.10; before that, modules must be named
DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/render", "/dev/davinci", "/dev/accel")


class StartsCold(BaseException):
    """Why the rank must start in the usual way. Modules handle an Exception."""


def record_uses():
    """Returns the set of the variables that are read or set from now on, b"*" for all, and what undoes it."""
    names, originals = set(), []

    def record(owner, function, position):
        original = getattr(owner, function)
        originals.append((owner, function, original))
        setattr(owner, function, lambda *given: names.add(
            os.fsencode(given[position]) if len(given) > position else b"*") or original(*given))

    for method in "__getitem__", "__delitem__", "__iter__", "__len__", "__repr__":
        record(type(os.environ), method, 1)
    record(os, "putenv", 0)
    record(os, "unsetenv", 0)
    return names, lambda: [setattr(*each) for each in originals]


def print_reads_of_site():
    import site
    names, _ = record_uses()
    site.main()
    sys.stdout.buffer.write(b"\n\n" + b"\0".join(names))


def origin_in(folders, name):
    """The module's file; None: it is not in the folders."""
    spec = PathFinder.find_spec(name, folders)  # executes nothing
    return spec.origin if spec and spec.has_location else None


def folders_of_user(program):
    """The folders with modules of the user, which never run ahead; completes sys.path."""
    places = os.environ.get("PYTHONPATH")
    own = [os.path.abspath(place) for place in (places.split(":") if places else ())
           if not place.rstrip("/").endswith("-packages")]
    if not (getattr(sys.flags, "safe_path", False) or sys.flags.isolated):
        sys.path[0] = os.getcwd() if program[0] == "-m" else os.path.dirname(os.path.realpath(program[0]))
        own.append(sys.path[0])
    return own


def files_of(program):
    """The program's files in the order in which they run."""
    if program[0] != "-m":
        return [os.path.join(os.getcwd(), program[0])]
    files, places, parts = [], sys.path, program[1].split(".") + ["__main__"]
    for end in range(1, len(parts) + 1):
        spec = places and PathFinder.find_spec(".".join(parts[:end]), places)
        files += [spec.origin] if spec and spec.has_location else []
        places = spec and spec.submodule_search_locations
    return files


def first_frameworks(files, own):
    """The frameworks that are imported before anything but the standard library can have an effect."""
    for path in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(bytes_of(path))
        for statement in tree.body[ast.get_docstring(tree, clean=False) is not None:]:
            if not isinstance(statement, (ast.Import, ast.ImportFrom)) or getattr(statement, "level", 0):
                return
            for alias in statement.names:
                name = (getattr(statement, "module", None) or alias.name).split(".")[0]
                if origin_in(own, name) or name not in FRAMEWORKS + tuple(STANDARD):
                    return
                if name in FRAMEWORKS:
                    yield name


def import_ahead(modules, program, own, states):
    """Returns the variables that modules use; runs nothing of the user. Adds the files' states before they run."""
    name_of_program = (program[1] if program[0] == "-m" else os.path.basename(program[0])).split(".")[0]
    refused = []

    def refuse(name, path=None, target=None):
        of_program = name.split(".")[0] == name_of_program or name.endswith("__main__")
        if of_program or path is None and origin_in(own, name):
            refused.append("a module imports {}, which is {}".format(
                name, "the program" if of_program else "also a module of the user"))
            raise StartsCold(refused[0])
        spec = PathFinder.find_spec(name, path)
        if spec and spec.has_location:
            states.setdefault(spec.origin, state_of(spec.origin))

    refuse.find_spec = refuse
    sys.meta_path.insert(0, refuse)
    uses, end_recording = record_uses()
    for name in modules:
        __import__(name)
    end_recording()
    sys.meta_path.remove(refuse)
    opened = [os.path.realpath("/proc/self/fd/" + number) for number in os.listdir("/proc/self/fd")]
    refused += ["a module opens {} when it is imported".format(path) for path in opened if path.startswith(DEVICES)]
    if refused:
        raise StartsCold(refused[0])
    return uses


def state_of(path):
    found = os.path.exists(path) and os.stat(path)
    return found and (found.st_ino, found.st_size, found.st_mtime_ns)


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def check_names(own):
    """Refuses if the program would import modules of the user instead of those that have been imported."""
    for name, module in list(sys.modules.items()):
        origin = None if "." in name or name == "__main__" else origin_in(own, name)
        if origin not in (None, getattr(module, "__file__", None)):
            raise StartsCold("a module imports {}, which is also a module of the user".format(name))


def check(added, used, own, states, folder):
    """Refuses if a Python that starts now would differ. `added`: variables that it would have."""
    for name in sorted(added):
        if name in used or b"*" in used:
            raise StartsCold("a module read or set the variable {} when it was imported".format(os.fsdecode(name)))
    for path in sorted(states):
        if state_of(path) != states[path]:
            raise StartsCold(path + " has changed")
    if not os.path.samefile(folder, "."):
        raise StartsCold("the working directory has changed")
    sys.path_importer_cache.clear()  # has no folders that were made meanwhile
    importlib.invalidate_caches()
    check_names(own)


def read(fd):
    """Ends the process if no rank is to continue here."""
    return os.read(fd, 1 << 16) or os._exit(0)


def wait(fd, named, folder, program):
    """Returns the variables that only the rank has."""
    before = set(os.environb)
    own = folders_of_user(program)
    check_names(own)
    files = files_of(program)
    states = {path: state_of(path) for path in files}
    if program[0] == "-m":
        sys.argv[:1] = files[-1:]
    modules = named + list(first_frameworks(files, own))
    if not modules:
        raise StartsCold("the program does something else before it imports one of {}; hint: name modules, as in "
                         "--warm=torch".format(", ".join(FRAMEWORKS)))
    uses = import_ahead(modules, program, own, states)
    if not sys.flags.no_site:  # what sitecustomize and .pth files read, which have run before this script
        again = [sys.executable, "-S", *subprocess._args_from_interpreter_flags(), __file__]
        uses.update(subprocess.check_output(again).rpartition(b"\n\n")[2].split(b"\0"))
    if len(sys._current_frames()) > 1:  # it may read variables at any time
        raise StartsCold("a module has started a thread")
    for path in [getattr(module, "__file__", None) for module in list(sys.modules.values())]:
        if isinstance(path, str) and path not in states:
            states[path] = state_of(path)
    os.write(fd, b"w")
    data = read(fd)
    while not data.endswith(b"\0\0"):
        data += read(fd)
    variables = dict(variable.split(b"=", 1) for variable in data[:-2].split(b"\0"))
    added = {name: value for name, value in variables.items() if name not in before}
    check(added, uses.union(os.environb), own, states, folder)
    os.write(fd, b"w")
    read(fd)
    os.close(fd)
    return added


def begin():
    fd, named, folder, *program = sys.argv[1:]
    del getattr(sys, "orig_argv", [])[-len(sys.argv):-len(program)]  # since Python 3.10
    is_module = program[0] == "-m"
    sys.argv[:] = ["-m"] + program[2:] if is_module else program
    path = os.path.join(os.getcwd(), program[0])
    # Modules may look at it when they are imported.
    main = sys.modules["__main__"] = type(sys)("__main__")
    main.__dict__.update({name: globals()[name] for name in ("__annotations__", "__builtins__") if name in globals()})
    if not is_module:
        main.__file__ = path if sys.version_info >= (3, 9) else program[0]
        main.__cached__, main.__loader__ = None, SourceFileLoader("__main__", main.__file__)
    os.set_inheritable(int(fd), False)
    try:
        added = wait(int(fd), named.split(",") if named else [], folder, program)
    except BaseException as error:
        reason = str(error) if isinstance(error, StartsCold) else repr(error)
        os.write(int(fd), reason.encode("utf-8", "replace")[:500])
        read(int(fd))  # until the agent kills it with all that modules have started
    os.environb.update(added)
    if is_module:
        runpy._run_module_as_main(program[1])
    else:
        exec(compile(bytes_of(path), main.__file__, "exec", dont_inherit=True), main.__dict__)


if __name__ == "__main__":
    begin() if len(sys.argv) > 1 else print_reads_of_site()
