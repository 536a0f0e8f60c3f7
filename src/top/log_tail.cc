#include "top/log_tail.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace autodist::top {
namespace {

constexpr size_t kMaxLineLength = 4096;  // bytes; wider than any window

TextLine LineOf(std::string_view text, display::Stream stream) {
  return {std::string(text.substr(0, kMaxLineLength)), stream == display::kStderr};
}

}  // namespace

LogTail::LogTail(std::string folder, uint32_t rank)
    : folder_(std::move(folder)),
      rank_(rank),
      reader_(folder_, [rank](uint32_t other, display::Stream) { return other == rank; }) {
  reader_.SkipToLastLines(kTailLines);
}

bool LogTail::ReadNew() {
  bool any = false;
  const auto now = std::chrono::steady_clock::now();
  reader_.ReadAll([&](const display::Output& output, bool) {
    display::LineReader& stream = streams_[output.stream];
    if (output.offset) stream.SkipTo(*output.offset);
    any = any || !output.bytes.empty();
    stream.Take(output.bytes, false, now, [&](const display::Line& line) {
      lines_.push_back(LineOf(line.text, output.stream));
    });
    // Trims rarely, not for each new line.
    if (lines_.size() > 2 * kTailLines) {
      lines_.erase(lines_.begin(), lines_.end() - static_cast<std::ptrdiff_t>(kTailLines));
    }
  });
  return any;
}

std::shared_ptr<const TextLines> LogTail::lines() const {
  const size_t shown = std::min(lines_.size(), kTailLines);
  auto all =
      std::make_shared<TextLines>(lines_.end() - static_cast<std::ptrdiff_t>(shown), lines_.end());
  for (const display::Stream stream : {display::kStdout, display::kStderr}) {
    for (const std::string_view bar : streams_[stream].Bars()) {
      all->push_back(LineOf(bar, stream));
    }
  }
  return all;
}

}  // namespace autodist::top
