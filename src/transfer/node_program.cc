#include "transfer/node_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "autodist/v1/messages_digest.h"
#include "base/home_folder.h"
#include "files/program_file.h"

namespace autodist::transfer {
namespace {

constexpr size_t kLargestAgent = 128 << 20;  // with sanitizers
constexpr size_t kLargestAutodist = 512 << 20;

// Checks that it is an agent; a script that starts one is accepted.
Status CheckMessages(const std::string& path, std::string_view content) {
  if (!content.starts_with("\177ELF")) return OkStatus();
  constexpr std::string_view kMark = AUTODIST_MESSAGES_MARK;
  constexpr std::string_view kOurs = AUTODIST_MESSAGES_MARK AUTODIST_MESSAGES_DIGEST;
  if (content.find(kOurs) != std::string_view::npos) return OkStatus();
  const bool other = content.find(kMark) != std::string_view::npos;
  return WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            path + (other ? " is the agent of another version of autodist, whose messages differ"
                          : " is not an agent of autodist, or that of an older version")),
      "leave --agent out: autodist has an embedded agent");
}

}  // namespace

Result<NodeProgram> NodeProgram::OfAgent(const std::string& path) {
  NodeProgram agent;
  const auto inside = bundle::Agents();
  agent.variants_.assign(inside.begin(), inside.end());
  if (path.empty()) return agent;
  const auto content = base::ReadFile(path, kLargestAgent);
  AD_RETURN_IF_ERROR(Annotate(content.status(), "agent program"));
  AD_RETURN_IF_ERROR(CheckMessages(path, *content));
  agent.Give(std::filesystem::absolute(path), *content);
  return agent;
}

void NodeProgram::Give(const std::string& path, std::string_view content) {
  given_ =
      std::make_unique<const Given>(Given{path, bundle::Sha256(content), bundle::Pack(content)});
  for (bundle::Agent& variant : variants_) {
    variant.program = {file(), given_->sha256, content.size(), given_->packed};
  }
}

Result<std::vector<std::string>> NodeProgram::VersionOfAutodist() {
  AD_ASSIGN_OR_RETURN(const std::string content,
                      base::ReadFile("/proc/self/exe", kLargestAutodist));
  return std::vector<std::string>{bundle::Sha256(content), std::to_string(content.size())};
}

Result<NodeProgram> NodeProgram::OfAutodist() {
  AD_ASSIGN_OR_RETURN(const std::string content,
                      base::ReadFile("/proc/self/exe", kLargestAutodist));
  NodeProgram autodist;
  autodist.place_ = kChiefPlace;
  autodist.variants_ = {bundle::Agents().front()};
  autodist.Give("/proc/self/exe", content);
  return autodist;
}

Result<bundle::Agent> NodeProgram::For(std::string_view machine) const {
  std::string machines;
  for (const bundle::Agent& variant : variants_) {
    if (variant.machine == machine) return variant;
    machines += (machines.empty() ? "" : " and ") + std::string(variant.machine);
  }
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          "its CPU architecture is " + std::string(machine) +
                              (place_ == kAgentPlace ? ", and this autodist has agents for "
                                                     : ", and this autodist is for ") +
                              machines),
                    place_ == kAgentPlace
                        ? "remove the node, or build autodist with an agent for it (make release)"
                        : "choose a node of that architecture");
}

std::string NodeProgram::PathOnNode() const {
  return std::string(".cache/autodist/") + place_ + "/" +
         std::string(variants_.front().program.sha256) + "/" + file();
}

std::vector<std::string> NodeProgram::Versions() const {
  std::vector<std::string> versions;
  for (const bundle::Agent& variant : variants_) {
    versions.emplace_back(variant.program.sha256);
    versions.push_back(std::to_string(variant.program.size));
  }
  return versions;
}

Result<std::string> NodeProgram::PathHere() {
  if (given_) return given_->path;
  const bundle::File& program = variants_.front().program;
  const std::string home = base::HomeFolder();
  std::string path = home + "/" + PathOnNode();
  const auto is_there = [&] { return files::HoldsProgram(path, program.size); };
  if (!home.empty() && is_there()) return path;
  AD_ASSIGN_OR_RETURN(const std::string content, bundle::Unpack(program));
  if (!home.empty() && files::WriteProgram(path, content).ok() && is_there()) return path;
  return InMemory(content);
}

// A home folder may be read-only, full, accessible to others, or mounted noexec.
Result<std::string> NodeProgram::InMemory(std::string_view content) {
  const base::UniqueFd made(memfd_create(file(), MFD_CLOEXEC));
  if (!made.valid()) return ErrnoError(errno, "a file in memory for the agent");
  AD_RETURN_IF_ERROR(base::WriteAll(made.get(), content, base::Deadline::Never()));
  // A file that is open for writing cannot be executed.
  memory_.Reset(
      open(("/proc/self/fd/" + std::to_string(made.get())).c_str(), O_RDONLY | O_CLOEXEC));
  if (!memory_.valid()) return ErrnoError(errno, "a file in memory for the agent");
  return "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(memory_.get());
}

}  // namespace autodist::transfer
