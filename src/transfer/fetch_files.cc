#include "transfer/fetch_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "transfer/cancellable_call.h"
#include "transfer/transfer_rules.h"

namespace autodist::transfer {
namespace {

// One call of AgentService.FetchFiles: gRPC's asynchronous stream with a blocking interface.
// For one thread. Holds at most one message: the node waits until it is read.
class FetchStream final : public grpc::ClientReadReactor<v1::FetchFilesResponse>, CancellableCall {
 public:
  // See CancellableCall.
  FetchStream(v1::AgentService::Stub& agent, const v1::FetchFilesRequest& request,
              const std::stop_token& stop, std::chrono::milliseconds silence,
              std::function<void()> hang_up);
  // Cancels the call if it has not ended.
  ~FetchStream() override;

  // Blocks until there is a message. nullopt at the end; End returns the reason.
  std::optional<v1::FetchFilesResponse> Read();
  // Returns, after the last message, whether the node has succeeded.
  Status End() { return AwaitEnd(); }

 private:
  bool Next(std::unique_lock<std::mutex>& lock);
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override { SetEnd(status); }

  const v1::FetchFilesRequest request_;
  FetchRules rules_;
  bool over_ = false;                // no more messages follow
  v1::FetchFilesResponse incoming_;  // used by gRPC while reading_

  // Guarded by mutex_.
  bool reading_ = false;
  bool read_ok_ = false;
};

FetchStream::FetchStream(v1::AgentService::Stub& agent, const v1::FetchFilesRequest& request,
                         const std::stop_token& stop, std::chrono::milliseconds silence,
                         std::function<void()> hang_up)
    : CancellableCall(stop, silence, std::move(hang_up)), request_(request) {
  agent.async()->FetchFiles(&context_, &request_, this);
  AddHold();  // reads are started outside of gRPC's callbacks
  StartCall();
}

FetchStream::~FetchStream() {
  std::unique_lock lock(mutex_);
  if (!outcome_.ended() && !cancelled_) Cancel();
  while (!over_) Next(lock);
  Await(lock, [this] { return outcome_.ended(); });
}

// Waits for a message; returns whether there is one.
bool FetchStream::Next(std::unique_lock<std::mutex>& lock) {
  reading_ = true;
  moved_ = Clock::now();
  StartRead(&incoming_);
  Await(lock, [this] { return !reading_; });
  if (read_ok_) return true;
  over_ = true;
  lock.unlock();
  RemoveHold();
  lock.lock();
  return false;
}

std::optional<v1::FetchFilesResponse> FetchStream::Read() {
  std::unique_lock lock(mutex_);
  if (over_ || outcome_.rule_broken() || !Next(lock)) return std::nullopt;
  outcome_.BreakRule(rules_.Check(incoming_));
  if (outcome_.rule_broken()) return std::nullopt;
  const v1::FetchFinished& finished = incoming_.finished();
  if (incoming_.has_finished()) outcome_.Finish(finished.error(), finished.remedy());
  return std::move(incoming_);
}

void FetchStream::OnReadDone(bool ok) {
  const std::lock_guard lock(mutex_);
  reading_ = false;
  read_ok_ = ok;
  changed_.notify_all();
}

constexpr mode_t kForUsAlone = 0700;
constexpr size_t kMaxWarnings = 40;  // of one node

// The files of one call.
class Fetch {
 public:
  Fetch(FetchStream& stream, const FetchOrder& order, FetchedFolder& folder, FetchedFiles& fetched)
      : stream_(stream), order_(order), folder_(folder), fetched_(fetched) {}

  Status Run();

 private:
  Status TakeFound(const v1::FilesFound& found);
  Status TakeFile(v1::FetchedFile file);
  Status TakeContent(const v1::FetchedContent& content);
  void TakeFinished(const v1::FetchFinished& finished);
  Status CheckSize(uint64_t files, uint64_t bytes) const;
  void Warn(std::string what) {
    if (fetched_.warnings.size() < kMaxWarnings) fetched_.warnings.push_back(std::move(what));
  }
  std::string name() const { return base::Printable(file_.path()); }
  // Says that the failure is not the node's. A full disk is one issue of all nodes and files.
  Status Here(const Status& failure) const {
    if (failure.code() != StatusCode::kResourceExhausted) {
      return Annotate(failure, "writing " + name() + " on this machine");
    }
    return WithRemedy(Annotate(failure, "writing into " + folder_.parent() + " on this machine"),
                      "make room there");
  }

  FetchStream& stream_;
  const FetchOrder& order_;
  FetchedFolder& folder_;
  FetchedFiles& fetched_;
  v1::FetchedFile file_;  // the current file
  std::optional<files::NewFile> content_;
  uint64_t received_ = 0;  // bytes of the current file
};

Status Fetch::Run() {
  while (const auto response = stream_.Read()) {
    if (response->has_found()) AD_RETURN_IF_ERROR(TakeFound(response->found()));
    if (response->has_file()) AD_RETURN_IF_ERROR(TakeFile(response->file()));
    if (response->has_content()) AD_RETURN_IF_ERROR(TakeContent(response->content()));
    if (response->has_finished()) TakeFinished(response->finished());
  }
  return stream_.End();
}

Status Fetch::TakeFound(const v1::FilesFound& found) {
  fetched_.same_folder = found.same_folder();
  fetched_.unchanged = found.unchanged();
  return CheckSize(found.files(), found.bytes());
}

Status Fetch::CheckSize(uint64_t files, uint64_t bytes) const {
  if (bytes <= order_.most_bytes) return OkStatus();
  return WithRemedy(
      Error(StatusCode::kOutOfRange, base::Count(files, "file") + " with " + base::Bytes(bytes) +
                                         " on the node, more than the limit of " +
                                         base::Bytes(order_.most_bytes)),
      "select fewer files, or raise --max-size");
}

Status Fetch::TakeFile(v1::FetchedFile file) {
  file_ = std::move(file);
  AD_RETURN_IF_ERROR(CheckSize(fetched_.files + 1, fetched_.bytes + file_.size()));
  auto content = folder_.Create(file_);
  AD_RETURN_IF_ERROR(Here(content.status()));
  content_.emplace(*std::move(content));
  received_ = 0;
  return OkStatus();
}

Status Fetch::TakeContent(const v1::FetchedContent& content) {
  AD_RETURN_IF_ERROR(Here(content_->Write(content.data())));
  received_ += content.data().size();
  if (!content.last()) return OkStatus();
  if (received_ < file_.size()) {
    Warn(name() + ": not copied: it was truncated while it was read");
    content_.reset();
    return OkStatus();
  }
  AD_RETURN_IF_ERROR(Here(content_->Finish()));
  content_.reset();
  ++fetched_.files;
  fetched_.bytes += received_;
  if (content.changed()) Warn(name() + ": changed while it was read; the copy may be inconsistent");
  return OkStatus();
}

void Fetch::TakeFinished(const v1::FetchFinished& finished) {
  for (const std::string& text : finished.left_out()) Warn(base::Printable(text));
}

// At least 1, because 0 means any time.
uint64_t MillisecondsSince(base::Deadline::Clock::time_point time) {
  const auto ago =
      std::chrono::duration_cast<std::chrono::milliseconds>(base::Deadline::Clock::now() - time);
  return static_cast<uint64_t>(std::max<int64_t>(ago.count(), 1));
}

Status InTheWay(const std::string& what, int error) {
  return WithRemedy(ErrnoError(error, "the folder " + what + " in the log folder"),
                    "remove the symbolic link: files are not copied through links");
}

// Creates the folder if it is missing.
Result<base::UniqueFd> EnterFolder(int folder, const std::string& name) {
  if (mkdirat(folder, name.c_str(), kForUsAlone) != 0 && errno != EEXIST) {
    return ErrnoError(errno, "making a folder");
  }
  base::UniqueFd fd = files::OpenFolderIn(folder, name);
  if (!fd.valid()) return InTheWay(base::Printable(name), errno);
  return fd;
}

}  // namespace

Status FetchedFolder::Open() {
  AD_ASSIGN_OR_RETURN(const auto parent, parent_.Open());
  AD_ASSIGN_OR_RETURN(root_, EnterFolder(parent->get(), name_));
  return OkStatus();
}

Result<files::NewFile> FetchedFolder::Create(const v1::FetchedFile& file) {
  AD_RETURN_IF_ERROR(files::CheckPathWithin(file.path()));
  if (!root_.valid()) AD_RETURN_IF_ERROR(Open());
  base::UniqueFd above;
  const std::vector<std::string_view> parts = base::Split(file.path(), '/');
  for (size_t i = 0; i + 1 < parts.size(); ++i) {
    AD_ASSIGN_OR_RETURN(
        above, EnterFolder(above.valid() ? above.get() : root_.get(), std::string(parts[i])));
  }
  return files::NewFile::Create(above.valid() ? above.get() : root_.get(),
                                std::string(parts.back()),
                                {file.size(), file.mode(), file.modified_ns()});
}

FetchedFiles FetchFiles(v1::AgentService::Stub& agent, const FetchOrder& order,
                        FetchedFolder& folder, const std::function<void()>& hang_up,
                        const std::stop_token& stop) {
  v1::FetchFilesRequest request;
  request.set_folder(order.folder);
  for (const std::string& pattern : order.patterns) request.add_patterns(pattern);
  request.set_probe(order.probe);
  if (order.began) request.set_began_ms(MillisecondsSince(*order.began));
  request.set_began_ns(order.began_ns);
  if (order.ended) request.set_ended_ms(MillisecondsSince(*order.ended));
  FetchedFiles fetched;
  FetchStream stream(agent, request, stop, order.silence, hang_up);
  fetched.status = Fetch(stream, order, folder, fetched).Run();
  return fetched;
}

}  // namespace autodist::transfer
