#include "agent/fetch/send_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/fetch/job_span.h"
#include "base/deadline.h"
#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/home_folder.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "files/file_patterns.h"
#include "files/file_tree.h"
#include "files/temporary_file.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

using std::chrono::nanoseconds;

// Times in a request are too short by what it takes to arrive, which is less than this.
constexpr std::chrono::seconds kOnTheWay{1};

nanoseconds FromMessage(uint64_t ms) {
  constexpr uint64_t kMaxMs = uint64_t{1000} * 3600 * 24 * 365 * 50;
  return std::chrono::milliseconds(std::min(ms, kMaxMs));
}

// A time that this node has measured is exact, but may be that of another agent's ranks, or wrong
// because a clock was set.
JobAge AgeOf(const v1::FetchFilesRequest& request, std::optional<nanoseconds> since_start) {
  JobAge age;
  if (request.ended_ms() != 0) age.ended = FromMessage(request.ended_ms()) - kOnTheWay;
  if (request.began_ms() == 0) return age;
  age.began = FromMessage(request.began_ms());
  age.error = kOnTheWay;
  if (!since_start && request.began_ns() > 0) {
    since_start = nanoseconds(base::NanosecondsSince1970() - request.began_ns());
  }
  if (since_start && std::chrono::abs(*since_start - *age.began) <= kOnTheWay) {
    age.began = since_start;
    age.error = {};
  }
  return age;
}

// Finds the files of a folder on this node that the chief has requested.

struct MatchingFiles {
  base::UniqueFd folder;
  std::vector<std::string> paths;     // of regular files within it, by name
  uint64_t bytes = 0;                 // of these files at present
  uint64_t unchanged = 0;             // other matching files, which the job has not changed
  std::vector<std::string> left_out;  // other matching entries, and unreadable ones, with reasons
};

class Search {
 public:
  Search(const files::FilePatterns& patterns, const JobSpan& span,
         const std::function<bool()>& go_on)
      : patterns_(patterns), span_(span), go_on_(go_on) {}

  // Opens one folder at a time, because a tree may be deeper than there are descriptors.
  Status Visit(int root) {
    while (!folders_.empty()) {
      const Folder folder = std::move(folders_.back());
      folders_.pop_back();
      AD_RETURN_IF_ERROR(VisitFolder(files::OpenFolderWithin(root, folder.path), folder));
    }
    std::ranges::sort(found_.paths);
    std::ranges::sort(found_.left_out);
    return OkStatus();
  }
  MatchingFiles& found() { return found_; }

 private:
  struct Folder {
    std::string path;
    bool all;  // a pattern has matched this folder, or one above it
  };

  Status VisitFolder(const base::UniqueFd& fd, const Folder& folder);
  Status VisitEntry(int folder, const std::string& name, const std::string& path, bool all);
  void LeaveOut(const std::string& path, const std::string& why) {
    found_.left_out.push_back((path.empty() ? "." : path) + ": not fetched: " + why);
  }

  const files::FilePatterns& patterns_;
  const JobSpan& span_;
  const std::function<bool()>& go_on_;
  std::vector<Folder> folders_{{"", false}};  // to be visited
  MatchingFiles found_;
};

Status Search::VisitFolder(const base::UniqueFd& fd, const Folder& folder) {
  std::vector<std::string> names;
  if (fd.valid()) names = base::EntriesOf(fd.get());
  if (!fd.valid() || errno != 0) LeaveOut(folder.path, std::strerror(errno));
  for (const std::string& name : names) {
    if (files::IsTemporaryName(name) || name == files::kSyncRecord) continue;
    const std::string path = folder.path.empty() ? name : folder.path + "/" + name;
    AD_RETURN_IF_ERROR(VisitEntry(fd.get(), name, path, folder.all));
  }
  return OkStatus();
}

Status Search::VisitEntry(int folder, const std::string& name, const std::string& path, bool all) {
  if (!go_on_()) return Error(StatusCode::kCancelled, "cancelled");
  const bool wanted = all || patterns_.Match(path);
  if (!wanted && !patterns_.MayMatchIn(path)) return OkStatus();
  struct stat info;
  // Removed meanwhile.
  if (fstatat(folder, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return OkStatus();
  if (S_ISDIR(info.st_mode)) {
    folders_.push_back({path, wanted});
  } else if (!wanted) {
    return OkStatus();
  } else if (!span_.HasChanged(files::ModifiedNs(info), files::ChangedNs(info))) {
    ++found_.unchanged;
  } else if (!S_ISREG(info.st_mode)) {
    LeaveOut(path, S_ISLNK(info.st_mode) ? "a symbolic link" : "neither a file nor a folder");
  } else {
    found_.paths.push_back(path);
    found_.bytes += static_cast<uint64_t>(info.st_size);
  }
  if (found_.paths.size() <= rpc::kMaxFetchedFiles) return OkStatus();
  return WithRemedy(Error(StatusCode::kOutOfRange,
                          "more than " + std::to_string(rpc::kMaxFetchedFiles) + " files match"),
                    "ask for fewer, or for an archive of them");
}

// Follows symbolic links in the path of the folder, but none below it. kCancelled if `go_on`, which
// is called often, returns false. Blocks while it reads.
Result<MatchingFiles> FindFiles(const std::string& folder, const files::FilePatterns& patterns,
                                const JobAge& age, const std::function<bool()>& go_on) {
  base::UniqueFd root(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!root.valid()) return ErrnoError(errno, "the working directory " + folder);
  const auto measured = files::MeasuredTimeOfFiles(root.get());
  JobAge by_now = age;
  if (by_now.began) *by_now.began += std::chrono::steady_clock::now() - age.as_of;
  const JobSpan span(by_now, measured, base::NanosecondsSince1970());
  Search search(patterns, span, go_on);
  AD_RETURN_IF_ERROR(search.Visit(root.get()));
  search.found().folder = std::move(root);
  return std::move(search.found());
}

// Opens a path within the folder for reading; invalid, with errno, if it is no longer a regular
// file.
base::UniqueFd OpenWithin(int folder, const std::string& path) {
  const size_t name = path.rfind('/') + 1;  // 0 without a slash
  const base::UniqueFd above =
      files::OpenFolderWithin(folder, std::string_view(path).substr(0, name));
  return above.valid() ? files::OpenFileIn(above.get(), path.substr(name)) : base::UniqueFd();
}

constexpr std::chrono::seconds kChiefTakesLimit{60};

using base::Deadline;

// The interval of messages to the chief during the search.
constexpr std::chrono::milliseconds kSearchInterval{2000};

class Sender {
 public:
  explicit Sender(FetchCall& call) : call_(call) {}

  // Returns the failure of this node, or of the call.
  Status Run(const v1::FetchFilesRequest& request, const JobAge& age);
  // Returns the entries that were not sent, up to the limit of the message.
  std::vector<std::string> LeftOut() const;

 private:
  Status TellFound(bool same_folder);
  Status Send(const std::string& path);
  Status SendContent(int fd, const struct stat& before);
  bool GoOn();

  FetchCall& call_;
  MatchingFiles found_;
  Deadline tell_at_ = Deadline::After(kSearchInterval);
};

Status Sender::Run(const v1::FetchFilesRequest& request, const JobAge& age) {
  const std::string folder = base::ExpandHome(request.folder());
  if (files::HasTemporary(folder, request.probe())) return TellFound(true);
  AD_ASSIGN_OR_RETURN(
      const files::FilePatterns patterns,
      files::FilePatterns::Parse({request.patterns().begin(), request.patterns().end()}));
  AD_ASSIGN_OR_RETURN(found_, FindFiles(folder, patterns, age, [this] { return GoOn(); }));
  AD_RETURN_IF_ERROR(TellFound(false));
  for (const std::string& path : found_.paths) AD_RETURN_IF_ERROR(Send(path));
  return OkStatus();
}

Status Sender::TellFound(bool same_folder) {
  v1::FetchFilesResponse response;
  response.mutable_found()->set_same_folder(same_folder);
  response.mutable_found()->set_files(found_.paths.size());
  response.mutable_found()->set_bytes(found_.bytes);
  response.mutable_found()->set_unchanged(found_.unchanged);
  return call_.Write(std::move(response));
}

bool Sender::GoOn() {
  if (!tell_at_.Expired()) return true;
  tell_at_ = Deadline::After(kSearchInterval);
  return call_.Write({}).ok();
}

// Leaves out a path that is no longer a file.
Status Sender::Send(const std::string& path) {
  const base::UniqueFd fd = OpenWithin(found_.folder.get(), path);
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) {
    found_.left_out.push_back(path + ": " + std::strerror(errno));
    return OkStatus();
  }
  v1::FetchFilesResponse response;
  v1::FetchedFile& file = *response.mutable_file();
  file.set_path(path);
  file.set_mode(info.st_mode & files::kPermissions);
  file.set_size(static_cast<uint64_t>(info.st_size));
  file.set_modified_ns(files::ModifiedNs(info));
  AD_RETURN_IF_ERROR(call_.Write(std::move(response)));
  return SendContent(fd.get(), info);
}

// Sends at most the size at opening, and less if the file ends before.
Status Sender::SendContent(int fd, const struct stat& before) {
  auto left = static_cast<uint64_t>(before.st_size);
  for (bool last = false; !last;) {
    v1::FetchFilesResponse response;
    v1::FetchedContent& content = *response.mutable_content();
    std::string& data = *content.mutable_data();
    data.resize(std::min<uint64_t>(left, rpc::kLargestFetchPiece));
    const ssize_t got = data.empty() ? 0 : read(fd, data.data(), data.size());
    if (got < 0 && errno == EINTR) continue;
    data.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    left -= data.size();
    last = got <= 0 || left == 0;
    struct stat now;
    content.set_last(last);
    content.set_changed(last && (fstat(fd, &now) != 0 || now.st_size != before.st_size ||
                                 files::ModifiedNs(now) != files::ModifiedNs(before)));
    AD_RETURN_IF_ERROR(call_.Write(std::move(response)));
  }
  return OkStatus();
}

std::vector<std::string> Sender::LeftOut() const {
  std::vector<std::string> reported = found_.left_out;
  if (reported.size() <= rpc::kMaxLeftOut) return reported;
  reported.resize(rpc::kMaxLeftOut - 1);
  reported.push_back("and " + std::to_string(found_.left_out.size() - reported.size()) + " more");
  return reported;
}

}  // namespace

Status FetchCall::Write(v1::FetchFilesResponse message) {
  std::unique_lock lock(mutex_);
  if (ended_) return Error(StatusCode::kCancelled, "the chief has ended the call");
  outgoing_ = std::move(message);
  writing_ = true;
  StartWrite(&outgoing_);
  const auto written = [this] { return !writing_; };
  if (!changed_.wait_for(lock, kChiefTakesLimit, written)) {
    ended_ = true;
    context_.TryCancel();
    changed_.wait(lock, written);
  }
  return ended_ ? Error(StatusCode::kCancelled, "the chief takes nothing") : OkStatus();
}

bool FetchCall::Cancelled() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void FetchCall::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  ended_ |= !ok;
  changed_.notify_all();
}

void FetchCall::OnCancel() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
}

void FetchCall::End() { Finish(Cancelled() ? grpc::Status::CANCELLED : grpc::Status::OK); }

void SendFiles(FetchCall& call, const v1::FetchFilesRequest& request,
               std::optional<nanoseconds> since_start) {
  const JobAge age = AgeOf(request, since_start);
  Sender sender(call);
  const Status status = sender.Run(request, age);
  v1::FetchFilesResponse response;
  v1::FetchFinished& finished = *response.mutable_finished();
  if (!status.ok()) {
    finished.set_error(base::ToUtf8(Message(status), rpc::kMaxTextLength));
    finished.set_remedy(base::ToUtf8(Remedy(status), rpc::kMaxTextLength));
  }
  for (const std::string& text : sender.LeftOut()) {
    finished.add_left_out(base::ToUtf8(text, rpc::kMaxTextLength));
  }
  (void)call.Write(std::move(response));  // if the chief still listens
}

}  // namespace autodist::agent
