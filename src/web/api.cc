#include "web/api.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_split.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/host_name.h"
#include "base/parallel.h"
#include "control/diagnose_job.h"
#include "control/job_client.h"
#include "control/job_record.h"
#include "control/job_socket.h"
#include "control/jobs.h"
#include "json/plain_json.h"
#include "web/json.h"
#include "web/streams.h"

namespace autodist::web {
namespace {

constexpr std::chrono::seconds kFresh{2};
constexpr size_t kAskedAtOnce = 16;

constexpr char kJson[] = "application/json";
constexpr size_t kMaxBytes = 1 << 20;  // of a log file, in one answer
constexpr size_t kMaxHits = 200;
constexpr size_t kMaxQueryLength = 1 << 10;  // bytes
constexpr size_t kMaxSearches = 8;           // concurrent ones
constexpr size_t kMaxSearchers = 256;        // viewers whose last search is remembered

http::Answer AsJson(std::string text) { return {.type = kJson, .body = std::move(text)}; }

http::Answer Refuse(int status, const std::string& why) {
  return {.status = status, .type = kJson, .body = ErrorJson(why)};
}
http::Answer Refuse(const Status& why) {
  return Refuse(why.code() == StatusCode::kNotFound ? 404 : 502, Message(why));
}

template <typename Number>
Number NumberOf(const http::Request& request, const char* name, Number otherwise) {
  Number number = 0;
  return absl::SimpleAtoi(request.Parameter(name), &number) ? number : otherwise;
}

// As `autodist stop` does: does not ask twice.
Status AskToStop(const std::string& id) {
  AD_ASSIGN_OR_RETURN(const v1::JobStatus job, control::LookUpJob(id));
  if (job.phase() == v1::JOB_PHASE_ENDED || job.chief_gone() || job.stop_requested()) {
    return OkStatus();
  }
  AD_ASSIGN_OR_RETURN(const control::JobClient client, control::JobClient::Connect(id));
  return client.Signal(SIGTERM, "the web page");
}

}  // namespace

// Newest first.
std::vector<v1::JobStatus> JobsList::List() const {
  std::vector<v1::JobStatus> jobs;
  if (only_.empty()) {
    jobs = control::ListJobs();
    std::ranges::reverse(jobs);
  } else if (auto job = control::LookUpJob(only_); job.ok()) {
    jobs.push_back(*std::move(job));
  }
  return jobs;
}

JobsPage JobsList::Get(const std::stop_token& stop) {
  const std::lock_guard lock(mutex_);
  if (fresh_ && !fresh_->Expired()) return page_;
  page_.jobs = List();
  page_.progress.clear();
  std::map<std::string, std::unique_ptr<control::SnapshotClient>> readers;
  std::vector<control::SnapshotClient*> asked;
  for (const v1::JobStatus& job : page_.jobs) {
    const bool answers = !job.chief_gone() && !job.chief_silent() && !job.elsewhere();
    if (job.phase() == v1::JOB_PHASE_ENDED || !answers) continue;
    auto& reader = readers[job.job_id()];
    if (const auto found = readers_.find(job.job_id()); found != readers_.end()) {
      reader = std::move(found->second);
    } else {
      reader = std::make_unique<control::SnapshotClient>(job.job_id());
    }
    asked.push_back(reader.get());
  }
  // A suspended autodist does not answer, so ask them in parallel.
  std::vector<v1::Progress> progress(asked.size());
  base::ParallelFor(asked.size(), kAskedAtOnce, [&](size_t i) {
    const auto snapshot = asked[i]->Snapshot(stop);
    if (snapshot.ok() && (*snapshot)->has_progress()) progress[i] = (*snapshot)->progress();
  });
  for (size_t i = 0; i < asked.size(); ++i) {
    if (progress[i].ByteSizeLong() > 0) page_.progress[asked[i]->job_id()] = progress[i];
  }
  readers_ = std::move(readers);
  fresh_ = base::Deadline::After(kFresh);
  return page_;
}

Api::Api(const Access& access, std::string job, bool only_job, std::stop_token stop)
    : access_(access),
      job_(std::move(job)),
      only_job_(only_job),
      stop_(std::move(stop)),
      jobs_(only_job_ ? job_ : ""),
      viewers_(kMaxViewers),
      followers_(kMaxViewers),
      searchers_(kMaxSearches),
      askers_(kMaxAskers) {}

http::Answer Api::Handle(const http::Request& request) {
  if (request.method == "POST") {
    if (request.path == "/api/stop") return Stop(request);
    if (request.path == "/api/stacks") return Stacks(request);
    return Refuse(404, "Not found.");
  }
  if (request.path == "/api/jobs") return Jobs();
  const std::vector<std::string> words =
      absl::StrSplit(request.path, absl::MaxSplits('/', 4));  // "", api, jobs, ID, what
  if (words.size() == 5 && words[2] == "jobs") return OfJob(request, words[3], words[4]);
  return Refuse(404, "Not found.");
}

Result<std::string> Api::KnownJob(const std::string& id) const {
  const bool known =
      only_job_ ? id == job_ : control::IsJobId(id) && std::ranges::count(control::KnownJobs(), id);
  if (!known) return Error(StatusCode::kNotFound, "No such job.");
  return id;
}

http::Answer Api::Jobs() {
  JobsPage page = jobs_.Get(stop_);
  page.host = base::HostName();
  page.job = job_;
  page.control = access_.control();
  page.viewers = viewers_.taken();
  return AsJson(Json(page));
}

http::Answer Api::OfJob(const http::Request& request, const std::string& id,
                        const std::string& what) {
  const auto job = KnownJob(id);
  if (!job.ok()) return Refuse(job.status());
  const std::shared_ptr<JobSubscription> watch = subscriptions_.Of(*job);
  if (!watch) return Refuse(503, "Too many other jobs have viewers.");
  if (what == "events") return Events(request, watch);
  if (what == "history") return History(request, *watch);
  if (what == "why") return Why(*job);
  if (what == "snapshot") {
    const auto snapshot = watch->Snapshot();
    return snapshot.ok() ? AsJson(json::PlainJson(**snapshot)) : Refuse(snapshot.status());
  }
  const std::vector<std::string> words = absl::StrSplit(what, '/');
  uint32_t rank = 0;
  if (words.size() >= 2 && absl::SimpleAtoi(words[1], &rank)) {
    if (words[0] == "log" && words.size() == 2) return Log(request, *watch, rank);
    if (words[0] == "log" && words.size() == 3 && words[2] == "follow") {
      return FollowLog(request, *watch, rank);
    }
    if (words[0] == "search" && words.size() == 2) return SearchLog(request, *watch, rank);
  }
  return Refuse(404, "Not found.");
}

http::Answer Api::Events(const http::Request& request,
                         const std::shared_ptr<JobSubscription>& watch) {
  auto slot = viewers_.Take();
  if (!slot) return Refuse(503, "64 viewers are connected already; close one of them first.");
  return SnapshotStream(watch, {stop_, request.gone, std::move(slot)});
}

http::Answer Api::History(const http::Request& request, JobSubscription& watch) {
  const auto history = watch.History(NumberOf<int64_t>(request, "since", 0));
  return history.ok() ? AsJson(json::PlainJson(*history)) : Refuse(history.status());
}

Result<LogFile> Api::FileOf(const http::Request& request, JobSubscription& watch, uint32_t rank) {
  AD_ASSIGN_OR_RETURN(const auto snapshot, watch.Snapshot());
  const v1::JobStatus& job = snapshot->job();
  const auto attempt = NumberOf<uint32_t>(request, "attempt", job.attempt());
  const std::string folder = attempt < job.attempt()
                                 ? control::AttemptFolder(job.log_folder(), attempt)
                                 : job.attempt_folder();
  auto file = LogFile::Open(folder, rank, request.Parameter("stream") == "err");
  if (!file.ok()) {
    return Error(StatusCode::kNotFound, "No such log: " + Message(file.status()));
  }
  return file;
}

http::Answer Api::Log(const http::Request& request, JobSubscription& watch, uint32_t rank) {
  const auto file = FileOf(request, watch, rank);
  if (!file.ok()) return Refuse(file.status());
  const uint64_t size = file->Size();
  const size_t bytes = std::min(NumberOf<size_t>(request, "bytes", kMaxBytes), kMaxBytes);
  const uint64_t from = NumberOf<uint64_t>(request, "from", size > bytes ? size - bytes : 0);
  // Raw bytes: the page splits them into lines and characters.
  return {.type = "application/octet-stream",
          .body = file->Read(from, bytes),
          .headers = {{"X-Log-From", std::to_string(from)}, {"X-Log-Size", std::to_string(size)}}};
}

http::Answer Api::FollowLog(const http::Request& request, JobSubscription& watch, uint32_t rank) {
  auto file = FileOf(request, watch, rank);
  if (!file.ok()) return Refuse(file.status());
  auto slot = followers_.Take();
  if (!slot) return Refuse(503, "64 logs are followed already.");
  const uint64_t from = NumberOf<uint64_t>(request, "from", file->Size());
  return TailStream(std::make_shared<const LogFile>(*std::move(file)), from,
                    {stop_, request.gone, std::move(slot)});
}

std::stop_source Api::BeginSearch(const std::string& viewer) {
  std::stop_source mine;
  const std::lock_guard lock(mutex_);
  if (searches_.size() >= kMaxSearchers) searches_.clear();
  auto& last = searches_[viewer];
  last.request_stop();
  last = mine;
  return mine;
}

http::Answer Api::SearchLog(const http::Request& request, JobSubscription& watch, uint32_t rank) {
  const std::string text = request.Parameter("q");
  if (text.empty() || text.size() > kMaxQueryLength) {
    return Refuse(400, "The text to search for must have 1 to 1024 bytes.");
  }
  const auto file = FileOf(request, watch, rank);
  if (!file.ok()) return Refuse(file.status());
  const auto slot = searchers_.Take();
  if (!slot) return Refuse(503, "Too many concurrent searches; try again.");
  const std::stop_source mine = BeginSearch(request.Parameter("viewer"));
  Search search{.text = text, .backwards = request.Parameter("backwards") != "0", .most = kMaxHits};
  search.from = NumberOf<uint64_t>(request, "from", search.backwards ? file->Size() : 0);
  return AsJson(Json(Find(*file, search, [&] {
    return mine.stop_requested() || stop_.stop_requested() || request.gone();
  })));
}

// Viewers without actions may ask, too, but not stop ranks again and again.
http::Answer Api::Why(const std::string& job) {
  const auto slot = askers_.Take();
  if (!slot) return Refuse(503, "Too many viewers wait for a diagnosis; try again.");
  if (!access_.control()) {
    const std::lock_guard lock(mutex_);
    std::erase_if(diagnoses_, [](const auto& kept) { return kept.second.until.Expired(); });
    const auto kept = diagnoses_.find(job);
    if (kept != diagnoses_.end()) return AsJson(kept->second.json);
  }
  const auto diagnosis = control::DiagnoseJobNamed(job, stop_);
  if (!diagnosis.ok()) return Refuse(diagnosis.status());
  std::string json = control::DiagnosisJson(job, *diagnosis);
  if (!access_.control()) {
    const std::lock_guard lock(mutex_);
    diagnoses_.insert_or_assign(job, Diagnosis{json, base::Deadline::After(kDiagnosisKept)});
  }
  return AsJson(std::move(json));
}

http::Answer Api::Stop(const http::Request& request) {
  const auto job = KnownJob(request.Parameter("job"));
  const Status asked = job.ok() ? AskToStop(*job) : job.status();
  return asked.ok() ? AsJson("{}") : Refuse(asked);
}

http::Answer Api::Stacks(const http::Request& request) {
  const auto job = KnownJob(request.Parameter("job"));
  if (!job.ok()) return Refuse(job.status());
  const auto client = control::JobClient::Connect(*job);
  if (!client.ok()) return Refuse(client.status());
  std::vector<uint32_t> whole;
  if (uint32_t rank = 0; absl::SimpleAtoi(request.Parameter("rank"), &rank)) whole.push_back(rank);
  const auto stacks = client->GetStacks(whole, true, stop_);
  return stacks.ok() ? AsJson(json::PlainJson(*stacks)) : Refuse(stacks.status());
}

}  // namespace autodist::web
