#include "files/git_index.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/fd.h"

namespace autodist::files {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestIndex = 512 << 20;  // bytes; some million files
constexpr size_t kLargestGitFile = 64 << 10;
constexpr size_t kStatBytes = 40;  // times, device, inode, mode, owner, size
constexpr size_t kSha1Bytes = 20;
constexpr size_t kSha256Bytes = 32;

// Reads consecutive big-endian numbers and texts.
class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  bool failed() const { return failed_; }
  size_t at() const { return at_; }
  std::string_view Take(size_t count) {
    if (count > bytes_.size() - at_) {
      failed_ = true;
      return {};
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }
  uint32_t Number(size_t bytes) {
    uint32_t number = 0;
    for (const char c : Take(bytes)) number = number << 8 | static_cast<unsigned char>(c);
    return number;
  }
  // Reads up to a NUL byte, and consumes it.
  std::string_view Text() {
    const size_t end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    const std::string_view text = Take(end - at_);
    Take(1);
    return text;
  }
  // The number of bytes that version 4 of the index removes from the end of the previous path.
  size_t Offset() {
    size_t offset = 0;
    for (;;) {
      const uint32_t byte = Number(1);
      if (failed_ || offset > kLargestIndex) return 0;
      offset = offset << 7 | (byte & 0x7f);
      if ((byte & 0x80) == 0) return offset;
      ++offset;
    }
  }

 private:
  const std::string_view bytes_;
  size_t at_ = 0;
  bool failed_ = false;
};

// Reads the path of one entry; nullopt if the bytes are not an entry.
std::optional<std::string> ReadEntry(ByteReader& reader, uint32_t version, size_t hash_bytes,
                                     const std::string& before) {
  constexpr uint32_t kExtended = 0x4000;
  const size_t begin = reader.at();
  reader.Take(kStatBytes + hash_bytes);
  if ((reader.Number(2) & kExtended) != 0) {
    if (version < 3) return std::nullopt;
    reader.Take(2);
  }
  std::string path;
  if (version == 4) {
    const size_t removed = reader.Offset();
    if (removed > before.size()) return std::nullopt;
    path = before.substr(0, before.size() - removed);
    path += reader.Text();
  } else {
    path = reader.Text();
    // Entries are padded with NUL bytes to a multiple of 8.
    reader.Take((8 - (reader.at() - begin) % 8) % 8);
  }
  if (reader.failed() || path.empty() || path.front() == '/') return std::nullopt;
  return path;
}

std::optional<std::vector<std::string>> ReadEntries(std::string_view content, size_t hash_bytes) {
  ByteReader reader(content);
  reader.Take(4);
  const uint32_t version = reader.Number(4);
  const uint32_t count = reader.Number(4);
  std::vector<std::string> paths;
  std::string before;
  for (uint32_t i = 0; i < count; ++i) {
    auto path = ReadEntry(reader, version, hash_bytes, before);
    // Entries are sorted; the same path may occur in several stages of a merge.
    if (!path || *path < before) return std::nullopt;
    before = *path;
    if (paths.empty() || paths.back() != before) paths.push_back(*std::move(path));
  }
  // Extensions follow, each with a name and a size, and a hash of the file.
  while (content.size() - reader.at() > hash_bytes) {
    const std::string_view name = reader.Take(4);
    if (name == "link") return std::nullopt;  // the rest is in another file
    reader.Take(reader.Number(4));
    if (reader.failed()) return std::nullopt;
  }
  return content.size() - reader.at() == hash_bytes ? std::optional(std::move(paths))
                                                    : std::nullopt;
}

// Like git, trusts only what belongs to this user or to root: an index says which files are sent
// although they are to be ignored. What is missing is trusted.
Status CheckOwner(const fs::path& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) != 0 || info.st_uid == geteuid() || info.st_uid == 0) {
    return OkStatus();
  }
  return Error(StatusCode::kPermissionDenied, path.string() + " belongs to another user");
}

// Returns the path of the index if this folder is the top of a repository; otherwise "".
std::string IndexOf(const fs::path& folder) {
  const std::string git = folder / ".git";
  struct stat info;
  if (stat(git.c_str(), &info) != 0) return "";
  if (S_ISDIR(info.st_mode)) return git + "/index";
  // The .git file of a worktree or a submodule: "gitdir: ../.git/modules/x".
  constexpr std::string_view kBegin = "gitdir: ";
  auto text = base::ReadFile(git, kLargestGitFile);
  if (!text.ok() || !text->starts_with(kBegin)) return "";
  while (text->ends_with('\n') || text->ends_with('\r')) text->pop_back();
  return folder / text->substr(kBegin.size()) / "index";
}

}  // namespace

TrackedFiles::TrackedFiles(std::vector<std::string> paths) : paths_(std::move(paths)) {
  std::ranges::sort(paths_);
}

bool TrackedFiles::Has(std::string_view path) const {
  return std::ranges::binary_search(
      paths_, path, {}, [](const std::string& known) { return std::string_view(known); });
}

bool TrackedFiles::HasBelow(std::string_view folder) const {
  const std::string begin = std::string(folder) + "/";
  const auto first = std::ranges::lower_bound(paths_, begin);
  return first != paths_.end() && first->starts_with(begin);
}

Result<std::vector<std::string>> ReadGitIndex(std::string_view content) {
  ByteReader reader(content);
  const bool is_index = reader.Take(4) == "DIRC";
  const uint32_t version = reader.Number(4);
  if (reader.failed() || !is_index || version < 2 || version > 4) {
    return Error(StatusCode::kInvalidArgument, "not an index of git that autodist reads");
  }
  // The configuration, which is not read, selects the hash; the index is only valid with one of
  // them.
  for (const size_t hash_bytes : {kSha1Bytes, kSha256Bytes}) {
    if (auto paths = ReadEntries(content, hash_bytes)) return *std::move(paths);
  }
  return Error(StatusCode::kInvalidArgument, "a damaged or split index of git");
}

Result<TrackedFiles> FilesTrackedIn(const std::string& folder, bool above) {
  std::error_code error;
  fs::path top = fs::canonical(folder, error);
  if (error) return TrackedFiles();
  const fs::path within = top;
  while (above && IndexOf(top).empty() && top.has_relative_path()) top = top.parent_path();
  const std::string index = IndexOf(top);
  if (index.empty()) return TrackedFiles();
  for (const fs::path& path :
       {top / ".git", fs::path(index).parent_path() / ".", fs::path(index)}) {
    AD_RETURN_IF_ERROR(CheckOwner(path));
  }
  const auto content = base::ReadFile(index, kLargestIndex);
  if (content.status().code() == StatusCode::kNotFound) return TrackedFiles();
  AD_RETURN_IF_ERROR(content.status());
  auto paths = ReadGitIndex(*content);
  if (!paths.ok()) return Annotate(paths.status(), index);
  if (top == within) return TrackedFiles(*std::move(paths));
  const std::string prefix = within.lexically_relative(top).string() + "/";
  std::vector<std::string> own;
  for (const std::string& path : *paths) {
    if (path.starts_with(prefix)) own.push_back(path.substr(prefix.size()));
  }
  return TrackedFiles(std::move(own));
}

}  // namespace autodist::files
