#include "chief/output/failure_excerpt.h"

#include <string.h>

#include <algorithm>

#include "chief/output/undecorated.h"

namespace autodist::chief {
namespace {

// Returns the line as a terminal finally shows it.
std::string_view AsShown(std::string_view line) {
  while (line.ends_with('\r')) line.remove_suffix(1);
  const void* replaced = memrchr(line.data(), '\r', line.size());
  if (!replaced) return line;
  return line.substr(static_cast<size_t>(static_cast<const char*>(replaced) - line.data()) + 1);
}

}  // namespace

void FailureExcerpt::Take(display::Stream stream, std::string_view line, display::Time now) {
  std::string plain;
  const std::string_view shown = WithoutColours(AsShown(line), plain);
  fatal_[stream].Take(shown, now);
  const std::string_view kept = shown.substr(0, kMaxLineLength);
  if (kept.find_first_not_of(" \t") == std::string_view::npos) return;
  Ring& ring = rings_[stream];
  ring.lines[ring.taken++ % kMaxLines].assign(kept);
  last_ = stream;
}

std::vector<std::string> FailureExcerpt::Lines(display::Stream stream) const {
  const Ring& ring = rings_[stream];
  std::vector<std::string> lines;
  for (size_t i = ring.taken - std::min(ring.taken, kMaxLines); i < ring.taken; ++i) {
    lines.push_back(ring.lines[i % kMaxLines]);
  }
  return lines;
}

std::string FailureExcerpt::LastLine() const {
  const Ring& ring = rings_[last_];
  return ring.taken == 0 ? "" : ring.lines[(ring.taken - 1) % kMaxLines];
}

const FatalMessages* FailureExcerpt::Fatal() const {
  const auto& err = fatal_[display::kStderr].last();
  const auto& out = fatal_[display::kStdout].last();
  if (err && (!out || err->weight >= out->weight)) return &fatal_[display::kStderr];
  return out ? &fatal_[display::kStdout] : nullptr;
}

const FatalMessage* FailureExcerpt::fatal() const {
  const FatalMessages* messages = Fatal();
  return messages ? &*messages->last() : nullptr;
}

uint32_t FailureExcerpt::lines_since_fatal() const {
  const FatalMessages* messages = Fatal();
  return messages ? messages->lines_since() : 0;
}

}  // namespace autodist::chief
