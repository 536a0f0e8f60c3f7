#include "progress/line_recogniser.h"

#include <algorithm>

#include "progress/bars.h"
#include "progress/log_lines.h"
#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr char kEscape = '\x1b';

// How long the escape sequence is that begins there; the rest where it does not end.
size_t EscapeLength(std::string_view text) {
  if (text.size() < 2) return text.size();
  if (text[1] == ']' || text[1] == 'P' || text[1] == '_' || text[1] == '^') {
    const size_t end = text.find_first_of("\x07\x1b", 2);  // a title, say
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

// Colours and the like.
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

// From a bar's label; that of ultralytics is made of numbers and has no name.
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

// The first look is cheap, as most lines tell nothing.
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

// Of what has been recognised; adds what other lines have said.
bool LineRecogniser::IsOfTraining(ProgressUpdate& update) {
  if (update.kind != 0) return IsConfirmed(update);
  if (update.unit != "keras" || !keras_) return true;
  // What follows the last step of an epoch, with other totals, is an evaluation.
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

// A single line says little: its count has to go up.
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
