#include "progress/line_recogniser.h"

#include <algorithm>

#include "progress/bars.h"
#include "progress/log_lines.h"
#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr char kEscape = '\x1b';

// Length of the escape sequence at the beginning; all of the text if it is incomplete.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == ']' || text[1] == 'P' || text[1] == '_' || text[1] == '^') {
    const size_t end = text.find_first_of("\x07\x1b", 2);  // such as a window title
    if (end == std::string_view::npos) return text.size();
    return text[end] == kEscape ? std::min(end + 2, text.size()) : end + 1;
  }
  if (text[1] != '[')
    return text[1] == '(' || text[1] == ')' ? std::min<size_t>(text.size(), 3) : 2;
  for (size_t i = 2; i < text.size(); ++i) {
    if (text[i] >= '@' && text[i] <= '~') return i + 1;
  }
  return text.size();
}

// Removes colors and other escape sequences.
std::string WithoutEscapes(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const size_t plain = std::min(line.find(kEscape), line.size());
    text += line.substr(0, plain);
    line.remove_prefix(plain);
    line.remove_prefix(EscapeLength(line));
  }
  return text;
}

// Reads the epoch from a bar's label, and drops an ultralytics label, which is all numbers.
void NameEpoch(ProgressUpdate& update) {
  ReadEpoch(update.label, update);
  if (update.in_epoch && IsDigit(update.label.front())) update.label = {};
}

}  // namespace

bool LineRecogniser::Recognise(std::string_view line, ProgressUpdate& update) {
  if (pattern_) return ReadByPattern(line, *pattern_, update);
  if (line.find(kEscape) != std::string_view::npos) {
    buffer_ = WithoutEscapes(line);
    line = buffer_;
  }
  line = Trimmed(line);
  if (line.empty()) return false;
  if (line.front() == '{' && line.back() == '}' && ReadTrainerDict(line, update)) return true;
  update = {};
  return ReadLine(line, update) && IsOfTraining(update);
}

// Most lines report no progress, so the first checks are cheap.
bool LineRecogniser::ReadLine(std::string_view line, ProgressUpdate& update) {
  if ((line.back() == ']' || line.find('%') != std::string_view::npos) && ReadTqdm(line, update)) {
    NameEpoch(update);
    return true;
  }
  if (line.find('\xE2') != std::string_view::npos) {
    for (const auto read : {ReadRich, ReadUltralytics}) {
      update = {};
      if (!read(line, update)) continue;
      NameEpoch(update);
      return true;
    }
  }
  update = {};
  if ((IsDigit(line.front()) || line.starts_with("step ")) && ReadKeras(line, update)) return true;
  update = {};
  if (const auto epoch = ReadKerasEpoch(line)) {
    keras_ = KerasEpoch{epoch->first, epoch->second, {}};
    return false;
  }
  return ReadLogLine(line, update);
}

// Completes the update with values of earlier lines.
bool LineRecogniser::IsOfTraining(ProgressUpdate& update) {
  if (update.kind != 0) return IsConfirmed(update);
  if (update.unit != "keras" || !keras_) return true;
  // Bars with other totals after the last step of an epoch are an evaluation.
  if (keras_->finished && (update.total != keras_->total || update.step != update.total)) {
    update.other_work = true;
    return false;
  }
  keras_->total = update.total;
  keras_->finished = update.total && update.step == update.total;
  update.epoch = keras_->epoch;
  update.epochs = keras_->epochs;
  update.in_epoch = true;
  return true;
}

// One line proves little: its count must increase first.
bool LineRecogniser::IsConfirmed(const ProgressUpdate& update) {
  const auto known = std::ranges::find(candidates_, update.kind, &Candidate::kind);
  if (known == candidates_.end()) {
    candidates_[next_candidate_] = {update.kind, *update.step, false};
    next_candidate_ = (next_candidate_ + 1) % candidates_.size();
    return false;
  }
  known->confirmed = known->confirmed || *update.step > known->step;
  known->step = *update.step;
  return known->confirmed;
}

bool LineRecogniser::RecogniseFileLine(std::string_view line, ProgressUpdate& update) {
  return !pattern_ && ReadJsonLine(line, update, buffer_);
}

}  // namespace autodist::progress
