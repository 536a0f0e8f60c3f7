#include "transfer/transfer_rules.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/ip_address.h"
#include "base/utf8.h"
#include "files/temporary_file.h"
#include "rpc/limits.h"
#include "rpc/message_rules.h"

namespace autodist::transfer {
namespace {

using rpc::BrokenRule;
using rpc::CheckPort;
using rpc::CheckTime;

constexpr size_t kMaxShownLength = 200;  // bytes of an invalid name

}  // namespace

// Each message must report progress, or be one of a limited number.
Status SyncRules::CheckProgress(const v1::SyncResponse& response) {
  if (response.has_target_info() && begun_) return BrokenRule("a place in the midst of it");
  begun_ = true;
  const uint64_t received =
      response.has_bytes_written() ? response.bytes_written().bytes() : received_;
  if (received < received_ || received > bytes_) {
    return BrokenRule("a bytes_written for " + std::to_string(received) + " of " +
                      std::to_string(bytes_) + " bytes");
  }
  const bool news = received > received_ || response.differences().wanted_size() > 0 ||
                    response.differences().digest_candidates_size() > 0 ||
                    response.unavailable().entries_size() > 0;
  received_ = received;
  return !news && ++idle_words_ > kMaxIdleMessages
             ? BrokenRule("too many messages without progress")
             : OkStatus();
}

Status SyncRules::CheckPassing(const v1::SyncResponse& response) {
  if (response.has_passing_on()) {
    const v1::SyncPassingOn& passing_on = response.passing_on();
    if (std::exchange(passing_on_, true)) return BrokenRule("a port opened twice");
    AD_RETURN_IF_ERROR(CheckPort(passing_on.port()));
    if (passing_on.address().size() > kMaxShownLength ||
        (passing_on.port() != 0 && !base::IpAddress::Parse(passing_on.address()))) {
      return BrokenRule("an address '" +
                        base::Printable(base::Truncated(passing_on.address(), kMaxShownLength)) +
                        "'");
    }
  }
  unavailable_ += static_cast<size_t>(response.unavailable().entries_size());
  return unavailable_ > entries_ ? BrokenRule("more files missed than there are") : OkStatus();
}

Status SyncRules::CheckExtra(const v1::SyncResponse& response) {
  if (!response.has_extra()) return OkStatus();
  if (std::exchange(has_extra_, true)) return BrokenRule("two lists of extra files");
  const auto& paths = response.extra().paths();
  const auto is_path = [](const std::string& path) { return files::CheckPathWithin(path).ok(); };
  const bool good = paths.size() <= rpc::kMaxListLength && std::ranges::all_of(paths, is_path);
  return good ? OkStatus() : BrokenRule("a list of extra files that are not in the folder");
}

Status SyncRules::Check(const v1::SyncResponse& response) {
  AD_RETURN_IF_ERROR(CheckProgress(response));
  AD_RETURN_IF_ERROR(CheckPassing(response));
  AD_RETURN_IF_ERROR(CheckExtra(response));
  differences_ += static_cast<size_t>(response.differences().wanted_size()) +
                  static_cast<size_t>(response.differences().digest_candidates_size());
  if (differences_ > entries_) return BrokenRule("more files that differ than there are");
  const auto is_entry = [this](uint64_t index) { return index < entries_; };
  if (!std::ranges::all_of(response.differences().wanted(), is_entry) ||
      !std::ranges::all_of(response.unavailable().entries(), is_entry) ||
      !std::ranges::all_of(response.differences().digest_candidates(), is_entry,
                           &v1::DigestCandidate::entry)) {
    return BrokenRule("a file that there is not");
  }
  if (response.finished().error().size() > rpc::kMaxTextLength ||
      response.finished().remedy().size() > rpc::kMaxTextLength) {
    return BrokenRule("a reason of " + std::to_string(response.finished().error().size()) +
                      " bytes");
  }
  return OkStatus();
}

Status FetchRules::CheckFile(const v1::FetchedFile& file) {
  if (!files::CheckPathWithin(file.path()).ok()) {
    return BrokenRule("a file named '" +
                      base::Printable(base::Truncated(file.path(), kMaxShownLength)) + "'");
  }
  if (file.size() > rpc::kLargestSize) return BrokenRule("a file larger than there can be");
  AD_RETURN_IF_ERROR(CheckTime(file.modified_ns()));
  if (files_ == 0) return BrokenRule("more files than it has found");
  --files_;
  in_file_ = true;
  left_ = file.size();
  return OkStatus();
}

Status FetchRules::CheckContent(const v1::FetchedContent& content) {
  const size_t size = content.data().size();
  if (!in_file_) return BrokenRule("content of no file");
  if (size > rpc::kLargestFetchPiece || size > left_) {
    return BrokenRule("a piece of " + std::to_string(size) + " bytes");
  }
  left_ -= size;
  if (content.last()) {
    in_file_ = false;
  } else if (size == 0) {
    return BrokenRule("a piece without content");
  }
  return OkStatus();
}

Status FetchRules::Check(const v1::FetchFilesResponse& response) {
  if (finished_) return BrokenRule("a word after the last");
  switch (response.message_case()) {
    case v1::FetchFilesResponse::kFound:
      if (std::exchange(found_, true)) return BrokenRule("two searches in one");
      files_ = response.found().same_folder() ? 0 : response.found().files();
      if (files_ > rpc::kMaxFetchedFiles || response.found().bytes() > rpc::kLargestSize ||
          response.found().unchanged() > rpc::kLargestSize) {
        return BrokenRule("more files than there can be");
      }
      return OkStatus();
    case v1::FetchFilesResponse::kFile:
      if (!found_ || in_file_) return BrokenRule("a file in the midst of another");
      return CheckFile(response.file());
    case v1::FetchFilesResponse::kContent:
      return CheckContent(response.content());
    case v1::FetchFilesResponse::kFinished: {
      const v1::FetchFinished& finished = response.finished();
      finished_ = true;
      if (finished.left_out_size() > rpc::kMaxLeftOut) return BrokenRule("too long a list");
      const auto is_long = [](const std::string& text) {
        return text.size() > rpc::kMaxTextLength;
      };
      if (is_long(finished.error()) || is_long(finished.remedy()) ||
          std::ranges::any_of(finished.left_out(), is_long)) {
        return BrokenRule("too long a text");
      }
      const bool ends_well = finished.error().empty();
      return ends_well && (!found_ || in_file_) ? BrokenRule("an end in the midst of it")
                                                : OkStatus();
    }
    case v1::FetchFilesResponse::MESSAGE_NOT_SET:
      break;
  }
  return ++idle_words_ > kMaxIdleMessages ? BrokenRule("too many messages without progress")
                                          : OkStatus();
}

}  // namespace autodist::transfer
