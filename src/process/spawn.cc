#include "process/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace autodist::process {
namespace {

constexpr int kExtraFd = 3;
constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

// argv of ExecChild: program, kExecChild, parent's pid, working directory, the child's argv.
constexpr int kParentArgument = 2;
constexpr int kDirectoryArgument = 3;
constexpr int kFirstChildArgument = 4;

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The two structures that posix_spawn is told with.
struct SpawnAttributes {
  SpawnAttributes() {
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
  }
  SpawnAttributes(const SpawnAttributes&) = delete;
  SpawnAttributes& operator=(const SpawnAttributes&) = delete;
  ~SpawnAttributes() {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

int FailChild(const char* what, int errno_value) {
  std::fprintf(stderr, "autodist: cannot execute %s: %s\n", what, std::strerror(errno_value));
  return errno_value == ENOENT || errno_value == ENOTDIR ? kNotFound : kCannotExecute;
}

}  // namespace

Result<pid_t> Spawn(const SpawnRequest& request) {
  std::vector<std::string> arguments = {"autodist-agent", kExecChild, std::to_string(getpid()),
                                        request.working_directory};
  arguments.insert(arguments.end(), request.argv.begin(), request.argv.end());
  std::vector<std::string> environment = request.environment;

  SpawnAttributes told;
  posix_spawn_file_actions_addopen(&told.actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  const auto give = [&](int fd, int as) {
    if (fd >= 0) {
      posix_spawn_file_actions_adddup2(&told.actions, fd, as);
    } else {
      posix_spawn_file_actions_addopen(&told.actions, as, "/dev/null", O_WRONLY, 0);
    }
  };
  give(request.stdout_fd, STDOUT_FILENO);
  give(request.stderr_fd, STDERR_FILENO);
  if (request.extra_fd >= 0) give(request.extra_fd, kExtraFd);

  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&told.attributes, &none);
  posix_spawnattr_setsigdefault(&told.attributes, &all);
  posix_spawnattr_setpgroup(&told.attributes, 0);
  posix_spawnattr_setflags(&told.attributes, static_cast<short>(POSIX_SPAWN_SETSIGMASK |
                                                           POSIX_SPAWN_SETSIGDEF |
                                                           POSIX_SPAWN_SETPGROUP));
  pid_t pid = 0;
  // posix_spawn returns the error instead of setting errno.
  const int error = posix_spawn(&pid, "/proc/self/exe", &told.actions, &told.attributes,
                                Pointers(arguments).data(), Pointers(environment).data());
  if (error != 0) return ErrnoError(error, "starting a process");
  return pid;
}

int ExecChild(int argc, char** argv) {
  if (argc <= kFirstChildArgument) return FailChild("nothing", EINVAL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // The parent may have gone before the line above took effect.
  if (getppid() != std::atoi(argv[kParentArgument])) return kCannotExecute;
  if (chdir(argv[kDirectoryArgument]) != 0) return FailChild(argv[kDirectoryArgument], errno);
  execvp(argv[kFirstChildArgument], argv + kFirstChildArgument);
  return FailChild(argv[kFirstChildArgument], errno);
}

Result<std::string> FindProgram(const std::string& program, const std::string& path,
                                const std::string& working_directory) {
  const bool has_slash = program.find('/') != std::string::npos;
  bool forbidden = false;
  const auto usable = [&](const std::string& file) {
    struct stat info;
    if (stat(file.c_str(), &info) != 0) return false;
    const bool executable = S_ISREG(info.st_mode) && access(file.c_str(), X_OK) == 0;
    forbidden |= !executable;
    return executable;
  };
  if (has_slash) {
    const std::string file = program[0] == '/' ? program : working_directory + "/" + program;
    if (usable(file)) return file;
  } else {
    for (size_t begin = 0; begin <= path.size();) {
      const size_t end = std::min(path.find(':', begin), path.size());
      const std::string folder = end == begin ? working_directory : path.substr(begin, end - begin);
      if (usable(folder + "/" + program)) return folder + "/" + program;
      begin = end + 1;
    }
  }
  if (forbidden) {
    return Error(StatusCode::kPermissionDenied, "'" + program + "' is not an executable file");
  }
  return Error(StatusCode::kNotFound, has_slash ? "'" + program + "' does not exist"
                                                : "'" + program + "' is not in PATH (" + path + ")");
}

}  // namespace autodist::process
