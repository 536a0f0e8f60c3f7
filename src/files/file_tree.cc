#include "files/file_tree.h"

#include <absl/strings/str_join.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <set>
#include <utility>

#include "base/fd.h"
#include "base/folder_entries.h"
#include "base/text_file.h"
#include "base/wall_clock.h"
#include "files/git_index.h"
#include "files/temporary_file.h"

namespace autodist::files {
namespace {

constexpr size_t kLargestIgnoreFile = 16 << 20;  // bytes
constexpr size_t kMaxShown = 10;
constexpr char kMakeReadable[] = "make it readable, or list it in .autodistignore";
constexpr size_t kEndSize = 256;  // bytes
// A file that was modified within this time, by the clock of a file server, may be growing.
constexpr int64_t kMayGrowNs = 3'600'000'000'000;

class Scan {
 public:
  Scan(const std::string& folder, const std::string& left_out) {
    tree_.folder = folder;
    if (!left_out.empty()) tree_.left_out.push_back(left_out);
    for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
      struct stat info;
      if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode)) output_.insert(IdOf(info));
    }
  }

  Result<FileTree> Run() {
    struct stat info;
    if (stat(tree_.folder.c_str(), &info) == 0) tree_.mode = (info.st_mode & 0777) | 0700;
    VisitFolder("");
    if (!issues_.empty()) return Unreadable();
    return std::move(tree_);
  }

 private:
  using Fate = IgnoreTree::Fate;

  // One of the folders in which the scan is.
  struct Level {
    size_t prefix;                        // length of the folder's path with its '/'
    std::optional<TrackedFiles> tracked;  // at the top of a repository
  };

  static std::pair<dev_t, ino_t> IdOf(const struct stat& info) {
    return {info.st_dev, info.st_ino};
  }

  std::string Absolute(const std::string& path) const {
    return path.empty() ? tree_.folder : tree_.folder + "/" + path;
  }
  // The hint belongs to a missing permission, unless the error has its own.
  void Issue(const Status& error, const std::string& hint);
  Status Unreadable() const;
  std::optional<std::vector<std::string>> Names(const std::string& path);
  void ReadIgnoreFiles(const std::string& path);
  void ReadIndex(const std::string& path, Level& level);
  void VisitFolder(const std::string& path);
  void Visit(const std::string& path, const std::string& name);
  Fate FateOf(const std::string& path, const std::string& name, const struct stat& info);
  // Whether git tracks the path, or something below it.
  bool IsTracked(const std::string& path, bool is_folder) const;
  void CountIgnored(const std::string& path, const struct stat& info);
  void AddFile(FileEntry entry, const struct stat& info);
  void AddSymlink(FileEntry entry);

  const int64_t begun_ns_ = base::NanosecondsSince1970();
  std::set<std::pair<dev_t, ino_t>> output_;  // the files that are our stdout and stderr
  FileTree tree_;
  IgnoreTree rules_;
  std::vector<Level> levels_;    // of the current folder and those above it
  bool within_ignored_ = false;  // whether .gitignore excludes the current folder
  std::vector<std::string> issues_;
  std::set<std::string> hints_;  // for these issues
};

void Scan::Issue(const Status& error, const std::string& hint) {
  issues_.push_back(Message(error));
  const bool forbidden = error.code() == StatusCode::kPermissionDenied;
  const std::string shown = Remedy(forbidden ? WithRemedy(error, hint) : error);
  if (!shown.empty()) hints_.insert(shown);
}

Status Scan::Unreadable() const {
  std::string text;
  for (size_t i = 0; i < std::min(issues_.size(), kMaxShown); ++i) {
    text += (i == 0 ? "" : "\n    ") + issues_[i];
  }
  if (issues_.size() > kMaxShown) {
    text += "\n    and " + std::to_string(issues_.size() - kMaxShown) + " more";
  }
  return WithRemedy(Error(StatusCode::kPermissionDenied, text), absl::StrJoin(hints_, "; "));
}

std::optional<std::vector<std::string>> Scan::Names(const std::string& path) {
  std::vector<std::string> names = base::EntriesOf(Absolute(path));
  const int error = errno;
  if (error != 0 && (error != ENOENT || path.empty())) {
    Issue(ErrnoError(error, Absolute(path)), path.empty() ? "make it readable" : kMakeReadable);
  }
  return error == 0 ? std::optional(std::move(names)) : std::nullopt;
}

void Scan::ReadIgnoreFiles(const std::string& path) {
  IgnoreFiles found{path, "", ""};
  const auto read = [&](const char* name, std::string& content) {
    const std::string file = path.empty() ? name : path + "/" + name;
    struct stat info;
    // Does not follow symbolic links, like git.
    if (lstat(Absolute(file).c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
    auto text = base::ReadTextFile(Absolute(file), kLargestIgnoreFile);
    if (text.ok()) {
      content = *std::move(text);
    } else if (text.status().code() == StatusCode::kInvalidArgument) {
      Issue(WithRemedy(text.status(), "correct or remove that ignore file"), "");
    } else {
      Issue(text.status(), "make that ignore file readable");
    }
  };
  read(".gitignore", found.git);
  read(".autodistignore", found.own);
  if (found.git.empty() && found.own.empty()) return;
  rules_.Add(found);
  tree_.ignore_files.push_back(std::move(found));
}

void Scan::ReadIndex(const std::string& path, Level& level) {
  const bool top = path.empty();
  if (!top && access((Absolute(path) + "/.git").c_str(), F_OK) != 0) return;
  auto tracked = FilesTrackedIn(Absolute(path), top);
  if (tracked.ok()) {
    level.tracked = *std::move(tracked);
    return;
  }
  level.tracked.emplace();
  tree_.warnings.push_back(
      "what git tracks is not known, so --sync leaves out all that .gitignore "
      "names: " +
      Message(tracked.status()));
}

void Scan::VisitFolder(const std::string& path) {
  const auto names = Names(path);
  if (!names) return;
  ReadIgnoreFiles(path);
  levels_.push_back({path.empty() ? 0 : path.size() + 1, std::nullopt});
  ReadIndex(path, levels_.back());
  for (const std::string& name : *names) Visit(path.empty() ? name : path + "/" + name, name);
  levels_.pop_back();
}

bool Scan::IsTracked(const std::string& path, bool is_folder) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    if (!level->tracked) continue;
    const std::string_view within = std::string_view(path).substr(level->prefix);
    // Git tracks a submodule as a whole.
    return level->tracked->Has(within) || (is_folder && level->tracked->HasBelow(within));
  }
  return false;
}

Scan::Fate Scan::FateOf(const std::string& path, const std::string& name, const struct stat& info) {
  const bool is_folder = S_ISDIR(info.st_mode);
  if (IsNeverCopied(name, is_folder) || std::ranges::count(tree_.left_out, path) > 0) {
    return Fate::kLeftOut;
  }
  if (output_.contains(IdOf(info))) {
    tree_.left_out.push_back(path);
    return Fate::kLeftOut;
  }
  return rules_.FateOf(path, is_folder, within_ignored_);
}

void Scan::CountIgnored(const std::string& path, const struct stat& info) {
  constexpr size_t kMaxExamples = 3;
  const bool is_folder = S_ISDIR(info.st_mode);
  Ignored& ignored = tree_.ignored;
  ++(is_folder ? ignored.folders : ignored.files);
  if (S_ISREG(info.st_mode)) ignored.bytes += static_cast<uint64_t>(info.st_size);
  if (ignored.examples.size() < kMaxExamples) {
    ignored.examples.push_back(path + (is_folder ? "/" : ""));
  }
}

void Scan::Visit(const std::string& path, const std::string& name) {
  struct stat info;
  if (lstat(Absolute(path).c_str(), &info) != 0) {
    if (errno == ENOENT) return;  // removed meanwhile
    Issue(ErrnoError(errno, Absolute(path)), "make the folder that has it accessible (chmod u+x)");
    return;
  }
  const bool is_folder = S_ISDIR(info.st_mode);
  const Fate fate = FateOf(path, name, info);
  if (fate == Fate::kLeftOut) return;
  if (fate == Fate::kIgnoredByGit && !IsTracked(path, is_folder)) {
    return CountIgnored(path, info);
  }
  FileEntry entry;
  entry.path = path;
  entry.mode = info.st_mode & 0777;
  if (S_ISDIR(info.st_mode)) {
    entry.type = FileType::kFolder;
    entry.mode |= 0700;  // otherwise its copy could not be filled
    tree_.entries.push_back(std::move(entry));
    const bool before = std::exchange(within_ignored_, fate == Fate::kIgnoredByGit);
    VisitFolder(path);
    within_ignored_ = before;
  } else if (S_ISREG(info.st_mode)) {
    AddFile(std::move(entry), info);
  } else if (S_ISLNK(info.st_mode)) {
    AddSymlink(std::move(entry));
  } else {
    tree_.warnings.push_back(Absolute(path) + " is not copied: neither file, folder nor link");
  }
}

void Scan::AddFile(FileEntry entry, const struct stat& info) {
  if (faccessat(AT_FDCWD, Absolute(entry.path).c_str(), R_OK, AT_EACCESS) != 0) {
    Issue(ErrnoError(errno, Absolute(entry.path)), kMakeReadable);
    return;
  }
  entry.size = static_cast<uint64_t>(info.st_size);
  entry.modified_ns = ModifiedNs(info);
  entry.changed_ns = ChangedNs(info);
  entry.inode = info.st_ino;
  if (entry.modified_ns > begun_ns_ - kMayGrowNs) {
    const base::UniqueFd fd(
        open(Absolute(entry.path).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (fd.valid()) entry.end = EndOf(fd.get(), entry.size);
  }
  ++tree_.files;
  tree_.bytes += entry.size;
  tree_.entries.push_back(std::move(entry));
}

void Scan::AddSymlink(FileEntry entry) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = readlink(Absolute(entry.path).c_str(), target.data(), target.size());
  if (length < 0) {
    if (errno != ENOENT) Issue(ErrnoError(errno, Absolute(entry.path)), kMakeReadable);
    return;
  }
  entry.type = FileType::kSymlink;
  entry.link_target.assign(target.data(), static_cast<size_t>(length));
  tree_.entries.push_back(std::move(entry));
}

}  // namespace

bool IsNeverCopied(std::string_view name, bool is_folder) {
  return name == ".git" || name == kSyncRecord || IsTemporaryName(name) ||
         (is_folder && (name == "autodist-runs" || name == "__pycache__"));
}

int64_t ModifiedNs(const struct stat& info) {
  return int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

int64_t ChangedNs(const struct stat& info) {
  return int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec;
}

std::optional<std::string> EndOf(int fd, uint64_t size) {
  std::string end(std::min<uint64_t>(size, kEndSize), '\0');
  const auto from = static_cast<off_t>(size - end.size());
  const ssize_t got = end.empty() ? 0 : pread(fd, end.data(), end.size(), from);
  return got == static_cast<ssize_t>(end.size()) ? std::optional(std::move(end)) : std::nullopt;
}

Result<FileTree> ScanFolder(const std::string& folder, const std::string& left_out) {
  return Scan(folder, left_out).Run();
}

}  // namespace autodist::files
