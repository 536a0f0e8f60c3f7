#include "transfer/sync_text.h"

#include <algorithm>
#include <cstdio>

#include "autodist/status.h"
#include "base/a_few_of.h"
#include "base/log.h"
#include "base/quantity.h"
#include "base/utf8.h"

namespace autodist::transfer {
namespace {

constexpr size_t kNamedFiles = 3;  // of the nodes with the same ones
constexpr size_t kNamedNodes = 4;
constexpr size_t kMaxNamedGroups = 3;

std::string SomeOf(std::vector<std::string> names, size_t limit) {
  for (std::string& name : names) name = base::Printable(name);
  return base::AFewOf(names, limit);
}

}  // namespace

void FileSum::Add(File file) {
  if (file.entry >= counted_.size()) counted_.resize(file.entry + 1);
  if (counted_[file.entry]) return;
  counted_[file.entry] = true;
  ++files_;
  bytes_ += file.bytes;
}

std::string FileSum::Text() const {
  return base::Count(files_, "file") + ", " + base::Bytes(bytes_);
}

std::string SummaryText(const SyncTotals& totals, bool relays, std::chrono::duration<double> took) {
  char time[32];
  std::snprintf(time, sizeof time, " in %.1f s", took.count());
  std::string text = "synced: nothing to send";
  const std::string passed = "passed on to " + base::Count(totals.nodes_passed, "node");
  if (!totals.sent.empty()) {
    const bool once = relays && totals.nodes_sent == 1;
    text = "synced: " + totals.sent.Text() + " sent " +
           (once ? "once" : "to " + base::Count(totals.nodes_sent, "node")) +
           (totals.nodes_passed > 0 ? ", " + passed : "") + time;
  } else if (totals.nodes_passed > 0) {
    text = "synced: " + totals.passed.Text() + " " + passed + time;
  }
  if (totals.nodes_missed > 0) {
    text += "; " + base::Count(totals.nodes_missed, "node") +
            " could not get all files from the first node, and got them from here";
  }
  if (totals.nodes_sharing > 0) {
    text += "; " + base::Count(totals.nodes_sharing, "node") + " with the same folder";
  }
  return text;
}

std::string SendsText(const SyncNeeds& needs) {
  return "syncing " + needs.files.Text() + (needs.uncompared > 0 ? " to up to " : " to ") +
         base::Count(needs.nodes + needs.uncompared, "node");
}

uint64_t BytesToSend(const SyncNeeds& needs) {
  return needs.bytes + needs.uncompared * needs.files.bytes();
}

std::string WaitsText(const std::string& what, size_t nodes, bool busy,
                      const std::vector<std::string>& unreached) {
  constexpr size_t kNamed = 2;
  std::string connecting = "connecting to " + base::AFewOf(unreached, kNamed);
  if (!unreached.empty() && !busy) return connecting;
  const std::string of = unreached.empty() ? "" : std::to_string(nodes - unreached.size()) + " of ";
  return "comparing " + what + " with " + of + base::Count(nodes, "node") +
         (unreached.empty() ? "" : "; " + connecting);
}

std::string NamesByNode(const NodesByPath& files, const std::vector<std::string>& addresses) {
  std::map<std::set<uint32_t>, std::vector<std::string>> groups;
  for (const auto& [path, nodes] : files) groups[nodes].push_back(path);
  std::string text;
  size_t shown = 0;
  for (const auto& [nodes, paths] : groups) {
    if (shown == kMaxNamedGroups) {
      return text + "; and others";
    }
    std::vector<std::string> names;
    for (const uint32_t node : nodes) {
      names.push_back(node < addresses.size() ? addresses[node] : "node " + std::to_string(node));
    }
    text += (shown++ == 0 ? "" : "; ") + SomeOf(paths, kNamedFiles) + " on " +
            SomeOf(names, kNamedNodes);
  }
  return text;
}

std::string LargeOutputsText(const files::FileTree& tree, const std::vector<uint64_t>& entries,
                             const std::vector<JobTime>& jobs) {
  std::map<std::string, uint64_t> places;  // bytes, by the first part of the path
  uint64_t bytes = 0;
  for (const uint64_t index : entries) {
    const files::FileEntry& entry = tree.entries[index];
    const bool a_job_ran = std::ranges::any_of(jobs, [&](const JobTime& job) {
      return job.begin_ns <= entry.modified_ns && entry.modified_ns <= job.end_ns;
    });
    if (!a_job_ran) continue;
    places[entry.path.substr(0, entry.path.find('/')) +
           (entry.path.find('/') == std::string::npos ? "" : "/")] += entry.size;
    bytes += entry.size;
  }
  if (bytes < kLargeOutputs) return "";
  const auto by_bytes = [](const auto& place) { return place.second; };
  const std::string largest =
      base::Printable(std::ranges::max_element(places, {}, by_bytes)->first);
  return base::FailureText(WithRemedy(
      Error(StatusCode::kFailedPrecondition,
            "--sync sends " + base::Bytes(bytes) + " that was written while a job ran here" +
                (places.size() > 1 ? ", the largest part in " : ", in ") + largest),
      "if the nodes do not need it, add a line to .autodistignore: /" + largest));
}

}  // namespace autodist::transfer
