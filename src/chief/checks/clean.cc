#include "chief/checks/clean.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/parallel.h"
#include "base/random.h"
#include "reach/login_script.h"
#include "scripts/scripts.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;

constexpr size_t kCleanedAtOnce = 64;
constexpr size_t kMaxJobLength = 255;  // bytes, of the folder's name

std::optional<CleanedJob> ReadJob(std::string_view line) {
  using What = CleanedJob::What;
  constexpr std::array<std::pair<std::string_view, What>, 4> kWords = {
      {{"ended\t", What::kEnded},
       {"in-use\t", What::kInUse},
       {"removed\t", What::kRemoved},
       {"left\t", What::kLeft}}};
  const auto plain = [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '.'; };
  for (const auto& [word, what] : kWords) {
    if (!line.starts_with(word)) continue;
    const std::string_view job = line.substr(word.size());
    if (!job.empty() && job.size() <= kMaxJobLength && std::ranges::all_of(job, plain)) {
      return CleanedJob{what, std::string(job)};
    }
  }
  return std::nullopt;
}

Result<CleanedNode> Clean(size_t node, const ReachToClean& reach, milliseconds limit,
                          reach::LoginRetryBudget& servers) {
  AD_ASSIGN_OR_RETURN(const NodeToClean way, reach(node));
  const std::string nonce = base::RandomHex();
  std::vector<std::string> argv = {"/bin/sh", "-c",  scripts::Script({"own_folder", "clean"}),
                                   "sh",      nonce, way.agent};
  argv.insert(argv.end(), way.versions.begin(), way.versions.end());
  return reach::RunLoginScript<CleanedNode>(
      *way.transport, argv, [&](std::string_view output) { return ReadCleaned(output, nonce); },
      limit, servers);
}

}  // namespace

Result<CleanedNode> ReadCleaned(std::string_view output, const std::string& nonce) {
  const std::string begin = "\nAUTODIST-CLEAN " + nonce + "\n";
  const std::string end = "\nAUTODIST-CLEANED " + nonce + " ";
  const size_t first = output.find(begin);
  const size_t last = first == std::string_view::npos ? first : output.find(end, first);
  const size_t line_end = last == std::string_view::npos ? last : output.find('\n', last + 1);
  if (line_end == std::string_view::npos) {
    return Error(StatusCode::kNotFound, "no answer");
  }
  const std::string_view status = output.substr(last + end.size(), line_end - last - end.size());
  if (status != "0" && status != "none") {
    return Error(StatusCode::kInternal, "its agent could not clean up");
  }
  CleanedNode node;
  node.has_agent = status == "0";
  std::string_view lines = output.substr(first + begin.size(), last - first - begin.size() + 1);
  while (!lines.empty()) {
    const size_t newline = std::min(lines.find('\n'), lines.size() - 1);
    if (auto job = ReadJob(lines.substr(0, newline))) node.jobs.push_back(std::move(*job));
    lines.remove_prefix(newline + 1);
  }
  return node;
}

std::vector<Result<CleanedNode>> CleanNodes(size_t nodes, const ReachToClean& reach,
                                            milliseconds limit) {
  std::vector<Result<CleanedNode>> answers(nodes, Error(StatusCode::kUnknown, "not asked"));
  reach::LoginRetryBudget servers;
  base::ParallelFor(nodes, kCleanedAtOnce,
                    [&](size_t node) { answers[node] = Clean(node, reach, limit, servers); });
  return answers;
}

}  // namespace autodist::chief
