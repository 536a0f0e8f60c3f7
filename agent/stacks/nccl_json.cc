// Parses NCCL's answer in JSON, since 2.28.7.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "agent/stacks/nccl_ras.h"
#include "base/quantity.h"
#include "base/ranges.h"
#include "base/utf8.h"

namespace autodist::agent {
namespace {

using Json = nlohmann::json;

// Returns 0 and "" for a missing or wrong member.
const Json& In(const Json& object, const char* key) {
  static const Json none;
  return object.is_object() && object.contains(key) ? object[key] : none;
}
uint64_t UnsignedIn(const Json& object, const char* key) {
  const Json& value = In(object, key);
  return value.is_number_unsigned() ? value.get<uint64_t>() : 0;
}
std::string TextIn(const Json& object, const char* key) {
  const Json& value = In(object, key);
  return value.is_string() ? value.get<std::string>() : "";
}
bool IsSo(const Json& object, const char* key) { return In(object, key) == true; }

// Formats "AllReduce 15, Broadcast 2", and adds the sum to `entered`.
std::string CountsText(const Json& counts, uint64_t& entered) {
  std::string text;
  for (const auto& [operation, value] : counts.items()) {
    const uint64_t number = value.is_number_unsigned() ? value.get<uint64_t>() : 0;
    if (number == 0) continue;
    entered += number;
    text += (text.empty() ? "" : ", ") + operation + " " + std::to_string(number);
  }
  return text;
}

std::string WhoText(const Json& rank) {
  return " (process " + std::to_string(UnsignedIn(rank, "pid")) + " on " + TextIn(rank, "host") +
         ")";
}

NcclView::Process ProcessOf(const Json& communicator, const Json& rank) {
  NcclView::Process process;
  process.host = TextIn(rank, "host");
  GroupCount& count = process.count;
  count.source = "NCCL";
  count.pid = static_cast<pid_t>(UnsignedIn(rank, "pid"));
  count.group = TextIn(communicator, "hash");
  count.size = UnsignedIn(communicator, "size");
  const Json& counts = In(rank, "collective_counts");
  if (counts.is_object()) count.what = {CountsText(counts, count.entered)};
  return process;
}

// Formats the issues of one rank.
std::string IssueText(const Json& rank) {
  const Json& status = In(rank, "status");
  std::string text;
  if (const uint64_t error = UnsignedIn(status, "async_error"); error != 0) {
    text += ", asynchronous error " + std::to_string(error);
  }
  if (IsSo(status, "abort_flag")) text += ", aborted";
  if (IsSo(status, "considered_dead")) return ", is taken for dead";
  if (IsSo(status, "unresponsive")) return ", does not answer";
  return text;
}

void AddCommunicator(const Json& communicator, NcclView& view) {
  std::map<uint64_t, std::vector<uint64_t>> ranks;  // by number of entered collectives
  std::string issues;
  for (const Json& rank : In(communicator, "ranks")) {
    NcclView::Process process = ProcessOf(communicator, rank);
    ranks[process.count.entered].push_back(UnsignedIn(rank, "rank"));
    const std::string issue = IssueText(rank);
    if (!issue.empty()) {
      issues += "  rank " + std::to_string(UnsignedIn(rank, "rank")) + WhoText(rank) + issue + "\n";
    }
    view.processes.push_back(std::move(process));
  }
  for (const Json& rank : In(communicator, "missing_ranks")) {
    issues += "  rank " + std::to_string(UnsignedIn(rank, "rank")) + WhoText(rank) +
              (IssueText(rank).empty() ? ", is missing" : IssueText(rank)) + "\n";
  }
  view.summary += "communicator " + TextIn(communicator, "hash") + " of " +
                  base::Count(UnsignedIn(communicator, "size"), "rank") + "\n";
  for (auto& [entered, whose] : ranks) {
    std::ranges::sort(whose);
    view.summary += "  " + base::Count(entered, "collective") + " entered by " +
                    (whose.size() == 1 ? "rank " : "ranks ") + base::RangesText(whose, ", ") + "\n";
  }
  view.summary += issues;
}

}  // namespace

Result<NcclView> ReadNcclJson(std::string_view json) {
  const Json root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return Error(StatusCode::kDataLoss, "what NCCL answers is no JSON");
  NcclView view;
  view.summary = "NCCL " + TextIn(root, "nccl_version") + "\n";
  for (const Json& communicator : In(root, "communicators")) AddCommunicator(communicator, view);
  view.summary = base::PrintableLines(view.summary);
  return view;
}

}  // namespace autodist::agent
