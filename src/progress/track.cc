#include "progress/track.h"

#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr size_t kMaxKeyLength = 80;

}  // namespace

std::string Track::KeyOf(const ProgressUpdate& update, Subject subject) {
  ProgressUpdate epoch;
  const std::string_view label = ReadEpoch(update.label, epoch);
  std::string key;
  bool digits = false;
  for (const char c : label.substr(0, kMaxKeyLength)) {
    const bool is_number = IsDigit(c) || (digits && c == '.');
    if (!is_number || !digits) key += is_number ? '#' : c;
    digits = is_number;
  }
  // Bars without a name are distinguished by their total.
  if (key.empty() && update.source == Source::kBar) key = std::to_string(update.total.value_or(0));
  key += '\n';
  key += update.unit.substr(0, kMaxKeyLength);
  key += static_cast<char>('0' + static_cast<int>(update.source));
  key += static_cast<char>('0' + static_cast<int>(subject));
  return key;
}

StepCount::Change Track::Take(const ProgressUpdate& update, size_t line, Time now) {
  using Change = StepCount::Change;
  if (line == line_ || line == ended_line_) return Change::kNone;
  const uint64_t before = steps_.step_in_epoch();
  const Change change = steps_.Take(update);
  if (change == Change::kNone) return change;
  if (change == Change::kNextEpoch || steps_.step_in_epoch() < before) ended_line_ = line_;
  line_ = line;
  last_ = now;
  return change;
}

void Track::Rename(std::string key, Subject subject) {
  key_ = std::move(key);
  subject_ = subject;
}

}  // namespace autodist::progress
