#include "launch/folder_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/log.h"
#include "base/quantity.h"
#include "files/digest.h"

namespace autodist::launch {
namespace {

using std::chrono::steady_clock;

constexpr size_t kChunk = 256 * 1024;  // bytes of content per message
constexpr size_t kEntriesPerList = 1000;
// How often an agent hears from us while we read files for ourselves.
constexpr std::chrono::milliseconds kBusyInterval{2000};

v1::FileEntry ToMessage(const files::FileEntry& entry) {
  v1::FileEntry message;
  message.set_path(entry.path);
  message.set_mode(entry.mode);
  switch (entry.type) {
    case files::FileType::kRegular:
      message.set_type(v1::FILE_TYPE_REGULAR);
      message.set_size(entry.size);
      message.set_modified_ns(entry.modified_ns);
      break;
    case files::FileType::kFolder:
      message.set_type(v1::FILE_TYPE_FOLDER);
      break;
    case files::FileType::kSymlink:
      message.set_type(v1::FILE_TYPE_SYMLINK);
      message.set_link_target(entry.link_target);
      break;
  }
  return message;
}

Status Cancelled() { return Error(StatusCode::kCancelled, "cancelled"); }

Status HasChanged(const std::string& path) {
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          path + " on the chief has changed since autodist was started"),
                    "start it when nothing writes there, or list the file in .autodistignore");
}

// Whether it is the file that was found first, and nobody has written to it.
bool IsUnchanged(int fd, const files::FileEntry& entry) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) &&
         static_cast<uint64_t>(info.st_size) == entry.size &&
         files::ModifiedNs(info) == entry.modified_ns;
}

// As many bytes as `buffer` has; false at an earlier end.
bool ReadExactly(int fd, std::string& buffer) {
  for (size_t have = 0; have < buffer.size();) {
    const ssize_t got = read(fd, buffer.data() + have, buffer.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    have += static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

FolderSync::FolderSync(files::FileTree tree, std::string target, size_t nodes,
                       std::chrono::milliseconds stall_limit)
    : tree_(std::move(tree)),
      target_(std::move(target)),
      nodes_(nodes),
      stall_limit_(stall_limit),
      left_(nodes) {}

std::string FolderSync::WhatThereIs() const {
  return base::Count(tree_.files, "file") + ", " + base::Bytes(tree_.bytes);
}

Status FolderSync::CopyTo(v1::AgentService::Stub& agent, const std::function<void()>& hang_up,
                          const std::stop_token& stop) {
  Begin();
  uint64_t received = 0;            // bytes of content that the agent has told us of
  uint64_t expected = tree_.bytes;  // of those that it may need
  Status status;
  {
    SyncStream stream(agent, SyncRules(tree_.entries.size(), tree_.bytes), stop, stall_limit_,
                      hang_up, [&](uint64_t bytes) {
                        progress_->Sent(bytes - received);
                        received = bytes;
                      });
    status = Copy(stream, expected, stop);
  }
  if (status.ok()) {
    progress_->Sent(expected - std::min(received, expected));
  } else {
    progress_->NotNeeded(expected - std::min(received, expected));
  }
  EndOne(status.ok());
  return status;
}

void FolderSync::Skip() {
  Begin();
  progress_->NotNeeded(tree_.bytes);
  EndOne(false);
}

// What all nodes share; made for the first of them.
void FolderSync::Begin() {
  const std::lock_guard lock(mutex_);
  if (progress_) return;
  begun_at_ = steady_clock::now();
  folder_.Reset(open(tree_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  files::RemoveLeftovers(folder_.get());
  probe_.emplace(files::TemporaryFile::Create(folder_.get()));
  progress_.emplace("syncing " + WhatThereIs() + " to " + base::Count(nodes_, "node"),
                    tree_.bytes * nodes_);
}

void FolderSync::EndOne(bool ok) {
  const std::lock_guard lock(mutex_);
  all_well_ = all_well_ && ok;
  if (--left_ > 0) return;
  probe_.reset();
  progress_.reset();
  if (all_well_) LogSummary();
}

// `expected`: how much of the content the node needs, once that is known.
Status FolderSync::Copy(SyncStream& stream, uint64_t& expected, const std::stop_token& stop) {
  AD_RETURN_IF_ERROR(WithRemedy(Annotate(probe_->status(), tree_.folder + " on the chief"),
                                "--sync marks the folder with a file for a moment, so that it "
                                "knows a node that has the same one"));
  v1::SyncRequest request;
  request.mutable_begin()->set_folder(target_);
  request.mutable_begin()->set_probe((*probe_)->name());
  stream.Write(request);  // an agent that has this very folder answers, and ends the call at once
  const auto place = stream.Read();
  if (!place) return stream.End();
  if (place->place().same_folder()) {
    ++sent_.nodes_sharing;
    progress_->NotNeeded(std::exchange(expected, 0));
    return stream.End();
  }
  if (!SendList(stream)) return stream.End();
  auto differences = ReadDifferences(stream);
  if (!differences) return stream.End();
  AD_RETURN_IF_ERROR(DecideSuspects(stream, *differences, stop));

  uint64_t bytes = 0;
  for (const uint64_t index : differences->wanted) bytes += tree_.entries[index].size;
  progress_->NotNeeded(tree_.bytes - std::min(bytes, tree_.bytes));
  expected = std::min(bytes, tree_.bytes);
  for (const uint64_t index : differences->wanted) {
    AD_RETURN_IF_ERROR(SendFile(stream, index, stop));
  }
  request.mutable_complete();
  stream.Write(request);
  AD_RETURN_IF_ERROR(stream.End());
  sent_.bytes += bytes;
  sent_.files += differences->wanted.size();
  sent_.nodes += differences->wanted.empty() ? 0 : 1;
  return OkStatus();
}

bool FolderSync::SendList(SyncStream& stream) const {
  size_t next = 0;
  do {
    v1::SyncRequest request;
    const size_t end = std::min(next + kEntriesPerList, tree_.entries.size());
    for (; next < end; ++next) {
      *request.mutable_list()->add_entries() = ToMessage(tree_.entries[next]);
    }
    request.mutable_list()->set_last(next == tree_.entries.size());
    if (!stream.Write(request)) return false;
  } while (next < tree_.entries.size());
  return true;
}

std::optional<FolderSync::Differences> FolderSync::ReadDifferences(SyncStream& stream) const {
  const auto is_file = [this](uint64_t index) {
    return index < tree_.entries.size() && tree_.entries[index].type == files::FileType::kRegular;
  };
  Differences differences;
  for (;;) {
    const auto response = stream.Read();
    if (!response) return std::nullopt;
    for (const uint64_t index : response->differences().wanted()) {
      if (is_file(index)) differences.wanted.push_back(index);
    }
    for (const v1::Suspect& suspect : response->differences().suspects()) {
      if (is_file(suspect.entry())) differences.suspects.push_back(suspect);
    }
    if (response->differences().last()) return differences;
  }
}

// Those that differ are wanted, too; the agent is told of the others.
Status FolderSync::DecideSuspects(SyncStream& stream, Differences& differences,
                                  const std::stop_token& stop) {
  auto heard_at = steady_clock::now();
  const auto go_on = [&] {
    if (steady_clock::now() >= heard_at + kBusyInterval) {
      heard_at = steady_clock::now();
      stream.Write({});  // where nobody hears it, the next message tells
    }
    return !stop.stop_requested();
  };
  v1::SyncRequest same;
  for (const v1::Suspect& suspect : differences.suspects) {
    AD_ASSIGN_OR_RETURN(const std::string digest, DigestOf(suspect.entry(), go_on));
    if (digest == suspect.digest()) {
      same.mutable_same()->add_entries(suspect.entry());
    } else {
      differences.wanted.push_back(suspect.entry());
    }
  }
  if (same.has_same() && !stream.Write(same)) return stream.End();
  return OkStatus();
}

Status FolderSync::SendFile(SyncStream& stream, uint64_t index, const std::stop_token& stop) const {
  const files::FileEntry& entry = tree_.entries[index];
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd, Open(entry));
  v1::SyncRequest request;
  v1::SyncContent& content = *request.mutable_content();
  content.set_entry(index);
  for (uint64_t left = entry.size; !content.last();) {
    std::string& data = *content.mutable_data();
    data.resize(std::min<uint64_t>(left, kChunk));
    left -= data.size();
    content.set_last(left == 0);
    if (!ReadExactly(fd.get(), data) || (left == 0 && !IsUnchanged(fd.get(), entry))) {
      return HasChanged(tree_.folder + "/" + entry.path);
    }
    if (stop.stop_requested()) return Cancelled();
    if (!stream.Write(request)) return stream.End();
  }
  return OkStatus();
}

Result<base::UniqueFd> FolderSync::Open(const files::FileEntry& entry) const {
  const std::string path = tree_.folder + "/" + entry.path;
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() || !IsUnchanged(fd.get(), entry)) return HasChanged(path);
  return fd;
}

// Each file is read once, for the first node that has a suspect; the others wait for it.
Result<std::string> FolderSync::DigestOf(uint64_t index, const std::function<bool()>& go_on) {
  std::promise<Result<std::string>> promise;
  std::shared_future<Result<std::string>> digest;
  bool ours = false;
  {
    const std::lock_guard lock(mutex_);
    auto& known = digests_[index];
    ours = !known.valid();
    if (ours) known = promise.get_future().share();
    digest = known;
  }
  if (ours) {
    const files::FileEntry& entry = tree_.entries[index];
    const auto fd = Open(entry);
    promise.set_value(
        fd.ok() ? files::DigestOfContent(fd->get(), tree_.folder + "/" + entry.path, go_on)
                : fd.status());
  }
  while (digest.wait_for(kBusyInterval) != std::future_status::ready) {
    if (!go_on()) return Cancelled();
  }
  return digest.get();
}

void FolderSync::LogSummary() const {
  const double seconds = std::chrono::duration<double>(steady_clock::now() - begun_at_).count();
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", seconds);
  std::string text = "synced: nothing to send";
  if (sent_.files > 0) {
    text = "synced: " + base::Count(sent_.files, "file") + ", " + base::Bytes(sent_.bytes) +
           " sent to " + base::Count(sent_.nodes, "node") + " in " + time;
  }
  if (sent_.nodes_sharing > 0) {
    text += "; " + base::Count(sent_.nodes_sharing, "node") + " with this very folder";
  }
  base::Log(base::LogLevel::kInfo, text);
}

}  // namespace autodist::launch
