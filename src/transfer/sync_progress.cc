#include "transfer/sync_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "base/fd.h"
#include "base/quantity.h"
#include "base/thread.h"

namespace autodist::transfer {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDrawInterval{100};
constexpr milliseconds kSpeedWindow{2000};
constexpr milliseconds kTerminalLimit{1000};  // the limit for a terminal that accepts no data
constexpr size_t kBarWidth = 20;
constexpr size_t kUsualWidth = 80;
constexpr std::string_view kClearLine = "\r\033[K";

bool IsTerminal() {
  const char* kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && kind && std::string_view(kind) != "dumb";
}

size_t TerminalWidth() {
  winsize size{};
  const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : kUsualWidth;
}

void Print(std::string_view text) {
  (void)base::WriteAll(STDERR_FILENO, text, base::Deadline::After(kTerminalLimit));
}

// total > 0
uint64_t Share(uint64_t sent, uint64_t total, uint64_t of) {
  const double share = static_cast<double>(std::min(sent, total)) / static_cast<double>(total);
  return static_cast<uint64_t>(share * static_cast<double>(of));
}

}  // namespace

std::string ProgressLine(const std::string& what, uint64_t sent, uint64_t total,
                         uint64_t bytes_per_second, size_t width) {
  const size_t filled = total == 0 ? 0 : Share(sent, total, kBarWidth);
  const uint64_t percent = total == 0 ? 0 : Share(sent, total, 100);
  const std::string line = what + "  [" + std::string(filled, '#') +
                           std::string(kBarWidth - filled, '-') + "]  " + std::to_string(percent) +
                           " %  " + base::Bytes(bytes_per_second) + "/s";
  return line.substr(0, width);
}

SyncProgress::SyncProgress() : terminal_(IsTerminal()) {
  auto thread = base::StartThread([this](const std::stop_token& stop) { Show(stop); });
  if (thread.ok()) thread_ = *std::move(thread);  // otherwise no progress is shown
}

SyncProgress::~SyncProgress() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (terminal_) Print(kClearLine);
}

void SyncProgress::Waits(std::string what, bool no_bar) {
  const std::lock_guard lock(text_mutex_);
  waits_ = std::move(what);
  no_bar_ = no_bar;
}

void SyncProgress::Sends(std::string what, uint64_t total) {
  const std::lock_guard lock(text_mutex_);
  sends_ = std::move(what);
  total_ = total;
}

std::pair<std::string, uint64_t> SyncProgress::SendsNow() {
  const std::lock_guard lock(text_mutex_);
  return {sends_, total_};
}

void SyncProgress::Log(base::LogLevel level, const std::string& message) {
  const std::lock_guard lock(mutex_);
  if (terminal_) Print(kClearLine);
  base::Log(level, message);
}

void SyncProgress::Show(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, stop, kDrawInterval, [&] { return stop.stop_requested(); })) {
    Draw();
  }
}

void SyncProgress::Draw() {
  const uint64_t sent = sent_;
  const auto [what, total] = SendsNow();
  const uint64_t rate = BytesPerSecond();
  if (terminal_) {
    // Leaves the last column free: otherwise some terminals move to the next line.
    const size_t width = TerminalWidth() - 1;
    std::string line = ProgressLine(what, sent, total, rate, width);
    {
      const std::lock_guard lock(text_mutex_);
      if (sent == 0 || no_bar_) line = waits_.substr(0, width);
    }
    Print(std::string(kClearLine) + line);
    return;
  }
  const uint64_t tenths = sent == 0 || total == 0 ? 0 : Share(sent, total, 10);
  if (tenths <= tenths_ || tenths == 10) return;  // the summary reports the end
  tenths_ = tenths;
  base::Log(base::LogLevel::kInfo,
            what + ": " + std::to_string(tenths * 10) + " %, " + base::Bytes(rate) + "/s");
}

uint64_t SyncProgress::BytesPerSecond() {
  const Clock::time_point now = Clock::now();
  history_.emplace_back(now, sent_);
  while (now - history_.front().first > kSpeedWindow) history_.pop_front();
  const double seconds = std::chrono::duration<double>(now - history_.front().first).count();
  if (seconds <= 0) return 0;
  return static_cast<uint64_t>(
      static_cast<double>(history_.back().second - history_.front().second) / seconds);
}

}  // namespace autodist::transfer
