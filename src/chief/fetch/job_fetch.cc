#include "chief/fetch/job_fetch.h"

#include <absl/strings/ascii.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <utility>

#include "base/exceptions.h"
#include "base/fd.h"
#include "base/home_folder.h"
#include "base/parallel.h"
#include "base/thread.h"
#include "base/utf8.h"
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

std::vector<JobFetch::Source> JobFetch::Sources() {
  std::vector<Source> sources(nodes_.size());
  if (folders_.empty()) folders_.resize(sources.size());
  std::set<std::string> taken(folders_.begin(), folders_.end());
  for (uint32_t node = 0; node < sources.size(); ++node) {
    Source& source = sources[node];
    const v1::NodePlan& plan = job_.nodes(static_cast<int>(node));
    source.address = plan.address();
    source.here = plan.reach().has_local();
    if (folders_[node].empty()) {
      // Avoids the names of other nodes and the job's own files.
      std::string name = FolderNameOf(plan.address());
      struct stat info;
      while (taken.contains(name) || lstat((log_folder_.path() + "/" + name).c_str(), &info) == 0) {
        name = "node-" + name;
      }
      taken.insert(name);
      folders_[node] = std::move(name);
    }
    source.folder = folders_[node];
    const NodeMachine& state = nodes_.state(node);
    if (nodes_.Connected(node)) source.link = link_of_(node);
    if (!source.link) {
      source.why_not = Error(StatusCode::kUnavailable,
                             state.disconnected() ? "the connection is broken: " + state.detail()
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
  transfer::FetchOrder order;
  order.folder = job_.working_directory();
  order.patterns = {request.patterns().begin(), request.patterns().end()};
  if (request.most_bytes() > 0) order.most_bytes = request.most_bytes();
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
  const base::UniqueFd folder(open(here.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Without write access here, nodes that share the folder send files that exist already.
  std::optional<files::TemporaryFile> probe;
  if (folder.valid()) {
    if (auto made = files::TemporaryFile::Create(folder.get()); made.ok()) {
      probe.emplace(*std::move(made));
      order.probe = probe->name();
    }
  }
  base::ParallelFor(sources.size(), kMaxAtOnce, [&](size_t i) {
    Source& source = sources[i];
    source.fetched.same_folder = source.here;
    if (source.here) return;
    source.fetched.status = source.why_not;
    if (!source.link) return;
    transfer::FetchedFolder into(log_folder_, source.folder);
    source.fetched = source.link->Fetch(order, into, stop);
  });
  return Sum(sources, here);
}

v1::JobFiles JobFetch::Sum(const std::vector<Source>& sources, const std::string& shared) const {
  v1::JobFiles files;
  files.set_folder(std::filesystem::absolute(log_folder_.path()));
  files.set_shared(base::ToUtf8(shared));
  files.set_asked(static_cast<uint32_t>(sources.size()));
  for (const Source& source : sources) {
    const transfer::FetchedFiles& fetched = source.fetched;
    files.set_files(files.files() + fetched.files);
    files.set_bytes(files.bytes() + fetched.bytes);
    files.set_nodes(files.nodes() + (fetched.files > 0 ? 1 : 0));
    files.set_sharing(files.sharing() + (fetched.same_folder ? 1 : 0));
    for (const std::string& warning : fetched.warnings) {
      AddIssue(*files.mutable_warnings(), source.address, warning, "");
    }
    if (fetched.status.ok()) continue;
    AddIssue(*files.mutable_failures(), source.address, Message(fetched.status),
             base::ToUtf8(Remedy(fetched.status)));
  }
  return files;
}

}  // namespace autodist::chief
