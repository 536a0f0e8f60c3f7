#include "exec/exec.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/for_user.h"
#include "base/proof_of_end.h"
#include "base/shell_quote.h"
#include "base/split.h"
#include "transport/local.h"

namespace autodist::exec {
namespace {

constexpr std::chrono::seconds kVersionLimit{10};
constexpr size_t kMaxVersionLength = 64 * 1024;
constexpr uint32_t kOldestKubectl = 31;  // 1.31

// Prefixes of error messages: podman; docker and containerd; kubectl.
constexpr const char* kOwn[] = {"Error: ",
                                "Error response from daemon: ",
                                "docker: ",
                                "Cannot connect to ",
                                "permission denied while trying to connect to the ",
                                "Got permission denied while trying to connect to the ",
                                "OCI runtime exec failed: ",
                                "error: ",
                                "Error from server",
                                "Unable to connect to the server",
                                "The connection to the server"};
constexpr const char* kContainerGone[] = {"o such container", "no container with name or ID"};
constexpr const char* kContainerOff[] = {"is not running", "container state improper", "(NotFound)",
                                         "container not found", "in a completed pod"};
constexpr const char* kNoImage[] = {"initializing source", "pull access denied", "manifest unknown",
                                    "Unable to find image", "short-name"};
constexpr const char* kNoMount[] = {"statfs ", "bind source path does not exist"};
constexpr const char* kNoDaemon[] = {"Cannot connect to the Docker daemon",
                                     "connect to the Docker daemon", "connect to the docker API"};
// Of podman without root.
constexpr const char* kNoIds[] = {"subuid", "subgid", "newuidmap", "newgidmap",
                                  "insufficient UIDs or GIDs"};
constexpr const char* kOtherStorage[] = {"database configuration mismatch", "graph driver",
                                         "does not match our "};
constexpr const char* kNoShell[] = {"executable file not found", "executable file `sh` not found",
                                    "stat /bin/sh"};

bool Has(const std::string& text, const auto& parts) {
  return std::ranges::any_of(
      parts, [&](const char* part) { return text.find(part) != std::string::npos; });
}

// See ProofOfEnd. podman says of paused containers, too, that they do not run; docker says that
// they are paused.
bool ProvesEnd(const std::string& what) {
  const bool docker = what.starts_with("Error response from daemon: ");
  if (docker && what.ends_with(" is not running") && what.find("ontainer ") != std::string::npos) {
    return true;
  }
  return (docker || what.starts_with("Error: ")) && Has(what, kContainerGone);
}

// Whether the line is what a shell prints if it does not find the program.
bool IsMissing(std::string_view line, const std::string& program) {
  if (program.empty()) return false;
  return line.ends_with(": " + program + ": not found") ||
         line.ends_with(": " + program + ": command not found") ||
         line.ends_with("command not found: " + program) ||
         line.ends_with("Unknown command: " + program) ||
         line.ends_with("/" + program + ": No such file or directory");
}

std::string HintFor(const std::string& what, const Container& container) {
  const std::string& runtime = container.runtime;
  const bool known = runtime == "podman" || runtime == "docker";
  if (Has(what, kNoImage)) {
    return "check the image name" + (known ? " with `" + runtime + " pull`" : "") + " on the node";
  }
  if (Has(what, kNoMount)) return "create the folders that run_options mounts";
  if (Has(what, kNoDaemon)) return "start docker on the node, or add your user to its group";
  if (runtime == "podman" && Has(what, kNoIds)) {
    return "give your user ranges in /etc/subuid and /etc/subgid of the node (usermod "
           "--add-subuids, --add-subgids), then run `podman system migrate` there";
  }
  if (runtime == "podman" && Has(what, kOtherStorage)) {
    return "use the storage.conf with which podman's storage on the node was made; `podman system "
           "reset` makes it again, without any image and container";
  }
  if (!container.image.empty()) {
    return "run `true` from the image on the node, with the run_options";
  }
  return known ? "run `" + runtime + " exec " + base::ShellQuote(container.name) +
                     " true` on the node"
               : "test the container runtime on the node with `true`";
}

class ExecStream final : public transport::Stream {
 public:
  ExecStream(std::unique_ptr<transport::Stream> stream, std::string where, Container container)
      : stream_(std::move(stream)), where_(std::move(where)), container_(std::move(container)) {}

  base::UniqueFd TakeSocket() override { return stream_->TakeSocket(); }
  std::string StderrTail() const override { return stream_->StderrTail(); }
  bool WaitClosed(base::Deadline deadline) override { return stream_->WaitClosed(deadline); }
  transport::Login login() const override { return stream_->login(); }
  Status Failure() const override {
    AD_RETURN_IF_ERROR(stream_->Failure());
    return Annotate(ExecError(stream_->StderrTail(), container_), where_);
  }
  Status FailureIn(const std::string& printed) const override {
    AD_RETURN_IF_ERROR(Failure());
    return Annotate(ExecError(printed, container_), where_);
  }

 private:
  const std::unique_ptr<transport::Stream> stream_;
  const std::string where_;
  const Container container_;
};

}  // namespace

Status ExecError(const std::string& said, const Container& container) {
  for (const std::string_view line : base::Lines(said)) {
    const std::string what(line.substr(0, line.find('\r')));
    if (IsMissing(what, container.runtime)) {
      return WithRemedy(Error(StatusCode::kFailedPrecondition, what),
                        "install " + container.runtime +
                            " there, or add its folder to the PATH of a login without a terminal");
    }
    if (std::ranges::none_of(kOwn, [&](const char* own) { return line.starts_with(own); }))
      continue;
    const bool gone = Has(what, kContainerGone);
    if (gone || Has(what, kContainerOff)) {
      const std::string start = container.runtime == "kubectl" ? "start the pod"
                                : gone                         ? "create and start the container"
                                                               : "start or unpause the container";
      const Status off =
          WithRemedy(Error(StatusCode::kUnavailable, "the container cannot be entered: " + what),
                     container.image.empty()
                         ? base::ForUser(start + "[spec|, or correct its name in the spec]")
                         : "find out what ended it: its image, " + container.image +
                               ", must run `sh -c 'sleep 60'` on the node");
      return ProvesEnd(what) ? ProofOfEnd::OfContainer(off) : off;
    }
    if (Has(what, kNoShell)) {
      return WithRemedy(Error(StatusCode::kFailedPrecondition, "the container has no sh: " + what),
                        "use an image with a shell, such as busybox");
    }
    return WithRemedy(Error(StatusCode::kUnavailable, what), HintFor(what, container));
  }
  return OkStatus();
}

Status CheckKubectl() {
  const auto refusal = [](const std::string& what) {
    return WithRemedy(
        Error(StatusCode::kFailedPrecondition, what),
        "install kubectl 1.31 or newer: older ones do not close the stdin of a program "
        "in a pod");
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
  return refusal(minor == 0 ? "`kubectl version --client` reports no version"
                            : "kubectl is 1." + std::to_string(minor));
}

Result<std::unique_ptr<transport::Stream>> ExecTransport::Run(const std::vector<std::string>& argv,
                                                              const std::stop_token& stop) {
  std::vector<std::string> command = argv_;
  command.insert(command.end(), argv.begin(), argv.end());
  AD_ASSIGN_OR_RETURN(std::unique_ptr<transport::Stream> stream, way_->Run(command, stop));
  return std::make_unique<ExecStream>(std::move(stream), where_, container_);
}

}  // namespace autodist::exec
