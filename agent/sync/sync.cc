#include "agent/sync/sync.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "agent/prepare/data_address.h"
#include "agent/sync/extra_files.h"
#include "agent/sync/file_port.h"
#include "agent/sync/target_folder.h"
#include "base/deadline.h"
#include "base/home_folder.h"
#include "base/utf8.h"
#include "files/digest.h"
#include "files/file_patterns.h"
#include "files/temporary_file.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

using base::Deadline;

// The interval of messages to the chief while we work.
constexpr std::chrono::milliseconds kBusyInterval{200};
constexpr size_t kMaxShown = 10;
constexpr int kMaxDifferences = 5'000;        // in one message
constexpr size_t kMaxExtraNames = 256 << 10;  // bytes, in one message
constexpr size_t kMaxDeleted = 100'000;       // files
constexpr size_t kMaxLookedFor = 10'000;      // files that the chief does not have

// Combines the first few issues, with the code and the hint of the first.
Status AllInOne(const std::vector<Status>& issues) {
  std::string text;
  for (size_t i = 0; i < std::min(issues.size(), kMaxShown); ++i) {
    text += (i == 0 ? "" : "\n") + Message(issues[i]);
  }
  if (issues.size() > kMaxShown) {
    text += "\nand " + std::to_string(issues.size() - kMaxShown) + " more";
  }
  return {issues[0].code(), text, WriteRemedy(issues[0])};
}

// Refuses folders that have much besides a program, such as the home folder, /home and /tmp.
Status CheckMayBeMirrored(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path real = fs::weakly_canonical(folder, error);
  const fs::path to_home = fs::weakly_canonical(base::HomeFolder(), error).lexically_relative(real);
  struct stat info;
  const bool is_public = stat(folder.c_str(), &info) == 0 && (info.st_mode & S_IWOTH) != 0;
  const bool above_home = real == "/" || (!to_home.empty() && *to_home.begin() != "..");
  if (!is_public && !above_home) return OkStatus();
  const char* why = above_home ? ", which has the home folder" : ", where everyone can write";
  const char* hint = above_home ? "use another working directory"
                                : "chmod o-w it there, or use another working directory";
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          "--sync-delete would delete what is in " + folder + " on the node" + why),
                    hint);
}

// One synchronization, from begin to complete.
class Receiver {
 public:
  explicit Receiver(SyncCall& call) : call_(call) {}

  // Returns the failure of this node, of the chief's files or of the call.
  Status Run();

 private:
  Result<v1::SyncRequest> Next();  // the next non-empty message
  Status Begin(const v1::SyncBegin& begin);
  Status TakeList(const v1::SyncList& list);
  Status Settle(uint64_t index);
  Status DigestCandidate(uint64_t index);
  // Reports what the chief does not have, and deletes it if the chief mirrors its folder.
  Status SettleExtra();
  bool WorthTelling() const {
    return differences_.wanted_size() + differences_.digest_candidates_size() >= kMaxDifferences;
  }
  Status TellDifferences(bool last);
  Status TakeContent(const v1::SyncContent& content);
  Status Finish(files::NewFile& file, uint64_t index);
  Status TakePassed(const v1::SyncPassed& passed);
  Result<bool> GetFrom(FileSource& source, const v1::PassedFile& passed);
  Status PassOn(const v1::RelayRequest& order);
  Status TellReceipt();
  bool GoOn();  // called while we wait for others
  Status CheckIndex(uint64_t index) const;
  std::string Where(uint64_t index) const { return path_ + "/" + entries_[index].path(); }

  SyncCall& call_;
  std::string path_;
  v1::SyncBegin begin_;
  std::optional<TargetFolder> folder_;  // nullopt: it is the chief's folder, or a preview
  files::IgnoreTree rules_;
  std::vector<v1::FileEntry> entries_;
  std::string blocked_;  // a folder that could not be created, with '/': its contents are skipped
  std::vector<Status> issues_;
  v1::SyncDifferences differences_;  // not yet sent
  Deadline tell_at_ = Deadline::After(kBusyInterval);

  std::optional<files::NewFile> file_;  // the current file
  uint64_t file_index_ = 0;
  uint64_t received_ = 0;      // bytes of content
  uint64_t acknowledged_ = 0;  // reported to the chief

  // The source for files of other nodes; after an error it is no longer used.
  std::optional<Result<FileSource>> source_;
};

Result<v1::SyncRequest> Receiver::Next() {
  for (;;) {
    AD_ASSIGN_OR_RETURN(v1::SyncRequest request, call_.Read());
    if (request.message_case() != v1::SyncRequest::MESSAGE_NOT_SET) return request;
  }
}

Status Receiver::Run() {
  AD_ASSIGN_OR_RETURN(v1::SyncRequest request, Next());
  AD_RETURN_IF_ERROR(Begin(request.begin()));
  if (!folder_ && !begin_.preview()) return OkStatus();
  do {
    AD_ASSIGN_OR_RETURN(request, Next());
    if (request.has_ignore()) {
      rules_.Add({request.ignore().folder(), request.ignore().git(), request.ignore().own()});
      continue;
    }
    if (!request.has_list()) return Error(StatusCode::kInvalidArgument, "a list was expected");
    AD_RETURN_IF_ERROR(TakeList(request.list()));
  } while (!request.list().last());
  if (!issues_.empty()) return AllInOne(issues_);
  AD_RETURN_IF_ERROR(SettleExtra());
  if (!folder_) return OkStatus();
  AD_RETURN_IF_ERROR(TellDifferences(true));
  for (;;) {
    AD_ASSIGN_OR_RETURN(request, Next());
    if (request.has_complete() || request.has_relay()) folder_->Remember(entries_);
    if (request.has_complete()) return OkStatus();
    if (request.has_relay()) return PassOn(request.relay());
    if (request.has_passed()) AD_RETURN_IF_ERROR(TakePassed(request.passed()));
    for (const uint64_t index : request.same().entries()) {
      AD_RETURN_IF_ERROR(CheckIndex(index));
      folder_->TakeOverTime(entries_[index]);
    }
    if (request.has_content()) AD_RETURN_IF_ERROR(TakeContent(request.content()));
  }
}

Status Receiver::Begin(const v1::SyncBegin& begin) {
  begin_ = begin;
  path_ = base::ExpandHome(begin.folder());
  v1::SyncResponse response;
  v1::SyncTargetInfo& target = *response.mutable_target_info();
  target.set_same_folder(files::HasTemporary(path_, begin.probe()));
  begin_.set_preview(begin.preview() && !target.same_folder());
  if (!target.same_folder()) {
    if (begin.mirror()) AD_RETURN_IF_ERROR(CheckMayBeMirrored(path_));
    if (begin.preview()) return call_.Write(response);
    auto folder = TargetFolder::Open(path_, begin.mode());
    AD_RETURN_IF_ERROR(folder.status());
    folder_ = std::move(*folder);
    target.set_everyone_writes(folder_->everyone_writes());
  }
  return call_.Write(response);
}

Status Receiver::TakeList(const v1::SyncList& list) {
  for (const v1::FileEntry& entry : list.entries()) {
    entries_.push_back(entry);
    if (!folder_) continue;
    if (!blocked_.empty() && entry.path().starts_with(blocked_)) continue;
    const uint64_t index = entries_.size() - 1;
    const Status status = Settle(index);
    if (call_.Cancelled()) return Error(StatusCode::kCancelled, "cancelled");
    if (!status.ok()) {
      issues_.push_back(Annotate(status, Where(index)));
      if (entry.type() == v1::FILE_TYPE_FOLDER) blocked_ = entry.path() + "/";
    }
    if (tell_at_.Expired() || WorthTelling()) {
      AD_RETURN_IF_ERROR(TellDifferences(false));
    }
  }
  return OkStatus();
}

Status Receiver::Settle(uint64_t index) {
  AD_ASSIGN_OR_RETURN(const TargetFolder::Match match, folder_->Settle(entries_[index]));
  if (match == TargetFolder::Match::kDifferent) differences_.add_wanted(index);
  return match == TargetFolder::Match::kSuspect ? DigestCandidate(index) : OkStatus();
}

Status Receiver::DigestCandidate(uint64_t index) {
  const auto digest = folder_->Digest(entries_[index], [this] {
    return !call_.Cancelled() && (!tell_at_.Expired() || TellDifferences(false).ok());
  });
  if (digest.ok()) {
    v1::DigestCandidate& suspect = *differences_.add_digest_candidates();
    suspect.set_entry(index);
    suspect.set_digest(*digest);
  } else {
    differences_.add_wanted(index);  // an unreadable file can be replaced
  }
  return OkStatus();
}

Status Receiver::SettleExtra() {
  base::UniqueFd preview;
  if (!folder_) preview.Reset(open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const int root = folder_ ? folder_->fd() : preview.get();
  if (root < 0) return OkStatus();  // the folder will be created
  const std::vector<std::string> left_out(begin_.left_out().begin(), begin_.left_out().end());
  const size_t limit = begin_.mirror() ? kMaxDeleted : kMaxLookedFor;
  AD_ASSIGN_OR_RETURN(const ExtraFiles extra, FindExtraFiles(root, entries_, rules_, left_out,
                                                             limit, [this] { return GoOn(); }));
  if (begin_.mirror() && !extra.complete) {
    return WithRemedy(
        Error(StatusCode::kFailedPrecondition, path_ + ": more than " + std::to_string(limit) +
                                                   " files that the chief does not have"),
        "delete them there, or list them in .autodistignore");
  }
  if (begin_.mirror() && folder_) {
    AD_RETURN_IF_ERROR(Annotate(DeleteExtraFiles(root, extra), path_));
  }
  v1::SyncResponse response;
  v1::SyncExtra& names = *response.mutable_extra();
  size_t size = 0;
  for (const std::string& path : extra.files) {
    if (!begin_.mirror() && !MayBeReadAtStart(path)) continue;
    size += path.size();
    if (names.paths_size() == rpc::kMaxListLength || size > kMaxExtraNames) break;
    names.add_paths(path);
  }
  return names.paths().empty() ? OkStatus() : call_.Write(response);
}

Status Receiver::TellDifferences(bool last) {
  v1::SyncResponse response;
  *response.mutable_differences() = std::move(differences_);
  response.mutable_differences()->set_last(last);
  differences_.Clear();
  tell_at_ = Deadline::After(kBusyInterval);
  return call_.Write(response);
}

Status Receiver::CheckIndex(uint64_t index) const {
  const bool good = index < entries_.size() && entries_[index].type() == v1::FILE_TYPE_REGULAR;
  return good ? OkStatus() : Error(StatusCode::kInvalidArgument, "not the number of a file");
}

Status Receiver::TakeContent(const v1::SyncContent& content) {
  const uint64_t index = content.entry();
  AD_RETURN_IF_ERROR(CheckIndex(index));
  if (!file_) {
    auto file = folder_->Create(entries_[index]);
    AD_RETURN_IF_ERROR(Annotate(file.status(), Where(index)));
    file_.emplace(std::move(*file));
    file_index_ = index;
  }
  if (index != file_index_) return Error(StatusCode::kInvalidArgument, "two files at once");
  AD_RETURN_IF_ERROR(Annotate(file_->AddHole(content.hole()), Where(index)));
  AD_RETURN_IF_ERROR(Annotate(file_->Write(content.data()), Where(index)));
  received_ += content.hole() + content.data().size();
  if (content.last()) {
    AD_RETURN_IF_ERROR(Finish(*file_, index));
    file_.reset();
  }
  return tell_at_.Expired() ? TellReceipt() : OkStatus();
}

Status Receiver::Finish(files::NewFile& file, uint64_t index) {
  AD_RETURN_IF_ERROR(Annotate(file.Finish(), Where(index)));
  folder_->RemoveBytecode(entries_[index]);
  return OkStatus();
}

// The chief must send what is unavailable there; a failure to write here is an error.
Status Receiver::TakePassed(const v1::SyncPassed& passed) {
  v1::SyncResponse response;
  response.mutable_unavailable();
  for (const v1::PassedFile& file : passed.files()) {
    AD_RETURN_IF_ERROR(CheckIndex(file.entry()));
    if (!source_) source_ = FileSource::Connect(passed.source(), [this] { return GoOn(); });
    bool got = false;
    if (source_->ok()) {
      AD_ASSIGN_OR_RETURN(got, GetFrom(**source_, file));
    }
    if (!got) response.mutable_unavailable()->add_entries(file.entry());
  }
  return call_.Write(response);
}

Result<bool> Receiver::GetFrom(FileSource& source, const v1::PassedFile& passed) {
  const uint64_t index = passed.entry();
  auto file = folder_->Create(entries_[index]);
  AD_RETURN_IF_ERROR(Annotate(file.status(), Where(index)));
  files::Digest digest;
  Status written;
  const uint64_t before = received_;
  const auto take = [&](std::string_view piece) {
    digest.Add(piece);
    received_ += piece.size();
    written = file->Write(piece);
    return written.ok();
  };
  const Status came = source.Get(index, entries_[index].size(), take, [this] { return GoOn(); });
  AD_RETURN_IF_ERROR(Annotate(written, Where(index)));
  if (came.ok() && digest.Hex() == passed.digest()) {
    AD_RETURN_IF_ERROR(Finish(*file, index));
    return true;
  }
  received_ = before;
  if (came.ok()) source_ = Error(StatusCode::kDataLoss, "it has another content");
  if (!came.ok() && came.code() != StatusCode::kNotFound) source_ = came;
  return false;
}

// Serves files until the chief reports that all nodes have theirs.
Status Receiver::PassOn(const v1::RelayRequest& order) {
  const char* ssh_connection = std::getenv("SSH_CONNECTION");
  const std::string address = DataAddressOf(order.node(), ssh_connection ? ssh_connection : "");
  const auto key = secure::Key::FromHex(order.key());
  if (!key) return Error(StatusCode::kInvalidArgument, "a key was expected");
  const auto port = FilePort::Open(address, *key, [this](uint64_t index) {
    return CheckIndex(index).ok()
               ? FilePort::File{folder_->OpenSame(entries_[index]), entries_[index].size()}
               : FilePort::File{};
  });
  v1::SyncResponse response;
  response.mutable_passing_on()->set_address(address);
  response.mutable_passing_on()->set_port(port.ok() ? (*port)->port() : 0);
  AD_RETURN_IF_ERROR(call_.Write(response));
  AD_ASSIGN_OR_RETURN(const v1::SyncRequest request, Next());
  return request.has_complete() ? OkStatus()
                                : Error(StatusCode::kInvalidArgument, "the end was expected");
}

bool Receiver::GoOn() { return !call_.Cancelled() && (!tell_at_.Expired() || TellReceipt().ok()); }

Status Receiver::TellReceipt() {
  v1::SyncResponse response;
  acknowledged_ = std::max(acknowledged_, received_);
  response.mutable_bytes_written()->set_bytes(acknowledged_);
  tell_at_ = Deadline::After(kBusyInterval);
  return call_.Write(response);
}

}  // namespace

Result<v1::SyncRequest> SyncCall::Read() {
  std::unique_lock lock(mutex_);
  // Always reads the next message while the current one is processed.
  if (!reading_ && !has_incoming_ && !ended_) {
    reading_ = true;
    StartRead(&incoming_);
  }
  const bool in_time =
      changed_.wait_for(lock, silence_, [this] { return has_incoming_ || ended_; });
  if (!has_incoming_) return GiveUp(in_time);
  v1::SyncRequest request = std::move(incoming_);
  incoming_.Clear();
  has_incoming_ = false;
  if (!ended_) {
    reading_ = true;
    StartRead(&incoming_);
  }
  return request;
}

Status SyncCall::Write(const v1::SyncResponse& message) {
  std::unique_lock lock(mutex_);
  if (ended_) return GiveUp(true);
  outgoing_ = message;
  writing_ = true;
  StartWrite(&outgoing_);
  const bool in_time = changed_.wait_for(lock, silence_, [this] { return !writing_ || ended_; });
  return writing_ ? GiveUp(in_time) : OkStatus();
}

bool SyncCall::Cancelled() {
  const std::lock_guard lock(mutex_);
  return ended_;
}

Status SyncCall::GiveUp(bool in_time) {
  ended_ = true;
  if (in_time) return Error(StatusCode::kCancelled, "the chief has ended the call");
  context_.TryCancel();
  return Error(StatusCode::kDeadlineExceeded, "the chief is silent");
}

void SyncCall::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  reading_ = false;
  has_incoming_ = ok;
  ended_ |= !ok;
  changed_.notify_all();
}

void SyncCall::OnWriteDone(bool ok) {
  const std::lock_guard lock(mutex_);
  writing_ = false;
  ended_ |= !ok;
  changed_.notify_all();
}

void SyncCall::OnCancel() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void SyncCall::End(const Status& status) {
  Finish(status.ok() ? grpc::Status::OK
                     : grpc::Status(static_cast<grpc::StatusCode>(status.code()), Message(status)));
}

Status ReceiveFolder(SyncCall& call) {
  // Removes an incomplete file before the chief is notified.
  const Status status = Receiver(call).Run();
  v1::SyncResponse response;
  response.mutable_finished()->set_error(
      status.ok() ? "" : base::ToUtf8(Message(status), rpc::kMaxTextLength));
  response.mutable_finished()->set_remedy(base::ToUtf8(WriteRemedy(status), rpc::kMaxTextLength));
  return call.Write(response);
}

}  // namespace autodist::agent
