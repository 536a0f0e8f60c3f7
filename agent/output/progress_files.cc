#include "agent/output/progress_files.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

#include "base/thread.h"
#include "base/utf8.h"
#include "rpc/limits.h"

namespace autodist::agent {
namespace {

constexpr size_t kFifoSize = 64 << 10;

}  // namespace

Result<std::unique_ptr<ProgressFiles>> ProgressFiles::Create(Report report) {
  std::unique_ptr<ProgressFiles> files(new ProgressFiles(std::move(report)));
  AD_RETURN_IF_ERROR(files->tasks_.Open());
  AD_ASSIGN_OR_RETURN(files->thread_, base::StartThread([&own = *files] { own.Loop(); }));
  return files;
}

ProgressFiles::~ProgressFiles() {
  if (!thread_.joinable()) return;
  tasks_.Post([this] { stopping_ = true; });
  thread_.join();
}

void ProgressFiles::Begin() {
  const std::lock_guard lock(mutex_);
  files_.clear();
}

Status ProgressFiles::Add(uint32_t rank, const std::string& path) {
  unlink(path.c_str());
  if (mkfifo(path.c_str(), 0600) != 0) return ErrnoError(errno, path);
  base::UniqueFd fd(open(path.c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid()) return ErrnoError(errno, path);
  {
    const std::lock_guard lock(mutex_);
    files_[rank] = {std::move(fd), {}};
  }
  tasks_.Post([] {});  // there is another one to read
  return OkStatus();
}

void ProgressFiles::Flush() {
  const std::lock_guard lock(mutex_);
  for (auto& [rank, file] : files_) {
    Read(file);
    ReportIfAny(rank, file);
  }
}

void ProgressFiles::Loop() {
  bool rest = false;
  while (!stopping_) {
    std::vector<pollfd> fds = {{tasks_.fd(), POLLIN, 0}};
    base::Deadline wake = rest ? base::Deadline::After(kReadInterval) : base::Deadline::Never();
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [rank, file] : files_) {
        if (!file.last.empty()) wake = std::min(wake, file.next);
        if (!rest) fds.push_back({file.fd.get(), POLLIN, 0});
      }
    }
    (void)poll(fds.data(), fds.size(), wake.PollTimeout());
    {
      const std::lock_guard lock(mutex_);
      const bool rested = std::exchange(rest, false);
      for (auto& [rank, file] : files_) {
        if (!rested || wake.Expired()) rest = Read(file) || rest;
        if (file.next.Expired()) ReportIfAny(rank, file);
      }
    }
    tasks_.RunAll();
  }
}

// Reads at most the size of a FIFO; returns whether there was anything.
bool ProgressFiles::Read(File& file) {
  std::array<char, kFifoSize> bytes;
  const ssize_t got = read(file.fd.get(), bytes.data(), bytes.size());
  if (got <= 0) return false;
  Take({bytes.data(), static_cast<size_t>(got)}, file);
  return true;
}

// Keeps the last complete line.
void ProgressFiles::Take(std::string_view bytes, File& file) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    file.skip = file.skip || file.line.size() + piece.size() > rpc::kMaxProgressLength;
    if (!file.skip) file.line += piece;
    if (end == std::string_view::npos) return;
    if (!file.skip && !file.line.empty()) file.last = file.line;
    file.skip = false;
    file.line.clear();
    bytes.remove_prefix(end + 1);
  }
}

void ProgressFiles::ReportIfAny(uint32_t rank, File& file) const {
  if (file.last.empty()) return;
  v1::ProgressLine reported;
  reported.set_rank(rank);
  reported.set_line(base::ToUtf8(std::exchange(file.last, "")));
  file.next = base::Deadline::After(kReportInterval);
  report_(std::move(reported));
}

}  // namespace autodist::agent
