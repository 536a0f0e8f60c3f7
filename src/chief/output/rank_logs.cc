#include "chief/output/rank_logs.h"

#include <fcntl.h>

#include <cerrno>
#include <filesystem>

#include "base/log.h"

namespace autodist::chief {
namespace {

// A large job has more files than a process may have open.
constexpr size_t kMostOpen = 500;

display::Stream StreamOf(const v1::Output& output) {
  return output.stream() == v1::OUTPUT_STREAM_STDERR ? display::kStderr : display::kStdout;
}

}  // namespace

std::vector<display::Process> ProcessesOf(const v1::LaunchPlan& plan) {
  std::vector<display::Process> processes;
  for (const v1::NodePlan& node : plan.nodes()) {
    for (const v1::RankPlan& rank : node.ranks()) {
      processes.push_back({rank.rank(), rank.local_rank(), node.address(), rank.auxiliary()});
    }
  }
  return processes;
}

RankLogs::RankLogs(const v1::LaunchPlan& plan, const std::string& folder, const display::View& view)
    : folder_(folder),
      lines_(ProcessesOf(plan), view, folder,
             [this](uint32_t rank, display::Stream stream, std::string_view line) {
               Keep(rank, stream, line);
             }) {}

Result<std::shared_ptr<RankLogs>> RankLogs::Create(const v1::LaunchPlan& plan,
                                                   const std::string& folder,
                                                   const display::View& view) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return ErrnoError(error.value(), "making the folder " + folder);
  std::shared_ptr<RankLogs> logs(new RankLogs(plan, folder, view));
  for (const display::Process& process : ProcessesOf(plan)) {
    AD_ASSIGN_OR_RETURN(File out, logs->Create(process.rank, display::kStdout));
    AD_ASSIGN_OR_RETURN(File err, logs->Create(process.rank, display::kStderr));
    logs->ranks_.try_emplace(
        process.rank, Rank{{std::move(out), std::move(err)}, LastWords(plan.working_directory())});
  }
  return logs;
}

Result<RankLogs::File> RankLogs::Create(uint32_t rank, display::Stream stream) const {
  const std::string path = display::LogPath(folder_, rank, stream);
  const base::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd.valid()) return ErrnoError(errno, "log file " + path);
  return File{display::LogTimesWriter(path)};
}

Status RankLogs::Open(const display::Output& output, File& file) {
  if (file.fd.valid()) {
    open_.splice(open_.begin(), open_, file.place);
    return OkStatus();
  }
  if (open_.size() == kMostOpen) {
    open_.back()->fd.Reset();
    open_.back()->times.Close();
    open_.pop_back();
  }
  const std::string path = display::LogPath(folder_, output.rank, output.stream);
  file.fd.Reset(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!file.fd.valid()) return ErrnoError(errno, "open");
  file.place = open_.insert(open_.begin(), &file);
  return OkStatus();
}

void RankLogs::Take(const v1::Output& output, Time now, display::Screen& screen) {
  const auto found = ranks_.find(output.rank());
  if (found == ranks_.end()) return;
  const display::Output taken{output.rank(), StreamOf(output), output.data(),
                              std::chrono::system_clock::now()};
  File& file = found->second.files[taken.stream];
  WriteFile(taken, file);
  lines_.Take(taken, !file.cut_short, now, screen);
  if (output.lost() > 0) {
    Warn(std::to_string(output.lost()) + " bytes that rank " + std::to_string(output.rank()) +
         " wrote are lost: " + output.lost_because());
  }
}

void RankLogs::WriteFile(const display::Output& output, File& file) {
  if (file.cut_short || output.bytes.empty()) return;
  Status written = Open(output, file);
  if (written.ok()) {
    file.times.Note(file.size, *output.time);
    file.size += output.bytes.size();
    written = base::WriteAll(file.fd.get(), output.bytes, base::Deadline::Never());
  }
  if (written.ok()) return;
  Warn("log of rank " + std::to_string(output.rank) + " is cut short: " + Message(written));
  file.cut_short = true;
}

void RankLogs::Keep(uint32_t number, display::Stream stream, std::string_view line) {
  const std::lock_guard lock(lines_mutex_);
  ranks_.at(number).last_words.Take(stream, line);
}

void RankLogs::Warn(const std::string& what) {
  base::Log(base::LogLevel::kWarning, what);
  warnings_.push_back(what);
}

LastWords RankLogs::LastWordsOf(uint32_t rank) const {
  const std::lock_guard lock(lines_mutex_);
  return ranks_.at(rank).last_words;
}

}  // namespace autodist::chief
