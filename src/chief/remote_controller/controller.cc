#include "chief/remote_controller/controller.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "autodist/v1/job_request.pb.h"
#include "base/deadline.h"
#include "base/exit_codes.h"
#include "base/fd.h"
#include "base/home_folder.h"
#include "base/log.h"
#include "chief/remote_controller/start_remote.h"
#include "json/proto_json.h"
#include "process/spawn.h"
#include "rpc/bootstrap_lines.h"
#include "spec/spec_text.h"
#include "spec/yaml_reader.h"

namespace autodist::chief {
namespace {

using base::Deadline;

constexpr std::chrono::seconds kReadLimit{300};  // for a slow connection

// The login's variables that programs need; variables of the session are omitted.
constexpr const char* kKept[] = {"SSH_AUTH_SOCK", "TMPDIR", "XDG_STATE_HOME"};

Status Say(const std::string& text) {
  return base::WriteAll(STDOUT_FILENO, text, Deadline::Never());
}

Result<std::string> ReadExactly(size_t count, Deadline deadline) {
  std::string text(count, '\0');
  for (size_t have = 0; have < count;) {
    AD_ASSIGN_OR_RETURN(const size_t got,
                        base::ReadSome(STDIN_FILENO, text.data() + have, count - have, deadline));
    if (got == 0)
      return Error(StatusCode::kUnavailable, "the machine that started the job disconnected");
    have += got;
  }
  return text;
}

Result<v1::JobRequest> ReadRequest() {
  const Deadline deadline = Deadline::After(kReadLimit);
  AD_ASSIGN_OR_RETURN(const std::string length, ReadExactly(kLengthBytes, deadline));
  size_t size = 0;
  for (const char byte : length) size = size << 8 | static_cast<unsigned char>(byte);
  v1::JobRequest request;
  if (size > kLargestRequest)
    return Error(StatusCode::kInvalidArgument, "the request is too large");
  AD_ASSIGN_OR_RETURN(const std::string body, ReadExactly(size, deadline));
  AD_RETURN_IF_ERROR(json::FromJson(body, request));
  return request;
}

// In memory, because it may contain secrets.
Result<base::UniqueFd> FileOf(const v1::JobRequest& request) {
  AD_ASSIGN_OR_RETURN(const std::string json, json::ToJson(request, json::Layout::kIndented));
  base::UniqueFd file(memfd_create("request", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoError(errno, "a file in memory for the request");
  AD_RETURN_IF_ERROR(base::WriteAll(file.get(), json, Deadline::Never()));
  return file;
}

Status SettleKeys(v1::JobRequest& request) {
  spec::ReadOutcome outcome = spec::ReadSpec(request.spec_text(), "the spec");
  if (!outcome.spec) return Error(StatusCode::kInvalidArgument, outcome.issues[0].ToString());
  UseKeysOfThisMachine(*outcome.spec);
  request.set_spec_text(spec::SpecText(*outcome.spec));
  return OkStatus();
}

process::Environment OwnEnvironment() {
  const auto current = process::Environment::FromStrings(environ);
  auto environment = process::Environment::CleanLogin(current);
  for (const char* name : kKept) {
    if (current.Has(name)) environment.Set(name, current.Get(name));
  }
  return environment;
}

Result<pid_t> Start(v1::JobRequest request) {
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return ErrnoError(error.value(), "/proc/self/exe");
  AD_RETURN_IF_ERROR(SettleKeys(request));
  const std::filesystem::path folder = base::ExpandHome(request.workdir());
  // Absolute, because messages are read on another machine, in another folder.
  request.set_log_dir((folder / request.log_dir()).string());
  AD_ASSIGN_OR_RETURN(const base::UniqueFd file, FileOf(request));
  if (!std::filesystem::is_directory(folder, error)) {
    return ErrnoError(error ? error.value() : ENOTDIR, "the working directory, " + folder.string());
  }
  process::SpawnRequest run =
      process::OurProgram({program, "run-request", "/proc/self/fd/3"}, OwnEnvironment());
  run.working_directory = folder.string();
  run.stdout_fd = STDOUT_FILENO;
  run.stderr_fd = STDOUT_FILENO;
  run.extra_fd = file.get();
  return process::Spawn(run);
}

// Passes signals on until the run has ended; returns its exit code.
int Await(pid_t run) {
  const auto end = process::EndOf(run);
  bool listening = true;
  while (end.ok()) {
    pollfd fds[] = {{end->get(), POLLIN, 0}, {listening ? STDIN_FILENO : -1, POLLIN, 0}};
    if (poll(fds, 2, -1) < 0 && errno != EINTR) break;
    if (fds[0].revents != 0) break;
    if (fds[1].revents == 0) continue;
    char byte = SIGINT;
    listening = read(STDIN_FILENO, &byte, 1) == 1;
    kill(run, !listening || byte == SIGINT ? SIGINT : SIGTERM);
  }
  return process::ExitCode(process::Reap(run));
}

int Run() {
  auto request = ReadRequest();
  const auto started = request.ok() ? Start(*std::move(request)) : request.status();
  if (started.ok()) return Await(*started);
  base::LogFailure(started.status());
  return kExitCannotLaunch;
}

}  // namespace

int StartRemoteController(const std::string& nonce) {
  dup2(STDOUT_FILENO, STDERR_FILENO);
  if (!Say(rpc::ReadyLine(nonce)).ok()) return kExitCannotLaunch;
  const int code = Run();
  (void)Say(BeginOfEndedLine(nonce) + std::to_string(code) + "\n").ok();
  return code;
}

}  // namespace autodist::chief
