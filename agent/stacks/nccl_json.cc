// Parses NCCL's answer in JSON, since 2.28.7.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "agent/stacks/nccl_ras.h"
#include "base/quantity.h"
#include "base/ranges.h"
#include "base/utf8.h"

namespace autodist::agent {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxNcclDepth = 8;        // of objects and arrays
constexpr size_t kMaxNcclRanks = 65'536;   // in all communicators
constexpr size_t kMaxNcclOperations = 64;  // kinds, of one rank
constexpr size_t kMaxNcclText = 200;       // bytes

// A rank of a communicator. Missing or wrong members are 0, "" and false.
struct NcclRank {
  uint64_t rank = 0;
  uint64_t pid = 0;
  std::string host;
  std::map<std::string, uint64_t> collectives;  // number by operation
  uint64_t async_error = 0;
  bool aborted = false;
  bool dead = false;
  bool unresponsive = false;

  // Formats its issues.
  std::string Issue() const {
    if (dead) return ", is taken for dead";
    if (unresponsive) return ", does not answer";
    return (async_error == 0 ? "" : ", asynchronous error " + std::to_string(async_error)) +
           (aborted ? ", aborted" : "");
  }
  std::string IssueLine(const std::string& issue) const {
    return "  rank " + std::to_string(rank) + " (process " + std::to_string(pid) + " on " + host +
           ")" + issue + "\n";
  }
};

struct NcclCommunicator {
  std::string hash;
  uint64_t size = 0;
  std::vector<NcclRank> ranks;
  std::vector<NcclRank> missing;
};

NcclView::Process ProcessOf(const NcclCommunicator& communicator, const NcclRank& rank) {
  NcclView::Process process;
  process.host = rank.host;
  GroupCount& count = process.count;
  count.source = "NCCL";
  count.pid = static_cast<pid_t>(rank.pid);
  count.group = communicator.hash;
  count.size = communicator.size;
  std::string text;
  for (const auto& [operation, number] : rank.collectives) {
    count.entered += number;
    text += (text.empty() ? "" : ", ") + operation + " " + std::to_string(number);
  }
  if (!text.empty()) count.what = {std::move(text)};
  return process;
}

void AddCommunicator(const NcclCommunicator& communicator, NcclView& view) {
  std::map<uint64_t, std::vector<uint64_t>> ranks;  // by number of entered collectives
  std::string issues;
  for (const NcclRank& rank : communicator.ranks) {
    NcclView::Process process = ProcessOf(communicator, rank);
    ranks[process.count.entered].push_back(rank.rank);
    if (!rank.Issue().empty()) issues += rank.IssueLine(rank.Issue());
    view.processes.push_back(std::move(process));
  }
  for (const NcclRank& rank : communicator.missing) {
    issues += rank.IssueLine(rank.Issue().empty() ? ", is missing" : rank.Issue());
  }
  view.summary +=
      "communicator " + communicator.hash + " of " + base::Count(communicator.size, "rank") + "\n";
  for (auto& [entered, whose] : ranks) {
    std::ranges::sort(whose);
    view.summary += "  " + base::Count(entered, "collective") + " entered by " +
                    (whose.size() == 1 ? "rank " : "ranks ") + base::RangesText(whose, ", ") + "\n";
  }
  view.summary += issues;
}

// Collects the communicators; ignores other values. Keeps no tree of the values, which would be
// large: the answer may come from any program of the job.
class NcclReader : public nlohmann::json_sax<Json> {
 public:
  explicit NcclReader(NcclView& view) : view_(view) {}

  std::string version;

  bool start_object(size_t) override { return Enter(); }
  bool start_array(size_t) override { return !paths_.empty() && Enter(); }
  bool end_array() override { return Leave(); }
  bool end_object() override {
    const std::string& path = paths_.back();
    if (path == kRanks) communicator_.ranks.push_back(std::exchange(rank_, {}));
    if (path == kMissing) communicator_.missing.push_back(std::exchange(rank_, {}));
    if (path == kRanks || path == kMissing) ++ranks_;
    if (path == kCommunicators) AddCommunicator(std::exchange(communicator_, {}), view_);
    return ranks_ <= kMaxNcclRanks && Leave();
  }
  bool key(string_t& name) override {
    key_ = name.substr(0, kMaxNcclText);
    return true;
  }
  bool null() override { return !paths_.empty(); }
  bool number_integer(number_integer_t) override { return !paths_.empty(); }
  bool number_float(number_float_t, const string_t&) override { return !paths_.empty(); }
  bool binary(binary_t&) override { return false; }
  bool number_unsigned(number_unsigned_t value) override {
    if (paths_.empty()) return false;
    const std::string& path = paths_.back();
    const bool of_rank = path == kRanks || path == kMissing;
    if (path == kCommunicators && key_ == "size") communicator_.size = value;
    if (of_rank && key_ == "rank") rank_.rank = value;
    if (of_rank && key_ == "pid") rank_.pid = value;
    if (path.ends_with("/status") && key_ == "async_error") rank_.async_error = value;
    const bool counts = path.ends_with("/collective_counts") && value > 0;
    if (counts && rank_.collectives.size() < kMaxNcclOperations) rank_.collectives[key_] = value;
    return true;
  }
  bool boolean(bool value) override {
    if (paths_.empty()) return false;
    if (!paths_.back().ends_with("/status")) return true;
    if (key_ == "abort_flag") rank_.aborted = value;
    if (key_ == "considered_dead") rank_.dead = value;
    if (key_ == "unresponsive") rank_.unresponsive = value;
    return true;
  }
  bool string(string_t& value) override {
    if (paths_.empty()) return false;
    const std::string& path = paths_.back();
    const std::string text = value.substr(0, kMaxNcclText);
    if (path.empty() && key_ == "nccl_version") version = text;
    if (path == kCommunicators && key_ == "hash") communicator_.hash = text;
    if ((path == kRanks || path == kMissing) && key_ == "host") rank_.host = text;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static constexpr char kCommunicators[] = "/communicators";
  static constexpr char kRanks[] = "/communicators/ranks";
  static constexpr char kMissing[] = "/communicators/missing_ranks";

  // Elements of an array have its path.
  bool Enter() {
    if (paths_.size() == kMaxNcclDepth) return false;
    paths_.push_back(paths_.empty() ? "" : paths_.back() + (key_.empty() ? "" : "/" + key_));
    key_.clear();
    return true;
  }
  bool Leave() {
    paths_.pop_back();
    key_.clear();
    return true;
  }

  NcclView& view_;
  std::vector<std::string> paths_;  // of the open objects and arrays
  std::string key_;                 // "": of an element
  NcclCommunicator communicator_;
  NcclRank rank_;
  size_t ranks_ = 0;
};

}  // namespace

Result<NcclView> ReadNcclJson(std::string_view json) {
  NcclView view;
  NcclReader reader(view);
  if (!Json::sax_parse(json, &reader)) {
    return Error(StatusCode::kDataLoss, "NCCL's answer is not the expected JSON");
  }
  view.summary = base::PrintableLines("NCCL " + reader.version + "\n" + view.summary);
  return view;
}

}  // namespace autodist::agent
