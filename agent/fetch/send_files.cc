#include "agent/fetch/send_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "agent/fetch/matching_files.h"
#include "base/deadline.h"
#include "base/home_folder.h"
#include "base/utf8.h"
#include "files/file_patterns.h"
#include "files/file_tree.h"
#include "files/temporary_file.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

using base::Deadline;

// The interval of messages to the chief during the search.
constexpr std::chrono::milliseconds kSearchInterval{2000};

class Sender {
 public:
  explicit Sender(FetchCall& call) : call_(call) {}

  // Returns the failure of this node, or of the call.
  Status Run(const v1::FetchFilesRequest& request);
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

Status Sender::Run(const v1::FetchFilesRequest& request) {
  const std::string folder = base::ExpandHome(request.folder());
  if (files::HasTemporary(folder, request.probe())) return TellFound(true);
  AD_ASSIGN_OR_RETURN(
      const files::FilePatterns patterns,
      files::FilePatterns::Parse({request.patterns().begin(), request.patterns().end()}));
  AD_ASSIGN_OR_RETURN(found_, FindFiles(folder, patterns, [this] { return GoOn(); }));
  AD_RETURN_IF_ERROR(TellFound(false));
  for (const std::string& path : found_.paths) AD_RETURN_IF_ERROR(Send(path));
  return OkStatus();
}

Status Sender::TellFound(bool same_folder) {
  v1::FetchFilesResponse response;
  response.mutable_found()->set_same_folder(same_folder);
  response.mutable_found()->set_files(found_.paths.size());
  response.mutable_found()->set_bytes(found_.bytes);
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

void SendFiles(FetchCall& call, const v1::FetchFilesRequest& request) {
  Sender sender(call);
  const Status status = sender.Run(request);
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
