// Parses the output of Keras' fit(), and of PaddlePaddle's, which has the same form.
#include <algorithm>

#include "progress/log_lines.h"
#include "progress/scan.h"

namespace autodist::progress {
namespace {

bool SkipAny(std::string_view& text, std::string_view characters) {
  const size_t end = std::min(text.find_first_not_of(characters), text.size());
  text.remove_prefix(end);
  return end > 0;
}

// "━━━━───────", "[=====>......]"; verbose=2 prints no bar.
bool SkipKerasBar(std::string_view& text) {
  bool any = false;
  if (text.starts_with('[')) {
    std::string_view rest = text.substr(1);
    SkipAny(rest, "=>.");
    if (!Skip(rest, "]")) return false;
    text = rest;
    return true;
  }
  while (Skip(text, "━") || Skip(text, "─") || Skip(text, "╸") || Skip(text, "╺")) any = true;
  return any;
}

// "99ms/step", "1s/step", "- ETA: 12s -"
bool HasStepTime(std::string_view text) {
  return text.find("s/step") != std::string_view::npos ||
         text.find("s/epoch") != std::string_view::npos ||
         text.find("ETA: ") != std::string_view::npos;
}

}  // namespace

std::optional<std::pair<uint64_t, uint64_t>> ReadKerasEpoch(std::string_view line) {
  if (!Skip(line, "Epoch ")) return std::nullopt;
  const auto epoch = TakeNumber(line);
  if (!epoch || !Skip(line, "/")) return std::nullopt;
  const auto epochs = TakeNumber(line);
  if (!epochs || *epoch > *epochs || !Trimmed(line).empty()) return std::nullopt;
  return std::pair(*epoch, *epochs);
}

bool ReadKeras(std::string_view line, ProgressUpdate& update) {
  std::string_view rest = line;
  if (Skip(rest, "step ")) SkipSpaces(rest);
  if (!TakeStepOf(rest, update)) return false;
  if (update.total ? *update.step > *update.total : !Skip(rest, "Unknown")) return false;
  if (!SkipAny(rest, " ")) return false;
  if (!SkipKerasBar(rest) && !rest.starts_with("- ")) return false;
  if (!HasStepTime(rest)) return false;
  update.source = Source::kLogLine;
  update.unit = "keras";
  ScanDashedMetrics(rest, update);
  return true;
}

}  // namespace autodist::progress
