#include "chief/fetch/job_fetch.h"

#include <absl/strings/ascii.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "base/exceptions.h"
#include "base/fd.h"
#include "base/home_folder.h"
#include "base/parallel.h"
#include "base/private_folder.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "chief/checks/doctor.h"
#include "control/job_record.h"
#include "files/file_tree.h"
#include "files/temporary_file.h"

namespace autodist::chief {
namespace {

constexpr size_t kMaxAtOnce = 16;  // nodes
constexpr size_t kMaxNameLength = 200;

void AddIssue(google::protobuf::RepeatedPtrField<v1::NodeIssue>& issues, const std::string& node,
              const std::string& what, const std::string& remedy) {
  const std::string text = base::ToUtf8(what);
  auto found = std::ranges::find_if(issues, [&](const v1::NodeIssue& issue) {
    return issue.what() == text && issue.remedy() == remedy;
  });
  v1::NodeIssue& issue = found == issues.end() ? *issues.Add() : *found;
  issue.add_nodes(node);
  issue.set_what(text);
  issue.set_remedy(remedy);
}

// Returns names for the nodes' folders: none of another node, and none of the job's own files. An
// earlier fetch may have made the folders.
std::vector<std::string> FolderNames(const v1::LaunchPlan& plan,
                                     const base::LogFolder& log_folder) {
  const auto is_file = [&](const std::string& name) {
    struct stat info;
    return lstat((log_folder.path() + "/" + name).c_str(), &info) == 0 && !S_ISDIR(info.st_mode);
  };
  std::vector<std::string> names;
  for (const v1::NodePlan& node : plan.nodes()) {
    std::string name = FolderNameOf(node.address());
    while (std::ranges::count(names, name) > 0 || is_file(name)) name = "node-" + name;
    names.push_back(std::move(name));
  }
  return names;
}

// A file in the chief's folder, by which a node knows that it has the same one. Without write
// access there, such a node sends files that exist already.
class FolderProbe {
 public:
  explicit FolderProbe(const std::string& path)
      : folder_(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (!folder_.valid()) return;
    if (auto made = files::TemporaryFile::Create(folder_.get()); made.ok()) {
      file_.emplace(*std::move(made));
    }
  }
  std::string name() const { return file_ ? file_->name() : ""; }

 private:
  const base::UniqueFd folder_;
  std::optional<files::TemporaryFile> file_;
};

transfer::FetchOrder OrderOf(const v1::FetchRequest& request, const std::string& folder) {
  transfer::FetchOrder order;
  order.folder = folder;
  order.patterns = {request.patterns().begin(), request.patterns().end()};
  if (request.most_bytes() > 0) order.most_bytes = request.most_bytes();
  return order;
}

// When the first rank of each node started, by the node's clock.
constexpr char kTimesFile[] = "started.txt";
constexpr size_t kMaxTimesFile = 4 << 20;  // bytes

std::map<std::string, int64_t> StartTimes(const base::LogFolder& log_folder) {
  std::map<std::string, int64_t> times;
  std::istringstream text(
      base::ReadOwnFile(log_folder.path() + "/" + kTimesFile, kMaxTimesFile).value_or(""));
  std::string address;
  int64_t time_ns = 0;
  while (text >> address >> time_ns) times[address] = time_ns;
  return times;
}

// nodes.json was written then, by the clock of the file server.
Result<std::chrono::nanoseconds> SinceRanksStarted(const base::LogFolder& log_folder) {
  AD_ASSIGN_OR_RETURN(const auto folder, log_folder.Open());
  struct stat info;
  if (fstatat(folder->get(), control::kNodesFile, &info, AT_SYMLINK_NOFOLLOW) != 0) {
    return ErrnoError(errno, log_folder.path() + "/" + control::kNodesFile);
  }
  return std::chrono::nanoseconds(files::TimeOfFilesNow(folder->get()) - files::ModifiedNs(info));
}

// `link`: null if the node cannot be reached, for the reason `why_not`.
void FetchFrom(launch::NodeLink* link, const Status& why_not, const transfer::FetchOrder& order,
               const base::LogFolder& log_folder, const std::stop_token& stop, FetchedNode& node) {
  node.fetched.same_folder = node.here;
  if (node.here) return;
  node.fetched.status = why_not;
  if (!link) return;
  transfer::FetchedFolder into(log_folder, node.folder);
  node.fetched = link->Fetch(order, into, stop);
}

v1::JobFiles FilesOf(const std::vector<FetchedNode>& nodes, const base::LogFolder& log_folder,
                     const std::string& shared) {
  v1::JobFiles files;
  files.set_folder(std::filesystem::absolute(log_folder.path()));
  files.set_shared(base::ToUtf8(shared));
  files.set_asked(static_cast<uint32_t>(nodes.size()));
  for (const FetchedNode& node : nodes) {
    const transfer::FetchedFiles& fetched = node.fetched;
    files.set_files(files.files() + fetched.files);
    files.set_bytes(files.bytes() + fetched.bytes);
    files.set_unchanged(files.unchanged() + fetched.unchanged);
    files.set_nodes(files.nodes() + (fetched.files > 0 ? 1 : 0));
    files.set_sharing(files.sharing() + (fetched.same_folder ? 1 : 0));
    files.set_chief_has_own(files.chief_has_own() || node.here);
    for (const std::string& warning : fetched.warnings) {
      AddIssue(*files.mutable_warnings(), node.address, warning, "");
    }
    if (fetched.status.ok()) continue;
    AddIssue(*files.mutable_failures(), node.address, Message(fetched.status),
             base::ToUtf8(Remedy(fetched.status)));
  }
  return files;
}

}  // namespace

std::string FolderNameOf(const std::string& address) {
  std::string name = address.substr(0, kMaxNameLength);
  const auto allowed = [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == ':';
  };
  std::ranges::replace_if(name, std::not_fn(allowed), '_');
  return name.empty() || name.front() == '.' ? "node-" + name : name;
}

JobFetch::JobFetch(const v1::LaunchPlan& job, base::LogFolder log_folder, Loop& loop,
                   const Fleet& nodes,
                   std::function<std::shared_ptr<launch::NodeLink>(uint32_t node)> link_of)
    : job_(job),
      log_folder_(std::move(log_folder)),
      loop_(loop),
      nodes_(nodes),
      link_of_(std::move(link_of)) {}

void JobFetch::Finish() {
  Cancel();
  if (thread_.joinable()) thread_.join();
}

// Nodes whose events have arrived together are written together.
void JobFetch::RankStarted(uint32_t node, int64_t time_ns) {
  if (time_ns <= 0 || !started_.insert(node).second) return;
  const bool writes_soon = !new_times_.empty();
  new_times_ += job_.nodes(static_cast<int>(node)).address() + " " + std::to_string(time_ns) + "\n";
  if (writes_soon) return;
  loop_.Post([this] {
    loop_.InBackground([folder = log_folder_, text = std::exchange(new_times_, "")] {
      const auto file = folder.OpenFile(kTimesFile, O_WRONLY | O_CREAT | O_APPEND);
      // Without it, the times of a fetch are less exact.
      if (file.ok()) (void)base::WriteAll(file->get(), text, base::Deadline::Never()).ok();
    });
  });
}

std::vector<JobFetch::Source> JobFetch::Sources() {
  if (folders_.empty()) folders_ = FolderNames(job_, log_folder_);
  std::vector<Source> sources(nodes_.size());
  for (uint32_t node = 0; node < sources.size(); ++node) {
    Source& source = sources[node];
    const v1::NodePlan& plan = job_.nodes(static_cast<int>(node));
    source.node = {plan.address(), folders_[node], plan.reach().has_local(), {}};
    const NodeMachine& state = nodes_.state(node);
    if (nodes_.Connected(node)) source.link = link_of_(node);
    if (!source.link) {
      source.why_not = Error(StatusCode::kUnavailable,
                             state.disconnected() ? "it is not connected: " + state.detail()
                             : state.alive()      ? "it is not connected"
                                                  : "it is lost: " + state.detail());
    }
  }
  return sources;
}

void JobFetch::Start(const v1::FetchRequest& request, const std::stop_token& stop,
                     const FetchAnswer& answer) {
  if (busy_) {
    return answer(WithRemedy(
        Error(StatusCode::kFailedPrecondition, "files of this job are being fetched already"),
        "wait until that fetch has ended"));
  }
  busy_ = true;
  cancel_ = {};
  stopped_.emplace(stop, [cancel = cancel_]() mutable { cancel.request_stop(); });
  transfer::FetchOrder order = OrderOf(request, job_.working_directory());
  order.began = began_.value_or(base::Deadline::Clock::now());
  auto thread = base::StartThread([this, order = std::move(order), sources = Sources(),
                                   answer = answer, stop = cancel_.get_token()]() mutable {
    Result<v1::JobFiles> files = Error(StatusCode::kInternal, "the fetch failed");
    base::HandlingExceptions([&] { files = Fetch(std::move(order), sources, stop); });
    sources.clear();  // closes links of lost nodes, which may take a moment
    loop_.Post([this, files = std::move(files), answer = std::move(answer)] {
      busy_ = false;
      answer(files);
    });
  });
  if (thread.ok()) {
    thread_ = *std::move(thread);
  } else {
    busy_ = false;
    answer(thread.status());
  }
}

v1::JobFiles JobFetch::Fetch(transfer::FetchOrder order, std::vector<Source>& sources,
                             const std::stop_token& stop) const {
  const std::string here = base::ExpandHome(order.folder);
  const FolderProbe probe(here);
  order.probe = probe.name();
  base::ParallelFor(sources.size(), kMaxAtOnce, [&](size_t i) {
    Source& source = sources[i];
    FetchFrom(source.link.get(), source.why_not, order, log_folder_, stop, source.node);
  });
  std::vector<FetchedNode> nodes;
  nodes.reserve(sources.size());
  for (Source& source : sources) nodes.push_back(std::move(source.node));
  return FilesOf(nodes, log_folder_, here);
}

Result<v1::JobFiles> FetchAfterEnd(const v1::LaunchPlan& plan, launch::LaunchOptions options,
                                   const v1::JobStatus& job, const v1::FetchRequest& request) {
  const base::LogFolder log_folder(job.log_folder());
  transfer::FetchOrder order = OrderOf(request, plan.working_directory());
  const auto now = base::Deadline::Clock::now();
  AD_ASSIGN_OR_RETURN(const std::chrono::nanoseconds runs_for, SinceRanksStarted(log_folder));
  order.began = now - runs_for;
  order.ended = now - std::chrono::milliseconds(base::MillisecondsSince1970() - job.ended_ms());
  const std::string here = base::ExpandHome(order.folder);
  const FolderProbe probe(here);
  order.probe = probe.name();
  const std::vector<std::string> folders = FolderNames(plan, log_folder);
  std::vector<FetchedNode> nodes;
  for (const v1::NodePlan& node : plan.nodes()) {
    nodes.push_back({node.address(), folders[nodes.size()], node.reach().has_local(), {}});
  }
  const std::map<std::string, int64_t> times = StartTimes(log_folder);
  AD_RETURN_IF_ERROR(VisitAllNodes(
      plan, std::move(options), [&](launch::LaunchedNode& reached, const std::stop_token& stop) {
        FetchedNode& node = nodes[reached.node_rank];
        transfer::FetchOrder of_node = order;
        const auto time = times.find(node.address);
        if (time != times.end()) of_node.began_ns = time->second;
        FetchFrom(reached.link.get(), reached.status, of_node, log_folder, stop, node);
      }));
  return FilesOf(nodes, log_folder, here);
}

}  // namespace autodist::chief
