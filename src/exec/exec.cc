#include "exec/exec.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/split.h"
#include "transport/local.h"

namespace autodist::exec {
namespace {

constexpr std::chrono::seconds kVersionLimit{10};
constexpr size_t kMaxVersionLength = 64 * 1024;
constexpr uint32_t kOldestKubectl = 31;  // 1.31

// With what the messages of their own begin: podman; docker and containerd; kubectl.
constexpr const char* kOwn[] = {"Error: ",
                                "Error response from daemon: ",
                                "docker: Error",
                                "Cannot connect to the Docker daemon",
                                "OCI runtime exec failed: ",
                                "error: ",
                                "Error from server",
                                "Unable to connect to the server",
                                "The connection to the server"};
constexpr const char* kContainerGonePatterns[] = {
    "o such container",         "no container with name or ID",
    "is not running",           "can only create exec sessions on running containers",
    "container state improper", "(NotFound)",
    "container not found",      "in a completed pod"};
constexpr const char* kNoImage[] = {"initializing source", "pull access denied", "manifest unknown",
                                    "Unable to find image", "short-name"};
constexpr const char* kNoMount[] = {"statfs ", "bind source path does not exist"};
constexpr const char* kNoDaemon[] = {"Cannot connect to the Docker daemon", "docker daemon socket"};
constexpr const char* kNoShell[] = {"executable file not found", "executable file `sh` not found",
                                    "stat /bin/sh"};

bool Has(const std::string& text, const auto& parts) {
  return std::ranges::any_of(
      parts, [&](const char* part) { return text.find(part) != std::string::npos; });
}

class ExecStream final : public transport::Stream {
 public:
  ExecStream(std::unique_ptr<transport::Stream> stream, std::string where)
      : stream_(std::move(stream)), where_(std::move(where)) {}

  base::UniqueFd TakeSocket() override { return stream_->TakeSocket(); }
  std::string StderrTail() const override { return stream_->StderrTail(); }
  bool WaitClosed(base::Deadline deadline) override { return stream_->WaitClosed(deadline); }
  Status Failure() const override {
    AD_RETURN_IF_ERROR(stream_->Failure());
    return Annotate(ExecError(stream_->StderrTail()), where_);
  }
  Status FailureIn(const std::string& printed) const override {
    AD_RETURN_IF_ERROR(Failure());
    return Annotate(ExecError(printed), where_);
  }

 private:
  const std::unique_ptr<transport::Stream> stream_;
  const std::string where_;
};

}  // namespace

Status ExecError(const std::string& said) {
  for (const std::string_view line : base::Lines(said)) {
    if (std::ranges::none_of(kOwn, [&](const char* own) { return line.starts_with(own); }))
      continue;
    const std::string what(line.substr(0, line.find('\r')));
    if (Has(what, kContainerGonePatterns)) {
      return WithRemedy(Error(StatusCode::kAborted, "the container does not run: " + what),
                        "start it first, and give the name that it has");
    }
    if (Has(what, kNoShell)) {
      return WithRemedy(Error(StatusCode::kFailedPrecondition, "the container has no sh: " + what),
                        "take an image with a shell; busybox's will do");
    }
    return WithRemedy(
        Error(StatusCode::kUnavailable, what),
        Has(what, kNoImage)
            ? "is the image's name right? `podman pull` or `docker pull` there tells more"
        : Has(what, kNoMount) ? "a folder that run_options mounts has to be there already"
        : Has(what, kNoDaemon)
            ? "start docker there, or let your user use it"
            : "does the container runtime run a program there by hand, true, say?");
  }
  return OkStatus();
}

Status CheckKubectl() {
  const auto refusal = [](const std::string& what) {
    return WithRemedy(
        Error(StatusCode::kFailedPrecondition, what),
        "install kubectl 1.31 or newer: older ones do not tell a program in a pod that "
        "its input has ended");
  };
  const auto program = transport::StartOurProgram({"kubectl", "version", "--client"});
  if (!program.ok()) return refusal(Message(program.status()));
  AD_ASSIGN_OR_RETURN(
      const std::string output,
      transport::OutputOf(**program, base::Deadline::After(kVersionLimit), kMaxVersionLength));
  // "Client Version: v1.32.4"
  constexpr std::string_view kMark = "v1.";
  const size_t mark = output.find(kMark);
  uint32_t minor = 0;
  if (mark != std::string::npos) {
    std::from_chars(output.data() + mark + kMark.size(), output.data() + output.size(), minor);
  }
  if (minor >= kOldestKubectl) return OkStatus();
  return refusal(minor == 0 ? "`kubectl version --client` does not tell its version"
                            : "kubectl is 1." + std::to_string(minor));
}

Result<std::unique_ptr<transport::Stream>> ExecTransport::Run(const std::vector<std::string>& argv,
                                                              const std::stop_token& stop) {
  std::vector<std::string> command = argv_;
  command.insert(command.end(), argv.begin(), argv.end());
  AD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Stream> stream, way_->Run(command, stop));
  return std::make_unique<ExecStream>(std::move(stream), where_);
}

}  // namespace autodist::exec
