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
void NameEpoch(Told& told) {
  ReadEpoch(told.label, told);
  if (told.in_epoch && IsDigit(told.label.front())) told.label = {};
}

}  // namespace

bool LineRecogniser::Recognise(std::string_view line, Told& told) {
  if (pattern_) return ReadByPattern(line, *pattern_, told);
  if (line.find(kEscape) != std::string_view::npos) {
    buffer_ = WithoutEscapes(line);
    line = buffer_;
  }
  line = Trimmed(line);
  if (line.empty()) return false;
  if (line.front() == '{' && line.back() == '}' && ReadTrainerDict(line, told)) return true;
  told = {};
  return ReadLine(line, told) && IsOfTraining(told);
}

// The first look is cheap, as most lines tell nothing.
bool LineRecogniser::ReadLine(std::string_view line, Told& told) {
  if ((line.back() == ']' || line.find('%') != std::string_view::npos) && ReadTqdm(line, told)) {
    NameEpoch(told);
    return true;
  }
  if (line.find('\xE2') != std::string_view::npos) {
    for (const auto read : {ReadRich, ReadUltralytics}) {
      told = {};
      if (!read(line, told)) continue;
      NameEpoch(told);
      return true;
    }
  }
  told = {};
  if ((IsDigit(line.front()) || line.starts_with("step ")) && ReadKeras(line, told)) return true;
  told = {};
  if (const auto epoch = ReadKerasEpoch(line)) {
    keras_ = KerasEpoch{epoch->first, epoch->second, {}};
    return false;
  }
  return ReadLogLine(line, told);
}

// Of what has been recognised; adds what other lines have said.
bool LineRecogniser::IsOfTraining(Told& told) {
  if (told.kind != 0) return IsConfirmed(told);
  if (told.unit != "keras" || !keras_) return true;
  // What follows the last step of an epoch, with other totals, is an evaluation.
  if (keras_->finished && (told.total != keras_->total || told.step != told.total)) {
    told.other_work = true;
    return false;
  }
  keras_->total = told.total;
  keras_->finished = told.total && told.step == told.total;
  told.epoch = keras_->epoch;
  told.epochs = keras_->epochs;
  told.in_epoch = true;
  return true;
}

// A single line says little: its count has to go up.
bool LineRecogniser::IsConfirmed(const Told& told) {
  const auto known = std::ranges::find(candidates_, told.kind, &Candidate::kind);
  if (known == candidates_.end()) {
    candidates_[next_candidate_] = {told.kind, *told.step, false};
    next_candidate_ = (next_candidate_ + 1) % candidates_.size();
    return false;
  }
  known->confirmed = known->confirmed || *told.step > known->step;
  known->step = *told.step;
  return known->confirmed;
}

bool LineRecogniser::RecogniseTold(std::string_view line, Told& told) {
  return !pattern_ && ReadJsonLine(line, told, buffer_);
}

}  // namespace autodist::progress
