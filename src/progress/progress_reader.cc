#include "progress/progress_reader.h"

#include <algorithm>
#include <functional>

#include "base/utf8.h"
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

constexpr size_t kMaxTracks = 16;
constexpr size_t kMaxWhatLength = 80;  // bytes
// After this time, a bar is considered abandoned although it did not finish.
constexpr std::chrono::seconds kGivenUp{60};
// Values beyond these are not real.
constexpr double kSlowest = 1e-9;  // steps per second
constexpr double kFastest = 1e15;
constexpr double kMaxTime = 1e10;  // seconds

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

std::string WhatOf(const ProgressUpdate& update) {
  if (!update.label.empty()) return base::Printable(base::Truncated(update.label, kMaxWhatLength));
  if (!update.epoch || !update.in_epoch) return "";
  return "epoch " + std::to_string(*update.epoch) +
         (update.epochs && !update.last_epoch ? "/" + std::to_string(*update.epochs) : "");
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

// One line proves little: its count must increase first, or its epoch, as in "Epoch 3 | Steps: 11".
bool LineRecogniser::IsConfirmed(const ProgressUpdate& update) {
  const auto known = std::ranges::find(candidates_, update.kind, &Candidate::kind);
  if (known == candidates_.end()) {
    candidates_[next_candidate_] = {update.kind, *update.step, update.epoch, false};
    next_candidate_ = (next_candidate_ + 1) % candidates_.size();
    return false;
  }
  const bool next_epoch = update.unit == "step" && known->epoch && update.epoch > known->epoch;
  known->confirmed = known->confirmed || next_epoch || *update.step > known->step;
  known->step = *update.step;
  known->epoch = update.epoch;
  return known->confirmed;
}

bool LineRecogniser::RecogniseFileLine(std::string_view line, ProgressUpdate& update) {
  return !pattern_ && ReadJsonLine(line, update, buffer_);
}

std::optional<v1::Progress> ProgressReader::Take(std::string_view line, Time now) {
  ProgressUpdate update;
  line = line.substr(0, kLookedAt);
  const bool recognised = lines_.Recognise(line, update);
  other_work_ = update.other_work;
  if (!recognised) return std::nullopt;
  return Note(update, line, now);
}

std::optional<v1::Progress> ProgressReader::TakeProgressLine(std::string_view line, Time now) {
  ProgressUpdate update;
  if (!lines_.RecogniseFileLine(line, update)) return std::nullopt;
  return Note(update, line, now);
}

std::optional<v1::Progress> ProgressReader::Note(const ProgressUpdate& update,
                                                 std::string_view line, Time now) {
  if (update.source == Source::kWord && surest_ == Source::kBar && !update.metrics.empty()) {
    KeepMetrics(update);  // the bar shows the progress
    return Answer();
  }
  if (update.source < surest_ && (update.step || surest_ > Source::kLogLine)) return std::nullopt;
  if (update.step && !NoteSteps(update, line, now)) return std::nullopt;
  KeepMetrics(update);
  if (update.step || !source_) source_ = update.source;
  return Answer();
}

// Returns whether the update changes the progress of the job.
bool ProgressReader::NoteSteps(const ProgressUpdate& update, std::string_view line, Time now) {
  bool is_new = false;
  const size_t index = TrackOf(update, is_new, now);
  other_work_ = index == kNone;
  if (index == kNone) return false;
  auto change = StepCount::Change::kOn;
  if (is_new) {
    Choose(index, now);
  } else {
    const bool given_up = main_ != kNone && now - tracks_[main_].last() >= kGivenUp;
    change = tracks_[index].Take(update, std::hash<std::string_view>()(line), now);
    if (change == StepCount::Change::kNone) return false;
    if (tracks_[index].side && given_up &&
        tracks_[index].steps().total_in_epoch() >= tracks_[main_].steps().total_in_epoch()) {
      tracks_[main_].side = true;
      Lead(index);
    }
  }
  if (index == outer_) return true;
  other_work_ = index != main_;
  if (index != main_) return false;
  Track& track = tracks_[index];
  track.what = WhatOf(update);
  if (change == StepCount::Change::kRestarted) rate_.Begin();
  rate_.Add(track.steps().step(), now);
  const bool plausible = update.rate && *update.rate >= kSlowest && *update.rate <= kFastest;
  reported_rate_ = plausible ? update.rate : std::nullopt;
  reported_eta_ = update.source == Source::kBar ? std::nullopt : update.eta;
  return true;
}

// kNone: the steps are not those of a training.
size_t ProgressReader::TrackOf(const ProgressUpdate& update, bool& is_new, Time now) {
  if (seen_ && seen_->source == update.source && seen_->label == update.label &&
      seen_->unit == update.unit && seen_->total == update.total) {
    return seen_->index;
  }
  seen_ = {update.source, std::string(update.label), std::string(update.unit), update.total, kNone};
  const Subject subject = update.source == Source::kBar ? SubjectOf(update) : Subject::kTraining;
  if (subject == Subject::kOther) return kNone;
  if (update.source > surest_) {
    surest_ = update.source;
    main_ = outer_ = kNone;
  }
  const std::string key = Track::KeyOf(update, subject);
  seen_->index = Find(key, subject, update);
  is_new = seen_->index == kNone;
  if (is_new) seen_->index = Add(Track(key, subject, update, now));
  return seen_->index;
}

size_t ProgressReader::Find(const std::string& key, Subject subject, const ProgressUpdate& update) {
  const auto found = std::ranges::find(tracks_, key, &Track::key);
  if (found != tracks_.end()) return static_cast<size_t>(found - tracks_.begin());
  if (main_ == kNone) return kNone;
  // The bar has received a name only now.
  Track& main = tracks_[main_];
  if (main.source() != Source::kBar || update.source != Source::kBar || !main.what.empty() ||
      main.steps().finished() || subject == Subject::kEpochs || update.in_epoch || !update.total ||
      update.total != main.steps().total_in_epoch() ||
      *update.step < main.steps().step_in_epoch()) {
    return kNone;
  }
  main.Rename(key, subject);
  return main_;
}

size_t ProgressReader::Add(Track track) {
  if (tracks_.size() < kMaxTracks) {
    tracks_.push_back(std::move(track));
    return tracks_.size() - 1;
  }
  while (next_ == main_ || next_ == outer_) next_ = (next_ + 1) % kMaxTracks;
  tracks_[next_] = std::move(track);
  return std::exchange(next_, (next_ + 1) % kMaxTracks);
}

// Decides how a new bar affects the progress of the job.
void ProgressReader::Choose(size_t index, Time now) {
  Track& track = tracks_[index];
  if (main_ == kNone) return Lead(index);
  Track& main = tracks_[main_];
  if (track.subject() == Subject::kEpochs && main.subject() != Subject::kEpochs) {
    if (outer_ == kNone) outer_ = index;
    return;
  }
  if (IsInnerOf(track, main)) {
    track.AddBefore(main.steps().step() * track.steps().total_in_epoch().value_or(0));
    outer_ = main_;
    return Lead(index);
  }
  const bool given_up = now - main.last() >= kGivenUp &&
                        track.steps().total_in_epoch() >= main.steps().total_in_epoch();
  if (!main.steps().finished() && !given_up) {
    track.side = true;
    return;
  }
  main.side = true;
  outer_ = kNone;
  Lead(index);
}

// With nested bars, the outer one is drawn first and waits until the inner one ends. An outer bar
// that has advanced before is interrupted by an evaluation, as in Hugging Face's Trainer.
bool ProgressReader::IsInnerOf(const Track& track, const Track& outer) const {
  if (outer_ != kNone || outer.source() != Source::kBar || !outer.steps().total_in_epoch())
    return false;
  if (outer.subject() == Subject::kEpochs) return !outer.steps().finished();
  if (outer.advanced() || outer.steps().step() > 0 || outer.subject() == Subject::kTraining)
    return false;
  return track.subject() == Subject::kTraining || !track.steps().total_in_epoch() ||
         *track.steps().total_in_epoch() > *outer.steps().total_in_epoch();
}

void ProgressReader::Lead(size_t index) {
  main_ = index;
  tracks_[index].side = false;
  rate_.Begin();
}

void ProgressReader::KeepMetrics(const ProgressUpdate& update) {
  for (const ProgressUpdate::Metric& metric : update.metrics) {
    const auto known = std::ranges::find(
        metrics_, metric.name, [](const auto& kept) { return std::string_view(kept.first); });
    if (known != metrics_.end()) {
      known->second = metric.value;
    } else if (metrics_.size() < kMaxMetrics && IsMetricName(metric.name)) {
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
  const auto epochs = outer_ == kNone ? std::nullopt : tracks_[outer_].steps().total_in_epoch();
  progress.set_step(main.steps().step());
  progress.set_what(main.what);
  const auto total = main.steps().TotalOver(epochs, epochs_);
  if (total) progress.set_total(*total);
  // Uses the program's own rate until enough was measured.
  const bool seen_enough = rate_.seen() >= StepRate::kWindow;
  auto rate = rate_.now();
  if (reported_rate_ && (!rate || !seen_enough)) rate = reported_rate_;
  if (rate) progress.set_rate(*rate);
  const auto lasting = seen_enough ? rate_.lasting() : rate;
  if (total && main.steps().step() >= *total) {
    progress.set_eta(0);
  } else if (total && lasting) {
    const double eta = static_cast<double>(*total - main.steps().step()) / *lasting;
    if (eta <= kMaxTime) progress.set_eta(eta);
  } else if (reported_eta_) {
    progress.set_eta(*reported_eta_);
  }
  return progress;
}

}  // namespace autodist::progress
