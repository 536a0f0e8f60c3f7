"""Runs a program as Python itself would, and records the names of the modules that it imports.

    python [OPTIONS] run_python.py RECORD (SCRIPT | -m MODULE) [ARGUMENT]...

With the variable AUTODIST_WARM_FD it first imports the modules in RECORD, as far as they are installed, writes
a byte to that descriptor, and waits: it reads variables from there, until the end, and then runs the program with
only those. If the imports would differ under these variables, it starts this Python again. For Python 3.6 and
later.
"""

import importlib.machinery
import importlib.util
import os
import runpy
import site
import sys
import sysconfig
import types

WAIT = "AUTODIST_WARM_FD"
MOST_NAMES = 20000
NO_CHANGES = "-"
# mpi4py starts MPI when it is imported.
LEFT_OUT = {"mpi4py.MPI", "__main__", "__mp_main__"}
# Modules that list all variables, but look only at those with this beginning. PyTorch imports networkx.
LOOK_FOR = {"networkx.utils.backends": "NETWORKX_", "numba.core.config": "NUMBA_", "dask.config": "DASK_"}
DEVICES = ("/dev/nvidia", "/dev/kfd", "/dev/dri/render", "/dev/davinci", "/dev/accel")
# Read once by a library in C, or by Python when it starts.
READ_AT_START = ("LD_", "PYTHON", "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "MALLOC_", "GLIBC_")


class Surroundings:
    """The variables and sys.path, which modules depend on, as far as they differ from those at the start."""

    def __init__(self):
        self.variables, self.places = dict(os.environ._data), list(sys.path)
        self.last = self.variables, self.places, NO_CHANGES

    def changes(self):
        """A text that is different for other changes; it does not contain the values."""
        variables, places = getattr(os.environ, "_data", None), sys.path
        if variables is None:
            return "unknown"
        if (variables, places) != self.last[:2]:
            self.last = dict(variables), list(places), self.digest(variables, places)
        return self.last[2]

    def begin_with(self, variables):
        self.variables, self.last = variables, (None, None, None)

    def digest(self, variables, places):
        changed = [(name, variables.get(name)) for name in sorted(set(variables).union(self.variables))
                   if variables.get(name) != self.variables.get(name)]
        if not changed and places == self.places:
            return NO_CHANGES
        digest = 0xcbf29ce484222325  # FNV-1a; a module for it could be one that the program imports
        for byte in repr((changed, places != self.places and places)).encode("utf-8", "surrogateescape"):
            digest = (digest ^ byte) * 0x100000001b3 % 2**64
        return "{:016x}".format(digest)


class Recorder:
    """Writes the name of each module that is imported, and the changes of the surroundings; finds none."""

    def __init__(self, path, surroundings):
        self.path, self.surroundings = path, surroundings
        self.known = records_in(path)
        self.records = len(self.known)
        self.process = os.getpid()

    def find_spec(self, name, path=None, target=None):
        if self.records >= MOST_NAMES or self.process != os.getpid():
            return
        changes = self.surroundings.changes()
        if self.known.get(name) == changes:
            return
        self.known[name] = changes
        self.records += 1
        try:
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(file, "{} {}\n".format(name, changes).encode())
            finally:
                os.close(file)
        except (OSError, ValueError):
            pass


class Refuser:
    """Refuses to import modules that must not run ahead, and says so."""

    def __init__(self):
        self.refused = ""

    def find_spec(self, name, path=None, target=None):
        if name in LEFT_OUT:
            self.refused = name
            raise Refused(name)


class Refused(BaseException):
    """Modules handle an ImportError, and would then do without the module for good."""


class Reads:
    """The variables that modules read while they are imported. `with` records them."""

    def __init__(self):
        self.values = {}  # by name; None: not set
        self.names = None  # all, if they were listed
        self.beginnings = set()  # of names that were looked for in a list of all

    def __enter__(self):
        reads, kind = self, type(os.environ)
        get, listing = self.original = kind.__getitem__, kind.__iter__

        def looks_for(frame):
            """The names that a listing of all is for; None: all."""
            while frame.f_globals.get("__name__") in ("os", "_collections_abc", "collections.abc"):
                frame = frame.f_back
            beginning = LOOK_FOR.get(frame.f_globals.get("__name__"))
            if beginning:
                reads.beginnings.add(beginning.encode())
            return beginning

        def getitem(environ, key):
            caller = sys._getframe(1)
            if caller.f_code.co_name == "__iter__" and looks_for(caller):  # of items()
                return get(environ, key)
            try:
                value = get(environ, key)
            except KeyError:
                reads.values.setdefault(os.fsencode(key), None)
                raise
            reads.values.setdefault(os.fsencode(key), os.fsencode(value))
            return value

        def iterate(environ):
            if not looks_for(sys._getframe(1)):
                reads.names = set(os.environb._data)
            return listing(environ)

        kind.__getitem__, kind.__iter__ = getitem, iterate

    def __exit__(self, *_):
        kind = type(os.environ)
        kind.__getitem__, kind.__iter__ = self.original

    def difference(self, before, environment):
        """Names a variable that was read and differs in this environment; b"": none. `before`: the variables of
        this process; those that a module has set itself do not count."""
        for name, value in self.values.items():
            if value == before.get(name) and environment.get(name) != value:
                return name
        for name in set(before).union(environment):
            listed = self.names is not None and (name in before) != (name in environment)
            if listed or (name.startswith(tuple(self.beginnings)) and before.get(name) != environment.get(name)):
                return name
        return b""


def installed_folders():
    paths = sysconfig.get_paths()
    folders = [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    folders += site.getsitepackages() if hasattr(site, "getsitepackages") else []
    if site.ENABLE_USER_SITE:
        folders.append(site.getusersitepackages())
    return tuple(os.path.join(os.path.realpath(folder), "") for folder in folders)


def is_installed(package, folders):
    """Only modules that are installed: the user's own may do anything when they are imported."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        return False
    if spec.origin in ("built-in", "frozen"):
        return True
    places = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return bool(places) and all(os.path.realpath(place).startswith(folders) for place in places)


def open_device():
    """Returns the path of a device that this process uses; "": none."""
    for number in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue
        if path.startswith(DEVICES):
            return path
    return ""


def import_installed(records, left_out, surroundings):
    """Imports modules; returns the first one that must not be imported now, and why, and then the packages that the
    program imports in other surroundings."""
    folders = installed_folders()
    installed = {}
    others = []
    refuser = Refuser()
    sys.meta_path.insert(0, refuser)
    try:
        for name, changes in records.items():
            parts = name.split(".")
            parents = {".".join(parts[:length]) for length in range(1, len(parts) + 1)}
            if name in sys.modules or not parents.isdisjoint(left_out) or not parents.isdisjoint(others):
                continue
            try:
                if parts[0] not in installed:
                    installed[parts[0]] = is_installed(parts[0], folders)
                if installed[parts[0]] and surroundings.changes() != changes:
                    others.append(name)
                elif installed[parts[0]]:
                    importlib.import_module(name)
            except BaseException:  # also SystemExit: so it was in the program, which went on
                pass
            device = open_device()
            if device or refuser.refused:
                return name, "opens " + device if device else "imports " + refuser.refused, []
    finally:
        sys.meta_path.remove(refuser)
    return "", "", [name for name in others if "." not in name and name not in sys.modules]


def files_of_modules():
    """The state of the files of all modules but the program itself, which is read later."""
    states = {}
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and module is not sys.modules["__main__"]:
            states[path] = state_of(path)
    return states


def state_of(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def records_in(path):
    """The modules, and in which surroundings the program has imported them the last time."""
    lines = (line.split() for line in lines_of(path))
    return {words[0]: words[1] for words in lines if len(words) == 2}


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def start_again(environment):
    with open("/proc/self/cmdline", "rb") as file:
        arguments = file.read().split(b"\0")[:-1]
    os.execve(sys.executable, arguments, environment)


def read_all(fd):
    data = b""
    while True:
        more = os.read(fd, 1 << 20)
        if not more:
            return data
        data += more


def variables_in(data):
    return dict(variable.split(b"=", 1) for variable in data.split(b"\0") if b"=" in variable)


def wait(fd, record, surroundings):
    """Imports modules, and waits for the variables of the rank."""
    os.set_inheritable(fd, False)
    with open("/proc/self/environ", "rb") as file:
        mine = variables_in(file.read())  # without those that this Python has set
    gate = {WAIT.encode(): mine.pop(WAIT.encode())}
    left_out = record + ".left_out"
    reads = Reads()
    with reads:
        name, why, others = import_installed(
            records_in(record), LEFT_OUT.union(lines_of(left_out)), surroundings)
    if name:
        with open(left_out, "a", encoding="utf-8") as file:
            file.write(name + "\n")
        say(mine, "a restart will import {} later, because it {}".format(name, why))
        os.set_inheritable(fd, True)
        start_again({**mine, **gate})
    if others:
        say(mine, "a restart will import {} later, because the program changes variables or sys.path before that".format(
            others[0] if len(others) == 1 else "{} and {} other packages".format(others[0], len(others) - 1)))
    files = files_of_modules()
    os.write(fd, b"w")
    data = read_all(fd)
    os.close(fd)
    if not data:
        os._exit(0)
    wanted = variables_in(data)
    why = difference(reads, files, mine, wanted)
    if why:
        say(wanted, "Python starts again: " + why)
        start_again(wanted)
    for name in set(mine).difference(wanted):
        os.environb.pop(name, None)
    for name, value in wanted.items():
        if mine.get(name) != value:
            os.environb[name] = value
    surroundings.begin_with(wanted)


def difference(reads, files, mine, wanted):
    """Why the imports would differ now; "": they would not."""
    read = reads.difference(mine, wanted)
    if read:
        return "a module read the variable {} when it was imported".format(os.fsdecode(read))
    for name in set(mine).union(wanted):
        if mine.get(name) != wanted.get(name) and os.fsdecode(name).startswith(READ_AT_START):
            return "the variable {} has changed".format(os.fsdecode(name))
    for path, state in files.items():
        if state_of(path) != state:
            return "{} has changed".format(path)
    return ""


def say(environment, text):
    """On one rank of each node, because all say the same."""
    if environment.get(b"AUTODIST_LOCAL_RANK") == b"0":
        sys.stderr.write("autodist: --warm: " + text + "\n")
        sys.stderr.flush()


def prepare_path(program):
    """Sets sys.path as it would be without this script."""
    if getattr(sys.flags, "safe_path", False) or sys.flags.isolated:
        return
    sys.path[0] = os.getcwd() if program == "-m" else os.path.dirname(os.path.realpath(program))


def make_main(program):
    """The module of the program, which others may look at when they are imported."""
    main = types.ModuleType("__main__")
    main.__builtins__ = sys.modules["builtins"]
    if program != "-m":
        path = os.path.abspath(program) if sys.version_info >= (3, 9) else program
        main.__file__ = path
        main.__cached__ = None
        main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    sys.modules["__main__"] = main
    return main


def run(main, program, arguments):
    if program == "-m":
        sys.argv[:] = arguments
        return runpy._run_module_as_main(arguments[0])
    sys.argv[:] = [program] + arguments
    path = main.__file__
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        sys.stderr.write("{}: can't open file {!r}: [Errno {}] {}\n".format(
            sys.executable, path, error.errno, error.strerror))
        sys.exit(2)
    exec(compile(source, path, "exec", dont_inherit=True), main.__dict__)


def begin():
    record, program, *arguments = sys.argv[1:]
    prepare_path(program)
    if hasattr(sys, "orig_argv"):
        at = len(sys.orig_argv) - len(sys.argv)
        del sys.orig_argv[at:at + 2]
    main = make_main(program)
    fd = os.environ.pop(WAIT, "")
    surroundings = Surroundings()
    if fd:
        sys.argv[:] = [program] + arguments
        wait(int(fd), record, surroundings)
    sys.meta_path.insert(0, Recorder(record, surroundings))
    try:
        run(main, program, arguments)
    except (SystemExit, KeyboardInterrupt):
        raise
    except BaseException as error:
        # Without the frames of this script.
        trace = error.__traceback__
        while trace and trace.tb_frame.f_code.co_filename == __file__:
            trace = trace.tb_next
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.exit(1)


begin()
