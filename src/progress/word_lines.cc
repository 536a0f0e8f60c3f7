// Parses lines of unknown programs: "step 59/100000 loss 2.3", "iter 10:", "[10/100]".
#include <algorithm>
#include <array>

#include "progress/bars.h"
#include "progress/log_lines.h"
#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr size_t kTried = 4;       // max matches per line
constexpr size_t kLooksBack = 40;  // bytes before the count that name it

constexpr std::string_view kBrackets = "[";  // the unit of bracketed counts

// clang-format off
constexpr char kByWord[] =
    R"((?i)(?:^|[^\w.%-])(?:global_|train_|training_|current_|num_)?)"
    R"((?P<word>steps|step|iterations|iteration|iters|iter|itr|batch)["']?)"
    R"((?:\s*[:=#]\s*|\s+|\s*[\[(]\s*)\[?\s*(?P<step>\d+)(?:\s*(?:/|of)\s*(?P<total>\d+))?(?:\s*[\])])?)";
constexpr char kInBrackets[] =
    R"((?:^|[-|:\]>]\s*)\[\s*(?P<step>\d+)\s*/\s*(?P<total>\d+)\s*\])";
// clang-format on

// Names of measures of a training, which may be parts of longer names.
constexpr std::array<std::string_view, 12> kMeasured = {"loss",   "acc",  "ppl", "perplexity",
                                                        "reward", "grad", "nll", "elbo",
                                                        "psnr",   "miou", "mfu", "bleu"};

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

bool IsLetterOf(char c) { return (Lower(c) >= 'a' && Lower(c) <= 'z') || c == '_'; }

bool IsMeasured(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), Lower);
  if (lower.find("scale") != std::string::npos) return false;  // a setting of the loss
  return std::ranges::any_of(
      kMeasured, [&](std::string_view part) { return lower.find(part) != std::string::npos; });
}

// "loss 2.3", without a sign in between.
void ScanSpacedMetrics(std::string_view text, ProgressUpdate& update) {
  std::string_view name;
  while (!text.empty()) {
    SkipSpaces(text);
    const std::string_view word = text.substr(0, std::min(text.find_first_of(" \t"), text.size()));
    text.remove_prefix(word.size());
    std::string_view number = word;
    while (!number.empty() && std::string_view(",;|)]").find(number.back()) != number.npos) {
      number.remove_suffix(1);
    }
    const auto value = TakeReal(number);
    const bool known = std::ranges::any_of(
        update.metrics, [&](const ProgressUpdate::Metric& metric) { return metric.name == name; });
    if (value && number.empty() && IsMetricName(name) && (IsMeasured(name) || name == "lr") &&
        !known && update.metrics.size() < kMaxMetrics) {
      update.metrics.push_back({name, *value});
    }
    name = word;
  }
}

// The text after a number shows that it is not a count: "10.5", "10ms", "2026-11-25", "10:30".
bool IsPartOfMore(std::string_view after) {
  if (after.empty()) return false;
  const char next = after[0];
  const bool digit_follows = after.size() > 1 && IsDigit(after[1]);
  if (next == '.' || next == '-' || next == ':' || next == ',') return digit_follows;
  return IsDigit(next) || IsLetterOf(next) || next == '/' || next == '%' ||
         static_cast<unsigned char>(next) >= 0x80;
}

// Distinguishes kinds of lines by the text before the count and the first word after it, without
// numbers.
size_t KindOf(std::string_view before, std::string_view word, std::string_view after) {
  std::string kind(word);
  kind += '\n';
  for (const char c : before) {
    if (IsLetterOf(c)) kind += c;
  }
  kind += '\n';
  size_t at = 0;
  while (at < after.size() && !IsLetterOf(after[at])) ++at;
  if (word == kBrackets) {
    // Tools count files in this form: require that the rest of the line is the same.
    for (const char c : after.substr(0, kLooksBack)) {
      if (IsLetterOf(c)) kind += c;
    }
  }
  for (; at < after.size() && IsLetterOf(after[at]); ++at) kind += after[at];
  return std::hash<std::string>()(kind);
}

const Pattern& ByWord() {
  static const Pattern pattern = Pattern::Parse(kByWord).value();
  return pattern;
}

const Pattern& InBrackets() {
  static const Pattern pattern = Pattern::Parse(kInBrackets).value();
  return pattern;
}

std::string_view EndOf(std::string_view text) {
  return text.substr(text.size() - std::min(text.size(), kLooksBack));
}

// Sets the values of the match; false: it is not a step count.
bool TakeMatch(const Pattern::Match& match, std::string_view before, ProgressUpdate& update) {
  std::string_view word;
  for (auto [name, text] : match.groups) {
    if (name == "word") {
      word = text;
    } else {
      (name == "step" ? update.step : update.total) = TakeNumber(text);
    }
  }
  if (!update.step || IsPartOfMore(match.after)) return false;
  if (update.total && (*update.step > *update.total || *update.total < 2)) return false;
  ReadEpoch(EndOf(before), update);
  update.may_go_on = update.in_epoch;
  ScanDashedMetrics(match.after, update);
  ScanSpacedMetrics(match.after, update);
  ScanSpacedMetrics(before, update);
  const bool measured = std::ranges::any_of(
      update.metrics, [](const ProgressUpdate::Metric& metric) { return IsMeasured(metric.name); });
  const char initial = word.empty() ? '[' : Lower(word[0]);
  // A batch without a total or epoch is likely a batch size.
  if (initial == 'b' && !update.total && !update.epoch) return false;
  update.source = Source::kWord;
  // A program may write both steps and iterations; only one of them counts.
  update.unit = initial == 's'   ? "step"
                : initial == 'i' ? "iter"
                : initial == 'b' ? "batch"
                                 : kBrackets;
  // "Training steps: 100" may be the total, or belong to one log line.
  const bool plural = Lower(word.empty() ? ' ' : word.back()) == 's';
  update.kind = measured && !plural ? 0 : KindOf(EndOf(before), update.unit, match.after);
  return true;
}

}  // namespace

void ScanDashedMetrics(std::string_view text, ProgressUpdate& update) {
  constexpr std::string_view kDash = " - ";
  while (!text.empty()) {
    const size_t end = std::min(text.find(kDash), text.size());
    std::string_view piece = text.substr(0, end);
    while (!piece.empty() && std::string_view(" :|-,;])>\t").find(piece[0]) != piece.npos) {
      piece.remove_prefix(1);
    }
    ScanMetrics(piece, update);
    text.remove_prefix(std::min(end + kDash.size(), text.size()));
  }
}

bool ReadWords(std::string_view line, bool words, bool brackets, ProgressUpdate& update) {
  for (const auto& [wanted, pattern] :
       {std::pair{words, &ByWord()}, std::pair{brackets, &InBrackets()}}) {
    if (!wanted) continue;
    std::string_view rest = line;
    Pattern::Match match;
    for (size_t i = 0; i < kTried && pattern->Find(rest, match); ++i) {
      const std::string_view before =
          line.substr(0, static_cast<size_t>(match.after.data() - line.data()) -
                             (rest.size() - match.before.size() - match.after.size()));
      rest = match.after;
      update = {};
      if (!TakeMatch(match, before, update)) continue;
      const bool in_brackets = pattern == &InBrackets();
      const std::string_view behind = match.after.substr(0, kLooksBack);
      update.other_work = NamesOtherWork(EndOf(before)) ||
                          ((in_brackets || update.kind != 0) && NamesOtherWork(behind));
      return !update.other_work;
    }
  }
  const bool other_work = update.other_work;
  update = {};
  update.other_work = other_work;
  return false;
}

}  // namespace autodist::progress
