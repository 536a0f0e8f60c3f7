#include "transfer/folder_sync.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "base/quantity.h"

namespace autodist::transfer {
namespace {

using std::chrono::steady_clock;

constexpr size_t kChunk = 256 * 1024;  // bytes of content per message
constexpr size_t kEntriesPerList = 1000;
constexpr size_t kMaxExtra = 10'000;  // files of all nodes that are remembered for a message
// The interval of messages to an agent while we read files for ourselves.
constexpr std::chrono::milliseconds kBusyInterval{2000};

v1::FileEntry ToMessage(const files::FileEntry& entry) {
  v1::FileEntry message;
  message.set_path(entry.path);
  message.set_mode(entry.mode);
  message.set_type(entry.type == files::FileType::kRegular  ? v1::FILE_TYPE_REGULAR
                   : entry.type == files::FileType::kFolder ? v1::FILE_TYPE_FOLDER
                                                            : v1::FILE_TYPE_SYMLINK);
  message.set_size(entry.size);
  message.set_modified_ns(entry.modified_ns);
  message.set_link_target(entry.link_target);
  message.set_changed_ns(entry.changed_ns);
  message.set_inode(entry.inode);
  return message;
}

Status Cancelled() { return Error(StatusCode::kCancelled, "cancelled"); }

Status HasChanged(const std::string& path) {
  return WithRemedy(Error(StatusCode::kFailedPrecondition,
                          path + " on this machine has changed since autodist was started"),
                    "list the file in .autodistignore, or stop the program that writes it");
}

// Whether the file still has the content that it had when it was scanned, or begins with it.
bool HasContentOf(int fd, const files::FileEntry& entry) {
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_ino != entry.inode) return false;
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size == entry.size && files::ModifiedNs(info) == entry.modified_ns) return true;
  return size > entry.size && entry.end && files::EndOf(fd, entry.size) == entry.end;
}

// A part of a file between holes.
struct DataPart {
  uint64_t begin;
  uint64_t end;  // as `begin`: a hole reaches to the end of the file
};

// Finds the next part from `at` on, in the first `size` bytes. Without holes, all is data.
DataPart NextData(int fd, uint64_t at, uint64_t size) {
  const off_t data = lseek(fd, static_cast<off_t>(at), SEEK_DATA);
  if (data < 0) return {errno == ENXIO ? size : at, size};
  const uint64_t begin = std::min(static_cast<uint64_t>(data), size);
  const off_t hole = lseek(fd, data, SEEK_HOLE);
  return {begin, hole <= data ? size : std::min(static_cast<uint64_t>(hole), size)};
}

void AddZeros(uint64_t count, files::Digest& digest) {
  const std::string zeros(std::min<uint64_t>(count, kChunk), '\0');
  for (uint64_t size = 0; count > 0; count -= size) {
    size = std::min<uint64_t>(count, zeros.size());
    digest.Add({zeros.data(), size});
  }
}

// Fills `buffer` with what is at the offset of the file.
Status ReadExactly(int fd, uint64_t offset, const std::string& path, std::string& buffer) {
  for (size_t have = 0; have < buffer.size();) {
    const ssize_t got =
        pread(fd, buffer.data() + have, buffer.size() - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoError(errno, path + " on this machine");
    if (got == 0) return HasChanged(path);
    have += static_cast<size_t>(got);
  }
  return OkStatus();
}

// Returns a function for slow local work, which sends messages to the agent meanwhile.
std::function<bool()> BusyWord(SyncStream& stream, const std::stop_token& stop) {
  return [&stream, &stop, answered_at = steady_clock::now()]() mutable {
    if (steady_clock::now() >= answered_at + kBusyInterval) {
      answered_at = steady_clock::now();
      stream.Write({});  // a failure is reported by the next message
    }
    return !stop.stop_requested();
  };
}

// The entries that one node lacks, and the files that it has besides.
struct Differences {
  std::vector<uint64_t> wanted;
  std::vector<v1::DigestCandidate> digest_candidates;
  v1::SyncExtra extra;
};

uint64_t BytesOf(const std::vector<uint64_t>& entries, const files::FileTree& tree) {
  uint64_t bytes = 0;
  for (const uint64_t index : entries) bytes += tree.entries[index].size;
  return bytes;
}

bool SendTree(SyncStream& stream, const files::FileTree& tree) {
  for (const files::IgnoreFiles& found : tree.ignore_files) {
    v1::SyncRequest request;
    request.mutable_ignore()->set_folder(found.folder);
    request.mutable_ignore()->set_git(found.git);
    request.mutable_ignore()->set_own(found.own);
    if (!stream.Write(request)) return false;
  }
  size_t next = 0;
  do {
    v1::SyncRequest request;
    const size_t end = std::min(next + kEntriesPerList, tree.entries.size());
    for (; next < end; ++next) {
      *request.mutable_list()->add_entries() = ToMessage(tree.entries[next]);
    }
    request.mutable_list()->set_last(next == tree.entries.size());
    if (!stream.Write(request)) return false;
  } while (next < tree.entries.size());
  return true;
}

std::optional<Differences> ReadDifferences(SyncStream& stream, const files::FileTree& tree) {
  const auto is_file = [&](uint64_t index) {
    return index < tree.entries.size() && tree.entries[index].type == files::FileType::kRegular;
  };
  Differences differences;
  for (;;) {
    const auto response = stream.Read();
    if (!response) return std::nullopt;
    if (response->has_extra()) differences.extra = response->extra();
    for (const uint64_t index : response->differences().wanted()) {
      if (is_file(index)) differences.wanted.push_back(index);
    }
    for (const v1::DigestCandidate& suspect : response->differences().digest_candidates()) {
      if (is_file(suspect.entry())) differences.digest_candidates.push_back(suspect);
    }
    if (response->differences().last()) return differences;
  }
}

Result<base::UniqueFd> OpenEntry(const files::FileTree& tree, const files::FileEntry& entry) {
  const std::string path = tree.folder + "/" + entry.path;
  base::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd.valid() && errno != ENOENT && errno != ELOOP) {
    return ErrnoError(errno, path + " on this machine");
  }
  if (!fd.valid() || !HasContentOf(fd.get(), entry)) return HasChanged(path);
  return fd;
}

}  // namespace

FolderSync::FolderSync(files::FileTree tree, SyncOptions options, std::unique_ptr<FileRelay> relay)
    : tree_(std::move(tree)),
      options_(std::move(options)),
      relay_(std::move(relay)),
      left_(options_.nodes),
      unreached_(options_.targets),
      needs_{.uncompared = options_.nodes},
      warnings_(options_.warnings) {}

std::string FolderSync::WhatThereIs() const {
  return base::Count(tree_.files, "file") + ", " + base::Bytes(tree_.bytes);
}

Status FolderSync::CopyTo(uint32_t node_rank, v1::AgentService::Stub& agent,
                          const std::function<void()>& hang_up, const std::stop_token& stop) {
  Begin(node_rank);
  uint64_t received = 0;           // bytes of content that the agent has reported
  std::optional<uint64_t> needed;  // bytes that it lacked, once it has been compared
  Status status;
  {
    SyncStream stream(agent, SyncRules(tree_.entries.size(), tree_.bytes), stop,
                      options_.stall_limit, hang_up, [&](uint64_t bytes) {
                        progress_->Sent(bytes - received);
                        received = bytes;
                      });
    status = Copy(stream, node_rank, needed, stop);
  }
  if (!needed) needed = Compared(node_rank, {});
  const uint64_t rest = *needed - std::min(received, *needed);
  if (status.ok()) {
    progress_->Sent(rest);
  } else {
    const std::lock_guard lock(mutex_);
    needs_.bytes -= rest;
    ShowSends();
    if (status.code() == StatusCode::kUnavailable && Remedy(status).empty()) {
      status = WithRemedy(status, "run it again: files that are complete there are not sent again");
    }
  }
  EndOne(node_rank, status.ok());
  return status;
}

void FolderSync::Skip(uint32_t node_rank) {
  Begin(node_rank);
  Compared(node_rank, {});
  EndOne(node_rank, false);
}

// Creates the state shared by all nodes, for the first one.
void FolderSync::Begin(uint32_t node_rank) {
  const std::lock_guard lock(mutex_);
  ++busy_;
  unreached_.erase(node_rank);
  if (!progress_) {
    begun_at_ = steady_clock::now();
    folder_.Reset(open(tree_.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    files::RemoveLeftovers(folder_.get());
    probe_.emplace(files::TemporaryFile::Create(folder_.get()));
    progress_.emplace();
  }
  ShowWaits();
}

void FolderSync::ShowWaits() {
  std::vector<std::string> addresses;
  for (const auto& [rank, address] : unreached_) addresses.push_back(address);
  progress_->Waits(WaitsText(WhatThereIs(), options_.nodes, busy_ > 0, addresses), busy_ == 0);
}

void FolderSync::EndOne(uint32_t node_rank, bool ok) {
  if (relay_ && Relays(node_rank)) relay_->WillNotAnswer();
  if (relay_ && !Relays(node_rank)) relay_->OtherEnded();
  const std::lock_guard lock(mutex_);
  all_well_ = all_well_ && ok;
  --busy_;
  if (--left_ > 0) return ShowWaits();
  probe_.reset();
  progress_.reset();
  if (all_well_ || options_.preview) LogResult();
}

// Sets `needed` as soon as it is known.
Status FolderSync::Copy(SyncStream& stream, uint32_t node_rank, std::optional<uint64_t>& needed,
                        const std::stop_token& stop) {
  AD_RETURN_IF_ERROR(WithRemedy(Annotate(probe_->status(), tree_.folder + " on this machine"),
                                "let --sync create a file there for a moment: it shows which nodes "
                                "share the folder"));
  v1::SyncRequest request;
  v1::SyncBegin& begin = *request.mutable_begin();
  begin.set_folder(options_.target);
  begin.set_probe((*probe_)->name());
  begin.set_mode(tree_.mode);
  begin.set_mirror(options_.mirror);
  begin.set_preview(options_.preview);
  *begin.mutable_left_out() = {tree_.left_out.begin(), tree_.left_out.end()};
  stream.Write(request);  // an agent with the same folder answers, and ends the call at once
  const auto place = stream.Read();
  if (!place) return stream.End();
  {
    const std::lock_guard lock(mutex_);
    totals_.nodes_sharing += place->target_info().same_folder() ? 1 : 0;
    if (place->target_info().everyone_writes()) open_to_all_.insert(node_rank);
  }
  if (place->target_info().same_folder()) return stream.End();
  // A node that shares the folder with the relaying node then lacks nothing.
  std::optional<v1::SyncSource> source;
  if (relay_ && !Relays(node_rank)) {
    source = relay_->AwaitSource([&stream] { return stream.Write({}); }, stop);
  }
  // The agent ends a preview with the last part of the list.
  if (!SendTree(stream, tree_) && !options_.preview) return stream.End();
  if (options_.preview) {
    while (const auto response = stream.Read()) TakeExtra(node_rank, response->extra());
    return stream.End();
  }
  auto differences = ReadDifferences(stream, tree_);
  if (!differences) return stream.End();
  TakeExtra(node_rank, differences->extra);
  AD_RETURN_IF_ERROR(
      DecideSuspects(stream, differences->digest_candidates, differences->wanted, stop));

  needed = Compared(node_rank, differences->wanted);
  AD_RETURN_IF_ERROR(SendContents(stream, node_rank, std::move(differences->wanted), source, stop));
  if (Relays(node_rank)) AD_RETURN_IF_ERROR(LetPassOn(stream, stop));
  request.mutable_complete();
  stream.Write(request);
  return stream.End();
}

Status FolderSync::SendContents(SyncStream& stream, uint32_t node_rank,
                                std::vector<uint64_t> wanted,
                                const std::optional<v1::SyncSource>& source,
                                const std::stop_token& stop) {
  NameLargeOutputs(wanted);
  if (source && !wanted.empty()) {
    std::set<uint64_t> passed(wanted.begin(), wanted.end());
    AD_RETURN_IF_ERROR(LetGet(stream, wanted, *source, stop));
    for (const uint64_t index : wanted) passed.erase(index);
    const std::lock_guard lock(mutex_);
    for (const uint64_t index : passed) totals_.passed.Add({index, tree_.entries[index].size});
    totals_.nodes_passed += passed.empty() ? 0 : 1;
    totals_.nodes_missed += wanted.empty() ? 0 : 1;
  }
  for (const uint64_t index : wanted) {
    files::Digest digest;
    const bool passes_on = Relays(node_rank);  // other nodes compare with the current content
    AD_RETURN_IF_ERROR(SendFile(stream, index, passes_on ? &digest : nullptr, stop));
    if (passes_on) Know(index, digest.Hex());
  }
  const std::lock_guard lock(mutex_);
  totals_.nodes_sent += wanted.empty() ? 0 : 1;
  return OkStatus();
}

Status FolderSync::SendFile(SyncStream& stream, uint64_t index, files::Digest* digest,
                            const std::stop_token& stop) {
  const files::FileEntry& entry = tree_.entries[index];
  AD_ASSIGN_OR_RETURN(const base::UniqueFd fd, OpenEntry(tree_, entry));
  v1::SyncRequest request;
  v1::SyncContent& content = *request.mutable_content();
  content.set_entry(index);
  uint64_t sent = 0;
  uint64_t at = 0;
  DataPart part{0, 0};
  while (!content.last()) {
    if (at == part.end) part = NextData(fd.get(), at, entry.size);
    const uint64_t begin = std::max(at, part.begin);
    std::string& data = *content.mutable_data();
    data.resize(std::min<uint64_t>(part.end - begin, kChunk));
    content.set_hole(begin - at);
    at = begin + data.size();
    content.set_last(at == entry.size);
    const std::string path = tree_.folder + "/" + entry.path;
    AD_RETURN_IF_ERROR(ReadExactly(fd.get(), begin, path, data));
    if (content.last() && !HasContentOf(fd.get(), entry)) return HasChanged(path);
    if (digest) {
      AddZeros(content.hole(), *digest);
      digest->Add(data);
    }
    sent += data.size();
    if (stop.stop_requested()) return Cancelled();
    if (!stream.Write(request)) return stream.End();
  }
  const std::lock_guard lock(mutex_);
  totals_.sent.Add({index, sent});
  return OkStatus();
}

void FolderSync::ShowSends() {
  if (needs_.nodes > 0) progress_->Sends(SendsText(needs_), BytesToSend(needs_));
}

// Call once for each node: it lacks the wanted entries, or cannot be compared. Returns the bytes
// that it lacks.
uint64_t FolderSync::Compared(uint32_t node_rank, const std::vector<uint64_t>& wanted) {
  const uint64_t bytes = std::min(BytesOf(wanted, tree_), tree_.bytes);
  std::vector<std::string> warnings;
  {
    const std::lock_guard lock(mutex_);
    --needs_.uncompared;
    needs_.nodes += wanted.empty() ? 0 : 1;
    needs_.bytes += bytes;
    for (const uint64_t index : wanted) needs_.files.Add({index, tree_.entries[index].size});
    ShowSends();
    if (wanted.empty()) return 0;
    std::erase_if(warnings_, [&](NodeWarning& warning) {
      const bool concerns = warning.nodes.contains(node_rank);
      if (concerns) warnings.push_back(std::move(warning.text));
      return concerns;
    });
  }
  // Unlocked, because a terminal may be slow.
  for (const std::string& text : warnings) progress_->Log(base::LogLevel::kWarning, text);
  return bytes;
}

// Says for the first node that lacks much which of it jobs have written, before it is sent.
void FolderSync::NameLargeOutputs(const std::vector<uint64_t>& wanted) {
  if (!options_.jobs || BytesOf(wanted, tree_) < kLargeOutputs) return;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(outputs_named_, true)) return;
  }
  const std::string text = LargeOutputsText(tree_, wanted, options_.jobs());
  if (!text.empty()) progress_->Log(base::LogLevel::kWarning, text);
}

void FolderSync::TakeExtra(uint32_t node_rank, const v1::SyncExtra& extra) {
  const std::lock_guard lock(mutex_);
  for (const std::string& path : extra.paths()) {
    if (extra_.size() < kMaxExtra || extra_.contains(path)) extra_[path].insert(node_rank);
  }
}

// Leaves in `wanted` what the agent could not get there.
Status FolderSync::LetGet(SyncStream& stream, std::vector<uint64_t>& wanted,
                          const v1::SyncSource& source, const std::stop_token& stop) {
  const auto go_on = BusyWord(stream, stop);
  std::vector<uint64_t> unavailable;
  for (size_t next = 0; next < wanted.size();) {
    v1::SyncRequest request;
    *request.mutable_passed()->mutable_source() = source;
    const size_t end = std::min(next + kEntriesPerList, wanted.size());
    std::set<uint64_t> asked(wanted.begin() + static_cast<ptrdiff_t>(next),
                             wanted.begin() + static_cast<ptrdiff_t>(end));
    for (; next < end; ++next) {
      v1::PassedFile& file = *request.mutable_passed()->add_files();
      file.set_entry(wanted[next]);
      AD_ASSIGN_OR_RETURN(*file.mutable_digest(), DigestOf(wanted[next], go_on));
    }
    if (!stream.Write(request)) return stream.End();
    auto response = stream.Read();
    while (response && !response->has_unavailable()) response = stream.Read();
    if (!response) return stream.End();
    for (const uint64_t index : response->unavailable().entries()) {
      if (asked.erase(index) > 0) unavailable.push_back(index);
    }
  }
  wanted = std::move(unavailable);
  return OkStatus();
}

// Waits, with a node that has all files, until the others have them.
Status FolderSync::LetPassOn(SyncStream& stream, const std::stop_token& stop) {
  v1::SyncRequest request;
  *request.mutable_relay() = relay_->order();
  if (!stream.Write(request)) return stream.End();
  auto response = stream.Read();
  while (response && !response->has_passing_on()) response = stream.Read();
  if (!response) return stream.End();
  relay_->Answered(response->passing_on());
  relay_->AwaitOthers([&stream] { return stream.Write({}); }, stop);
  return stop.stop_requested() ? Cancelled() : OkStatus();
}

// Adds entries that differ to `wanted`; reports the others to the agent.
Status FolderSync::DecideSuspects(SyncStream& stream,
                                  const std::vector<v1::DigestCandidate>& digest_candidates,
                                  std::vector<uint64_t>& wanted, const std::stop_token& stop) {
  const auto go_on = BusyWord(stream, stop);
  v1::SyncRequest same;
  for (const v1::DigestCandidate& suspect : digest_candidates) {
    AD_ASSIGN_OR_RETURN(const std::string digest, DigestOf(suspect.entry(), go_on));
    if (digest == suspect.digest()) {
      same.mutable_same()->add_entries(suspect.entry());
    } else {
      wanted.push_back(suspect.entry());
    }
  }
  if (same.has_same() && !stream.Write(same)) return stream.End();
  return OkStatus();
}

void FolderSync::Know(uint64_t index, const std::string& digest) {
  std::promise<Result<std::string>> known;
  known.set_value(digest);
  const std::lock_guard lock(mutex_);
  digests_.emplace(index, known.get_future().share());
}

// Reads each file once: for the node that relays it, or else for the first node that needs its
// digest; the others wait for it.
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
    const auto fd = OpenEntry(tree_, entry);
    promise.set_value(fd.ok() ? files::DigestOfContent(fd->get(), tree_.folder + "/" + entry.path,
                                                       go_on, entry.size)
                              : fd.status());
  }
  while (digest.wait_for(kBusyInterval) != std::future_status::ready) {
    if (!go_on()) return Cancelled();
  }
  return digest.get();
}

void FolderSync::LogResult() const {
  using base::Log;
  using base::LogLevel;
  NodesByPath extra = extra_;
  if (!options_.mirror) {
    const size_t all = options_.addresses.size();
    std::erase_if(extra, [all](const auto& file) { return file.second.size() == all; });
  }
  const std::string names = NamesByNode(extra, options_.addresses);
  if (options_.preview) {
    if (!all_well_ && names.empty()) return;
    return Log(LogLevel::kInfo,
               "to delete on the nodes: " + (names.empty() ? std::string("nothing") : names));
  }
  if (!open_to_all_.empty()) {
    Log(LogLevel::kWarning,
        base::FailureText(WithRemedy(
            Error(StatusCode::kPermissionDenied,
                  "everyone can write in " +
                      NamesByNode({{options_.target, open_to_all_}}, options_.addresses) +
                      ", so other users can change the program"),
            "chmod o-w it there")));
  }
  if (!names.empty() && options_.mirror) {
    Log(LogLevel::kInfo, std::string("deleted, because this machine does not have ") +
                             (extra.size() == 1 ? "it: " : "them: ") + names);
  } else if (!names.empty()) {
    Log(LogLevel::kWarning,
        base::FailureText(WithRemedy(
            Error(StatusCode::kFailedPrecondition,
                  "files that a program may read, but that this machine does not have: " + names),
            "--sync-delete deletes such files; to keep them, list them in .autodistignore")));
  }
  Log(LogLevel::kInfo,
      SummaryText(totals_, relays(), std::chrono::steady_clock::now() - begun_at_));
}

}  // namespace autodist::transfer
