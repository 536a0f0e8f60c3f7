#include "progress/progress_reader.h"

#include <algorithm>
#include <functional>

#include "base/utf8.h"
#include "progress/bars.h"
#include "progress/log_lines.h"
#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr size_t kMostTracks = 16;
constexpr size_t kLongestWhat = 80;  // bytes
// A bar that is not drawn any more, though it has not come to its end.
constexpr std::chrono::seconds kGivenUp{60};
// Faster and longer than that is no program.
constexpr double kSlowest = 1e-9;  // steps per second
constexpr double kFastest = 1e15;
constexpr double kLongestTime = 1e10;  // seconds
constexpr char kEscape = '\x1b';

const char* NameOf(Source source) {
  switch (source) {
    case Source::kBar:
      return "bar";
    case Source::kWord:
    case Source::kLogLine:
      return "log line";
    case Source::kFile:
      return "file";
    case Source::kPattern:
      return "pattern";
  }
  return "";
}

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

std::string WhatOf(const Told& told) {
  if (!told.label.empty()) return base::Printable(told.label.substr(0, kLongestWhat));
  if (!told.epoch || !told.in_epoch) return "";
  return "epoch " + std::to_string(*told.epoch) +
         (told.epochs && !told.last_epoch ? "/" + std::to_string(*told.epochs) : "");
}

}  // namespace

bool ProgressReader::Read(std::string_view line, Told& told) {
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
bool ProgressReader::ReadLine(std::string_view line, Told& told) {
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
bool ProgressReader::IsOfTraining(Told& told) {
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
bool ProgressReader::IsConfirmed(const Told& told) {
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

std::optional<v1::Progress> ProgressReader::Take(std::string_view line, Time now) {
  Told told;
  line = line.substr(0, kLookedAt);
  const bool tells = Read(line, told);
  other_work_ = told.other_work;
  if (!tells) return std::nullopt;
  return Note(told, line, now);
}

std::optional<v1::Progress> ProgressReader::TakeTold(std::string_view line, Time now) {
  Told told;
  if (pattern_ || !ReadJsonLine(line, told, buffer_)) return std::nullopt;
  return Note(told, line, now);
}

std::optional<v1::Progress> ProgressReader::Note(const Told& told, std::string_view line,
                                                 Time now) {
  if (told.source == Source::kWord && surest_ == Source::kBar && !told.metrics.empty()) {
    KeepMetrics(told);  // the bar says how far it is
    return Answer();
  }
  if (told.source < surest_ && (told.step || surest_ > Source::kLogLine)) return std::nullopt;
  if (told.step && !NoteSteps(told, line, now)) return std::nullopt;
  KeepMetrics(told);
  if (told.step || !source_) source_ = told.source;
  return Answer();
}

// Whether they say how far the job is.
bool ProgressReader::NoteSteps(const Told& told, std::string_view line, Time now) {
  bool is_new = false;
  const size_t index = TrackOf(told, is_new, now);
  other_work_ = index == kNone;
  if (index == kNone) return false;
  auto change = Track::Change::kOn;
  if (is_new) {
    Choose(index, now);
  } else {
    const bool given_up = main_ != kNone && now - tracks_[main_].last() >= kGivenUp;
    change = tracks_[index].Take(told, std::hash<std::string_view>()(line), now);
    if (change == Track::Change::kNone) return false;
    if (tracks_[index].side && given_up &&
        tracks_[index].total_in_epoch() >= tracks_[main_].total_in_epoch()) {
      tracks_[main_].side = true;
      Lead(index);
    }
  }
  if (index == outer_) return true;
  other_work_ = index != main_;
  if (index != main_) return false;
  Track& track = tracks_[index];
  track.what = WhatOf(told);
  if (change == Track::Change::kAnew) rate_.Begin();
  rate_.Add(track.step(), now);
  const bool plausible = told.rate && *told.rate >= kSlowest && *told.rate <= kFastest;
  told_rate_ = plausible ? told.rate : std::nullopt;
  told_eta_ = told.source == Source::kBar ? std::nullopt : told.eta;
  return true;
}

// kNone: its steps are not those of a training.
size_t ProgressReader::TrackOf(const Told& told, bool& is_new, Time now) {
  if (seen_ && seen_->source == told.source && seen_->label == told.label &&
      seen_->unit == told.unit && seen_->total == told.total) {
    return seen_->index;
  }
  seen_ = {told.source, std::string(told.label), std::string(told.unit), told.total, kNone};
  const Subject subject = told.source == Source::kBar ? SubjectOf(told) : Subject::kTraining;
  if (subject == Subject::kOther) return kNone;
  if (told.source > surest_) {
    surest_ = told.source;
    main_ = outer_ = kNone;
  }
  const std::string key = Track::KeyOf(told, subject);
  seen_->index = Find(key, subject, told);
  is_new = seen_->index == kNone;
  if (is_new) seen_->index = Add(Track(key, subject, told, now));
  return seen_->index;
}

size_t ProgressReader::Find(const std::string& key, Subject subject, const Told& told) {
  const auto found = std::ranges::find(tracks_, key, &Track::key);
  if (found != tracks_.end()) return static_cast<size_t>(found - tracks_.begin());
  if (main_ == kNone) return kNone;
  // A bar that has been given a name only now.
  Track& main = tracks_[main_];
  if (main.source() != Source::kBar || told.source != Source::kBar || !main.what.empty() ||
      main.finished() || subject == Subject::kEpochs || told.in_epoch || !told.total ||
      told.total != main.total_in_epoch() || *told.step < main.step_in_epoch()) {
    return kNone;
  }
  main.Rename(key, subject);
  return main_;
}

size_t ProgressReader::Add(Track track) {
  if (tracks_.size() < kMostTracks) {
    tracks_.push_back(std::move(track));
    return tracks_.size() - 1;
  }
  while (next_ == main_ || next_ == outer_) next_ = (next_ + 1) % kMostTracks;
  tracks_[next_] = std::move(track);
  return std::exchange(next_, (next_ + 1) % kMostTracks);
}

// What a bar that was not there before means for how far the job is.
void ProgressReader::Choose(size_t index, Time now) {
  Track& track = tracks_[index];
  if (main_ == kNone) return Lead(index);
  Track& main = tracks_[main_];
  if (track.subject() == Subject::kEpochs && main.subject() != Subject::kEpochs) {
    if (outer_ == kNone) outer_ = index;
    return;
  }
  if (IsInnerOf(track, main)) {
    track.AddBefore(main.step() * track.total_in_epoch().value_or(0));
    outer_ = main_;
    return Lead(index);
  }
  const bool given_up =
      now - main.last() >= kGivenUp && track.total_in_epoch() >= main.total_in_epoch();
  if (!main.finished() && !given_up) {
    track.side = true;
    return;
  }
  main.side = true;
  outer_ = kNone;
  Lead(index);
}

// Nested bars: the outer one is drawn first, and waits for the inner one's end. One that has gone
// on before evaluates something in between, as Hugging Face's Trainer does.
bool ProgressReader::IsInnerOf(const Track& track, const Track& outer) const {
  if (outer_ != kNone || outer.source() != Source::kBar || !outer.total_in_epoch()) return false;
  if (outer.subject() == Subject::kEpochs) return !outer.finished();
  if (outer.advanced() || outer.step() > 0 || outer.subject() == Subject::kTraining) return false;
  return track.subject() == Subject::kTraining || !track.total_in_epoch() ||
         *track.total_in_epoch() > *outer.total_in_epoch();
}

void ProgressReader::Lead(size_t index) {
  main_ = index;
  tracks_[index].side = false;
  rate_.Begin();
}

void ProgressReader::KeepMetrics(const Told& told) {
  for (const Told::Metric& metric : told.metrics) {
    const auto known = std::ranges::find(
        metrics_, metric.name, [](const auto& kept) { return std::string_view(kept.first); });
    if (known != metrics_.end()) {
      known->second = metric.value;
    } else if (metrics_.size() < kMostMetrics && IsMetricName(metric.name)) {
      metrics_.emplace_back(metric.name, metric.value);
    }
  }
}

v1::Progress ProgressReader::Answer() const {
  v1::Progress progress;
  for (const auto& [name, value] : metrics_) {
    v1::Metric& metric = *progress.add_metrics();
    metric.set_name(name);
    metric.set_value(value);
  }
  if (source_) progress.set_source(NameOf(*source_));
  if (main_ == kNone) return progress;
  const Track& main = tracks_[main_];
  const auto epochs = outer_ == kNone ? std::nullopt : tracks_[outer_].total_in_epoch();
  progress.set_step(main.step());
  progress.set_what(main.what);
  const auto total = main.TotalOver(epochs, epochs_);
  if (total) progress.set_total(*total);
  // What the program says itself, until we have seen enough.
  const bool seen_enough = rate_.seen() >= StepRate::kWindow;
  auto rate = rate_.now();
  if (told_rate_ && (!rate || !seen_enough)) rate = told_rate_;
  if (rate) progress.set_rate(*rate);
  const auto lasting = seen_enough ? rate_.lasting() : rate;
  if (total && main.step() >= *total) {
    progress.set_eta(0);
  } else if (total && lasting) {
    const double eta = static_cast<double>(*total - main.step()) / *lasting;
    if (eta <= kLongestTime) progress.set_eta(eta);
  } else if (told_eta_) {
    progress.set_eta(*told_eta_);
  }
  return progress;
}

}  // namespace autodist::progress
