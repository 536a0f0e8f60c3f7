#include "progress/bars.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr std::string_view kHeavyLine = "━";
constexpr size_t kMaxWordLength = 16;

// "<00:12", "<?"
bool SkipRemaining(std::string_view& text) {
  if (!Skip(text, "<")) return false;
  return Skip(text, "?") || TakeDuration(text).has_value();
}

// "19.87it/s", "1.20s/it", "?it/s", "99.1MB/s"; `scaled`: counts have unit prefixes.
bool TakeRate(std::string_view& text, bool scaled, ProgressUpdate& update) {
  std::string_view rate = text.substr(0, text.find_first_of(",]"));
  text.remove_prefix(rate.size());
  SkipSpaces(rate);
  const bool unknown = Skip(rate, "?");
  size_t digits = 0;
  while (digits < rate.size() && (IsDigit(rate[digits]) || rate[digits] == '.')) ++digits;
  std::string_view number = rate.substr(0, digits);
  rate.remove_prefix(digits);
  if (!unknown && number.empty()) return false;
  const bool inverse = rate.starts_with("s/");
  if (!inverse && !rate.ends_with("/s")) return false;
  const auto value = TakeReal(number);
  double scale = 1;
  if (inverse) {
    update.unit = Trimmed(rate.substr(2));
  } else {
    update.unit = Trimmed(rate.substr(0, rate.size() - 2));
    std::string_view prefixed = update.unit;
    const size_t place = std::string_view("kMG").find(prefixed.empty() ? ' ' : prefixed[0]);
    if (scaled && prefixed.size() > 1 && place != std::string_view::npos) {
      for (size_t i = 0; i <= place; ++i) scale *= 1000;
      update.unit.remove_prefix(1);
    }
  }
  if (value && *value > 0) update.rate = inverse ? 1 / *value : *value * scale;
  return true;
}

// "[00:02<00:00, 19.87it/s, loss=1.205]"; without a total there is no "<00:00".
bool TakeTimes(std::string_view text, bool scaled, ProgressUpdate& update) {
  if (!Skip(text, "[") || !TakeDuration(text)) return false;
  if (update.total && !SkipRemaining(text)) return false;
  if (!Skip(text, ", ")) return false;
  // NeMo omits the rate and continues with metrics.
  const std::string_view first = text.substr(0, text.find_first_of(",]"));
  const bool metrics = update.total && first.find('=') != std::string_view::npos;
  if (!metrics && !TakeRate(text, scaled, update)) return false;
  if (metrics || Skip(text, ",")) {
    const size_t end = text.rfind(']');
    if (end != std::string_view::npos) ScanMetrics(text.substr(0, end), update);
  }
  return true;
}

std::string_view LabelOf(std::string_view text) {
  text = Trimmed(text);
  if (text.ends_with(':')) text.remove_suffix(1);
  return Trimmed(text);
}

// "  87%|████████▋ | 52/60 [...]", or without the bar itself.
bool ReadWithTotal(std::string_view line, size_t percent, ProgressUpdate& update) {
  size_t begin = percent;
  while (begin > 0 && IsDigit(line[begin - 1])) --begin;
  if (begin == percent) return false;
  std::string_view rest = line.substr(percent + 1);
  if (Skip(rest, "|")) {
    const size_t end = rest.find('|');
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
  SkipSpaces(rest);
  const std::string_view counts = rest.substr(0, rest.find('['));
  const bool scaled = counts.find_first_of("kKMGT") != std::string_view::npos;
  update.step = TakeCount(rest);
  if (!update.step || !Skip(rest, "/")) return false;
  update.total = TakeCount(rest);
  if (!update.total || !Skip(rest, " ") || !TakeTimes(rest, scaled, update)) return false;
  update.label = LabelOf(line.substr(0, begin));
  return true;
}

// "52it [00:02, 19.87it/s]"
bool ReadWithoutTotal(std::string_view line, size_t bracket, ProgressUpdate& update) {
  if (!TakeTimes(line.substr(bracket), true, update) || update.unit.empty()) return false;
  std::string_view before = line.substr(0, bracket - 1);
  if (!before.ends_with(update.unit)) {
    // "1.2kit/s" for a count without a unit prefix.
    if (update.unit.size() < 2 || !before.ends_with(update.unit.substr(1))) return false;
    update.unit.remove_prefix(1);
  }
  before.remove_suffix(update.unit.size());
  if (before.ends_with(' ')) before.remove_suffix(1);
  const size_t space = before.rfind(' ');
  const size_t begin = space == std::string_view::npos ? 0 : space + 1;
  std::string_view count = before.substr(begin);
  update.step = TakeCount(count);
  if (!update.step || !count.empty()) return false;
  update.label = LabelOf(before.substr(0, begin));
  return true;
}

bool IsAmong(std::string_view word, const auto& words) {
  return std::ranges::find(words, word) != words.end();
}

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

constexpr std::array<std::string_view, 42> kPreparation = {
    "map",        "filter",     "downloading", "download",      "loading",   "load",
    "fetching",   "resolving",  "tokenizing",  "tokenizer",     "tokenize",  "extracting",
    "saving",     "preparing",  "caching",     "preprocessing", "casting",   "flattening",
    "converting", "shards",     "files",       "building",      "copying",   "uploading",
    "upload",     "reading",    "writing",     "scanning",      "indexing",  "grouping",
    "packing",    "adding",     "applying",    "truncating",    "compiling", "capturing",
    "generating", "quantizing", "checking",    "merging",       "pushing",   "creating"};
constexpr std::array<std::string_view, 20> kEvaluation = {
    "val",        "valid",      "validation", "validating", "validate", "eval",   "evaluation",
    "evaluating", "evaluate",   "test",       "testing",    "tests",    "sanity", "predict",
    "predicting", "prediction", "inference",  "dev",        "sampling", "scoring"};
constexpr std::array<std::string_view, 10> kUnitsOfOthers = {
    "B", "iB", "examples", "ex", "file", "files", "shard", "shards", "rows", "tables"};

}  // namespace

bool ReadTqdm(std::string_view line, ProgressUpdate& update) {
  size_t percent = line.find("%|");
  if (percent == std::string_view::npos) percent = line.find("% ");
  if (percent != std::string_view::npos) {
    if (ReadWithTotal(line, percent, update)) return true;
    update = {};
  }
  if (!line.ends_with(']')) return false;
  const size_t bracket = line.find(" [");
  if (bracket == std::string_view::npos || bracket == 0) return false;
  if (ReadWithoutTotal(line, bracket + 1, update)) return true;
  update = {};
  return false;
}

namespace {

// Returns the text after a bar of rich or ultralytics; `line` keeps the text before it.
std::optional<std::string_view> BehindHeavyBar(std::string_view& line) {
  const size_t begin = std::min(line.find(kHeavyLine), line.find("╺"));
  if (begin == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(begin);
  while (Skip(rest, kHeavyLine) || Skip(rest, "╸") || Skip(rest, "╺") || Skip(rest, "─") ||
         Skip(rest, " ")) {
  }
  line = line.substr(0, begin);
  return rest;
}

// The default columns of rich: "Training ━━━━╸━━━  40% 0:00:12", "Training ━━╸━━━ 40/100 0:00:12".
bool ReadPlainRich(std::string_view label, std::string_view rest, ProgressUpdate& update) {
  auto first = TakeNumber(rest);
  if (!first) return false;
  if (Skip(rest, "%")) {
    SkipSpaces(rest);
    std::string_view counts = rest;
    const auto step = TakeNumber(counts);
    if (step && Skip(counts, "/")) {
      first = step;
      rest = counts;
      update.total = TakeNumber(rest);
    } else {
      update.total = 100;
    }
  } else if (Skip(rest, "/")) {
    update.total = TakeNumber(rest);
  }
  if (!update.total || *first > *update.total) return false;
  update.step = first;
  SkipSpaces(rest);
  // "10.2/50.3 MB" is no step count, nor is a bar of text without a time.
  if (!Skip(rest, "-:--:--") && !TakeDuration(rest)) return false;
  update.unit = "it";
  update.label = LabelOf(label);
  ProgressUpdate epoch;
  ReadEpoch(update.label, epoch);
  return epoch.epoch || SubjectOf(update) != Subject::kUnknown;
}

}  // namespace

// "Epoch 3/9 ━━━━╸━━ 5/10 0:00:01 • 0:00:02 4.10it/s loss: 0.123"
bool ReadRich(std::string_view line, ProgressUpdate& update) {
  const auto behind = BehindHeavyBar(line);
  if (!behind) return false;
  std::string_view rest = *behind;
  const size_t begin = line.size();
  if (ReadPlainRich(line, rest, update) && rest.find("it/s") == std::string_view::npos) return true;
  update = {};
  if (!TakeStepOf(rest, update)) return false;
  if (!update.total && !Skip(rest, "--")) return false;
  SkipSpaces(rest);
  if (!Skip(rest, "-:--:--") && !TakeDuration(rest)) return false;
  if (!Skip(rest, " • ") || (!Skip(rest, "-:--:--") && !TakeDuration(rest))) return false;
  SkipSpaces(rest);
  std::string_view rate = rest.substr(0, rest.find("it/s"));
  if (rate.size() == rest.size()) return false;
  rest.remove_prefix(rate.size() + 4);
  if (const auto value = TakeReal(rate); value && *value > 0) update.rate = value;
  update.unit = "it";
  update.label = Trimmed(line.substr(0, begin));
  update.last_epoch = true;
  ScanMetrics(rest, update);
  return true;
}

bool ReadUltralytics(std::string_view line, ProgressUpdate& update) {
  const auto behind = BehindHeavyBar(line);
  if (!behind) return false;
  std::string_view rest = *behind;
  std::string_view label = Trimmed(line);
  if (!label.ends_with('%')) return false;
  const size_t percent = label.find_last_not_of("0123456789", label.size() - 2);
  if (!TakeStepOf(rest, update)) return false;
  SkipSpaces(rest);
  rest = rest.substr(0, rest.find(' '));
  if (!update.total || *update.step > *update.total || !TakeRate(rest, false, update)) return false;
  update.label = LabelOf(percent == std::string_view::npos ? "" : label.substr(0, percent + 1));
  return true;
}

namespace {

// The label of an ultralytics bar, "1/100 2.5G 1.234 3.4 16 640": the epoch, and the GPU's memory.
bool ReadUltralyticsEpoch(std::string_view label, ProgressUpdate& update) {
  const auto epoch = TakeNumber(label);
  if (!epoch || !Skip(label, "/")) return false;
  const auto epochs = TakeNumber(label);
  SkipSpaces(label);
  if (!epochs || *epoch > *epochs || !TakeNumber(label)) return false;
  if (Skip(label, ".")) (void)TakeNumber(label);
  if (!Skip(label, "G ")) return false;
  update.epoch = epoch;
  update.epochs = epochs;
  update.in_epoch = true;
  return true;
}

}  // namespace

std::string_view ReadEpoch(std::string_view label, ProgressUpdate& update) {
  if (!label.empty() && IsDigit(label[0]) && ReadUltralyticsEpoch(label, update)) {
    return label.substr(0, 0);
  }
  for (size_t at = label.find("poch"); at != std::string_view::npos;
       at = label.find("poch", at + 4)) {
    std::string_view rest = label.substr(at + 4);
    while (!rest.empty() && std::string_view(" :#=[(\"'").find(rest[0]) != std::string_view::npos) {
      rest.remove_prefix(1);
    }
    const size_t number = label.size() - rest.size();
    update.epoch = TakeNumber(rest);
    if (!update.epoch) continue;
    SkipSpaces(rest);
    if (Skip(rest, "/") || Skip(rest, "of ")) {
      SkipSpaces(rest);
      update.epochs = TakeNumber(rest);
    }
    update.in_epoch = true;
    return label.substr(0, number);
  }
  return label;
}

bool NamesOtherWork(std::string_view text) {
  bool other = false;
  while (!text.empty()) {
    constexpr std::string_view kBetween = " \t()[]{}<>|,;=";
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    std::string_view word = text.substr(0, std::min(text.find_first_of(kBetween), text.size()));
    text.remove_prefix(word.size());
    while (!word.empty() && !IsLetter(word.front())) word.remove_prefix(1);
    while (!word.empty() && !IsLetter(word.back())) word.remove_suffix(1);
    // Names of files, modules and functions do not describe the work.
    if (word.size() > kMaxWordLength || !std::ranges::all_of(word, IsLetter)) continue;
    std::string lower(word);
    for (char& c : lower) c = static_cast<char>(c | 0x20);
    if (lower == "train" || lower == "training") return false;
    other = other || IsAmong(lower, kPreparation) || IsAmong(lower, kEvaluation);
  }
  return other;
}

Subject SubjectOf(const ProgressUpdate& bar) {
  if (IsAmong(bar.unit, kUnitsOfOthers)) return Subject::kOther;
  if (bar.label.starts_with("Class ")) return Subject::kOther;  // the evaluation of ultralytics
  bool training = false;
  bool evaluation = false;
  bool epochs = bar.unit.starts_with("epoch");
  std::array<char, kMaxWordLength> word;
  for (size_t i = 0; i < bar.label.size();) {
    size_t length = 0;
    for (; i < bar.label.size() && IsLetter(bar.label[i]); ++i) {
      if (length < word.size()) word[length++] = static_cast<char>(bar.label[i] | 0x20);
    }
    ++i;
    const std::string_view lower(word.data(), length);
    if (IsAmong(lower, kPreparation)) return Subject::kOther;
    training = training || lower == "train" || lower == "training";
    evaluation = evaluation || IsAmong(lower, kEvaluation);
    epochs = epochs || lower == "epochs" || lower == "epoch";
  }
  if (evaluation && !training) return Subject::kOther;
  if (epochs && !bar.in_epoch && bar.total) return Subject::kEpochs;
  return training || epochs ? Subject::kTraining : Subject::kUnknown;
}

}  // namespace autodist::progress
