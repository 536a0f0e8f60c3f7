#include "process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <thread>
#include <utility>

#include "base/split.h"
#include "base/thread.h"
#include "process/program_check.h"

namespace autodist::process {
namespace {

constexpr int kExtraFd = 3;
constexpr char kShell[] = "/bin/sh";
constexpr char kUsualPath[] = "/usr/bin:/bin";

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// Returns a mask for sched_setaffinity, for CPUs of any number; empty for none.
std::vector<cpu_set_t> Mask(const std::vector<uint32_t>& cpus) {
  if (cpus.empty()) return {};
  std::vector<cpu_set_t> mask(*std::ranges::max_element(cpus) / CPU_SETSIZE + 1);
  for (const uint32_t cpu : cpus) CPU_SET(cpu % CPU_SETSIZE, &mask[cpu / CPU_SETSIZE]);
  return mask;
}

std::string PathOf(const std::vector<std::string>& environment) {
  for (const std::string& variable : environment) {
    if (variable.starts_with("PATH=")) return variable.substr(5);
  }
  return kUsualPath;
}

// Everything that the child needs, prepared by the parent. The child shares the parent's memory
// until it executes the program, so it may neither allocate nor modify anything.
struct Prepared {
  const SpawnRequest& request;
  const char* program;
  char* const* argv;
  char* const* shell_argv;  // for a script without "#!"
  char* const* environment;
  const cpu_set_t* cpus;
  size_t cpus_size;  // bytes; 0: keep ours
  int null_fd;
  int report_fd;  // receives a Failure; closed by a successful execution
  pid_t parent;
};

struct Failure {
  const char* what = "";  // in memory that parent and child share
  int error = 0;          // errno; 0: success
};

// dup2 that clears close-on-exec even if both descriptors are the same.
bool Give(int fd, int as) { return fd == as ? fcntl(fd, F_SETFD, 0) == 0 : dup2(fd, as) == as; }

[[noreturn]] void RunChild(const Prepared& child) {
  const SpawnRequest& request = child.request;
  const auto or_null = [&child](int fd) { return fd >= 0 ? fd : child.null_fd; };
  const auto fail = [&child](const char* what) __attribute__((noreturn)) {
    const Failure failure{what, errno};
    (void)!write(child.report_fd, &failure, sizeof failure);
    _exit(1);
  };
  // Ignored signals would stay ignored, and our handlers must not run here. Uses the system call,
  // because glibc's sigaction rejects its two internal signals, which posix_spawn leaves ignored.
  constexpr std::array<unsigned long, 4> kDefaultAction{};  // the kernel's struct sigaction
  for (int signal = 1; signal < NSIG; ++signal) {
    syscall(SYS_rt_sigaction, signal, kDefaultAction.data(), nullptr, sizeof(uint64_t));
  }
  if (request.own_session || request.terminal_of_stdin) {
    setsid();
  } else if (request.own_process_group) {
    setpgid(0, 0);
  }
  if (request.dies_with_thread) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent ended before PR_SET_PDEATHSIG took effect.
    if (getppid() != child.parent) _exit(1);
  }
  if (!Give(or_null(request.stdin_fd), STDIN_FILENO) ||
      !Give(or_null(request.stdout_fd), STDOUT_FILENO) ||
      !Give(or_null(request.stderr_fd), STDERR_FILENO) ||
      (request.extra_fd >= 0 && !Give(request.extra_fd, kExtraFd))) {
    fail("dup2");
  }
  if (request.terminal_of_stdin && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) fail("its terminal");
  // Closes descriptors on exec; kernels before 5.11 lack the flag and leave them open.
  close_range(request.extra_fd >= 0 ? kExtraFd + 1 : kExtraFd, ~0u, CLOSE_RANGE_CLOEXEC);
  const char* folder = request.working_directory.c_str();
  if (chdir(folder) != 0) fail(folder);
  // Best effort: fails if the CPUs have been taken from us since they were chosen.
  if (child.cpus_size > 0) (void)sched_setaffinity(0, child.cpus_size, child.cpus);
  RestoreFileLimit();  // after close_range and dup2, which depend on the limit
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(child.program, child.argv, child.environment);
  if (errno == ENOEXEC) execve(kShell, child.shell_argv, child.environment);
  fail(child.program);
}

// Creates a child that shares our memory, as vfork's does: copying the page tables of a process
// with many threads and buffers takes longer than everything else.
pid_t BorrowingFork(const Prepared& child) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler may run in the child
  const pid_t pid = vfork();                    // NOLINT(clang-analyzer-security.insecureAPI.vfork)
  if (pid == 0) RunChild(child);  // NOLINT(clang-analyzer-unix.Vfork): only system calls
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return pid;
}

constexpr rlim_t kNotRaised = RLIM_INFINITY;  // an infinite limit cannot be raised

std::atomic<rlim_t> soft_limit_before = kNotRaised;

}  // namespace

Result<pid_t> Spawn(const SpawnRequest& request) {
  AD_ASSIGN_OR_RETURN(
      const std::string program,
      FindProgram(request.argv.at(0), PathOf(request.environment), request.working_directory));
  const base::UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  if (!null.valid()) return ErrnoError(errno, "/dev/null");
  std::vector<std::string> shell_argv = request.argv;
  shell_argv[0] = program;
  shell_argv.insert(shell_argv.begin(), "sh");
  const std::vector<char*> argv = Pointers(request.argv);
  const std::vector<char*> shell = Pointers(shell_argv);
  const std::vector<char*> environment = Pointers(request.environment);
  const std::vector<cpu_set_t> cpus = Mask(request.cpus);
  AD_ASSIGN_OR_RETURN(base::FdPair report, base::Pipe());
  const pid_t pid = BorrowingFork({request, program.c_str(), argv.data(), shell.data(),
                                   environment.data(), cpus.data(), cpus.size() * sizeof(cpu_set_t),
                                   null.get(), report.second.get(), getpid()});
  if (pid < 0) return ErrnoError(errno, "starting a process");
  report.second.Reset();
  Failure failure;
  if (read(report.first.get(), &failure, sizeof failure) <= 0) return pid;
  Reap(pid);
  if (failure.what == program.c_str()) {
    AD_RETURN_IF_ERROR(CheckProgramFile(program, request.argv[0],
                                        {PathOf(request.environment), request.working_directory}));
  }
  return ErrnoError(failure.error, std::string("cannot execute ") + failure.what);
}

SpawnRequest OurProgram(std::vector<std::string> argv, const Environment& environment) {
  SpawnRequest request;
  request.argv = std::move(argv);
  request.environment = environment.ToStrings();
  request.working_directory = ".";
  return request;
}

Result<base::UniqueFd> EndOf(pid_t child) {
  base::UniqueFd end(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (end.valid()) return end;
  if (errno != ENOSYS) return ErrnoError(errno, "pidfd_open");
  // Kernels before 5.3 lack pidfds: a thread waits for the child, then closes the pipe.
  AD_ASSIGN_OR_RETURN(base::FdPair pipe, base::Pipe());
  AD_ASSIGN_OR_RETURN(
      std::jthread waiting, base::StartThread([child, other = std::move(pipe.second)] {
        siginfo_t info;
        while (waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 &&
               errno == EINTR) {
        }
      }));
  waiting.detach();
  return std::move(pipe.first);
}

int Reap(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

int ExitCode(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
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
    for (const std::string_view folder : base::Split(path, ':')) {
      const std::string file =
          (folder.empty() ? working_directory : std::string(folder)) + "/" + program;
      if (usable(file)) return file;
    }
  }
  if (forbidden) {
    return Error(StatusCode::kPermissionDenied, "'" + program + "' is not an executable file");
  }
  return Error(StatusCode::kNotFound, has_slash
                                          ? "'" + program + "' does not exist"
                                          : "'" + program + "' is not in PATH (" + path + ")");
}

void RaiseFileLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  soft_limit_before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void RestoreFileLimit() {
  const rlim_t before = soft_limit_before;
  rlimit limit{};
  if (before == kNotRaised || getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = before < limit.rlim_max ? before : limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace autodist::process
