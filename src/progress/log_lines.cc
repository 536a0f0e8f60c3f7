#include "progress/log_lines.h"

#include <string.h>

#include <algorithm>

#include "progress/scan.h"

namespace autodist::progress {
namespace {

struct Form {
  const char* needle;  // lines without it are skipped
  const char* expression;
  bool in_epoch;  // steps restart at each epoch
};

// clang-format off
constexpr Form kForms[] = {
    // Megatron: " iteration      200/    1000 | consumed samples: 51200 | ... | lm loss: 2.3E+00 |"
    {"iteration", R"(\biteration +(?P<step>\d+)/ *(?P<total>\d+) \|)", false},
    // MindOCR: "epoch: [1/20] step: [30/100], loss: 0.53"; mmdet: "Epoch [1][50/7330]\tlr: ...";
    // mmengine: "Epoch(train)  [1][ 50/1875]  lr: ..."; torchvision: "Epoch: [0]  [ 10/1875]  eta: ..."
    {"poch", R"(\b[Ee]poch(?:\(train\))?:? *\[ *(?P<epoch>\d+)(?:/ *(?P<epochs>\d+))?\],? *)"
             R"((?:(?:[Ss]tep|[Ii]ter):? *)?\[ *(?P<step>\d+)/ *(?P<total>\d+)\])", true},
    // PaddleOCR: "epoch: [1/500], global_step: 10, lr: 0.001000, loss: 2.3, ..., eta: 1:02:03"
    {"global_step: ", R"(\bepoch: \[\d+/\d+\], global_step: (?P<step>\d+),)", false},
    // PaddleClas
    {"[Train]", R"(\[Train\]\[Epoch (?P<epoch>\d+)/(?P<epochs>\d+)\])"
                R"(\[Iter: (?P<step>\d+)/(?P<total>\d+)\])", true},
    // mmengine, mmseg
    {"Iter", R"(\bIter(?:\(train\))? +\[ *(?P<step>\d+)/ *(?P<total>\d+)\])", false},
    // MindSpore's LossMonitor
    {"loss is", R"(^epoch: (?P<epoch>\d+),? step: (?P<step>\d+), loss is (?P<loss>[-+.\deE]+|nan)\b)", true},
    // Megatron's successors: "Training epoch 0, iteration 9/99 | lr: 2.7e-06 | reduced_train_loss: 11.03"
    {"aining epoch", R"(\b[Tt]raining epoch (?P<epoch>\d+), iteration (?P<step>\d+)/(?P<total>\d+) \|)", false},
    // DeepSpeed and DeepSpeed pipelines: "step=10, skipped=0, lr=[0.001], mom=[(0.9, 0.999)]"
    {"skipped=", R"(\bstep=(?P<step>\d+), skipped=\d+, lr=[\[\d])", false},
    {"iter time (s)", R"(\bsteps: (?P<step>\d+) loss: +(?P<loss>\S+) iter time \(s\):)", false},
    // nanoGPT
    {"iter ", R"(^iter (?P<step>\d+): loss (?P<loss>[\d.]+|nan), time [\d.]+ms)", false},
    // PyTorch's examples: "Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.3"
    {"poch: ", R"(\b[Tt]rain(?:ing)? [Ee]poch: (?P<epoch>\d+) \s*\[(?P<step>\d+)/(?P<total>\d+) \( *[\d.]+%\)\])", true},
    // detectron2: " eta: 0:05:00  iter: 19  total_loss: 2.3  loss_cls: 1.1  time: 0.3"
    {"total_loss", R"(\biter: (?P<step>\d+) )", false},
    // fairseq: "epoch 001:     10 / 1000 loss=15.2, ppl=..., num_updates=10, lr=1e-07"
    {"epoch 0", R"(\bepoch (?P<epoch>\d{3}):? +(?P<step>\d+) / (?P<total>\d+) )", true},
    // Composer: "[batch=10/100]:"
    {"[batch=", R"(\[batch=(?P<step>\d+)/(?P<total>\d+)\])", false},
    // clu, of JAX: "I1125 10:00:00.000000 1 logging_writer.py:48] [10] loss=2.3, lr=0.1"
    {"logging_writer.py:", R"(\] \[(?P<step>\d+)\] )", false},
    // XGBoost, LightGBM: "[10]\ttrain-rmse:0.23"
    {"]\t", R"(^\[(?P<step>\d+)\]\t)", false},
    // Stable-Baselines3: "|    total_timesteps      | 2048     |"
    {"total_timesteps", R"(^\| +total_timesteps +\| (?P<step>\d+) +\|)", false},
    // timm
    {"Train: ", R"(\bTrain: (?P<epoch>\d+)(?:/\d+)? \[ *(?P<step>\d+)/(?P<total>\d+) \( *\d+%\)\])", true},
};
// clang-format on

// Several times as fast as string_view::find.
bool Contains(std::string_view line, std::string_view part) {
  return memmem(line.data(), line.size(), part.data(), part.size()) != nullptr;
}

struct ReadyForm {
  const Form& form;
  Pattern pattern;
};

const std::vector<ReadyForm>& Forms() {
  static const std::vector<ReadyForm> forms = [] {
    std::vector<ReadyForm> made;
    for (const Form& form : kForms) {
      made.push_back({form, Pattern::Parse(form.expression).value()});
    }
    return made;
  }();
  return forms;
}

// Sets the count with this name, or else adds a metric.
void Set(std::string_view name, std::string_view text, ProgressUpdate& update) {
  text = Trimmed(text);
  if (auto* const known = update.CountOf(name)) {
    if (const auto count = TakeCount(text)) *known = count;
  } else if (const auto value = TakeReal(text)) {
    update.metrics.push_back({name, *value});
  }
}

bool IsOfEvaluation(std::string_view before) {
  before = before.substr(before.size() - std::min<size_t>(before.size(), 16));
  constexpr std::string_view kWords[] = {"val", "Val", "test", "Test"};
  return std::ranges::any_of(
      kWords, [&](std::string_view word) { return before.find(word) != std::string_view::npos; });
}

// 'name' without escapes.
std::optional<std::string_view> TakeQuoted(std::string_view& text) {
  std::string_view rest = text;
  if (!Skip(rest, "'")) return std::nullopt;
  const size_t end = rest.find_first_of("'\\");
  if (end == std::string_view::npos || rest[end] == '\\') return std::nullopt;
  const std::string_view quoted = rest.substr(0, end);
  text = rest.substr(end + 1);
  return quoted;
}

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

bool ReadTrainerDict(std::string_view line, ProgressUpdate& update) {
  std::string_view rest = line;
  bool epoch = false;
  bool known = false;
  if (!Skip(rest, "{")) return false;
  while (true) {
    const auto name = TakeQuoted(rest);
    if (!name || !Skip(rest, ": ")) return false;
    std::string_view value = rest;
    const auto quoted = TakeQuoted(rest);
    if (quoted) value = *quoted;
    const auto number = TakeReal(value);
    if (!number || (quoted && !value.empty())) return false;
    if (!quoted) rest = value;
    epoch = epoch || *name == "epoch";
    known = known || *name == "loss" || *name == "learning_rate" || name->starts_with("eval_") ||
            name->starts_with("train_");
    if (IsMetricName(*name)) update.metrics.push_back({*name, *number});
    if (rest == "}") break;
    if (!Skip(rest, ", ")) return false;
  }
  update.source = Source::kLogLine;
  return epoch && known;
}

namespace {

// The hints that a line contains, found in one pass, because most lines report no progress.
struct Hints {
  bool form = false;     // needed by every form of the table
  bool word = false;     // "step", "iter", "itr", "batch"
  bool bracket = false;  // "[…/"
};

bool EndsIn(std::string_view line, size_t end, std::string_view word) {
  if (end < word.size()) return false;
  for (size_t i = 0; i < word.size(); ++i) {
    if ((line[end - word.size() + i] | 0x20) != word[i]) return false;
  }
  return true;
}

Hints HintsOf(std::string_view line) {
  Hints hints;
  bool open = false;
  for (size_t i = 0; i < line.size(); ++i) {
    switch (line[i]) {
      case '[':
        hints.form = open = true;
        break;
      case '|':
        hints.form = true;
        break;
      case '/':
        hints.bracket = hints.bracket || open;
        break;
      case 'p':
      case 'P':
        hints.word = hints.word || EndsIn(line, i + 1, "step");
        break;
      case 'r':
      case 'R':
        hints.word = hints.word || EndsIn(line, i + 1, "iter") || EndsIn(line, i + 1, "itr");
        break;
      case 'h':
      case 'H':
        hints.word = hints.word || EndsIn(line, i + 1, "batch");
        hints.form = hints.form || EndsIn(line, i + 1, "epoch");
        break;
      case 's':
        hints.form = hints.form || EndsIn(line, i + 1, "loss");
        break;
      default:
        break;
    }
  }
  return hints;
}

bool ReadForm(std::string_view line, ProgressUpdate& update) {
  Pattern::Match match;
  for (const ReadyForm& ready : Forms()) {
    if (!Contains(line, ready.form.needle)) continue;
    if (!ready.pattern.Find(line, match)) continue;
    if (IsOfEvaluation(match.before)) {
      update.other_work = true;
      continue;
    }
    update.source = Source::kLogLine;
    update.in_epoch = ready.form.in_epoch;
    for (const auto& [name, text] : match.groups) Set(name, text, update);
    if (!update.step) continue;
    ScanMetrics(match.after, update);
    update.other_work = false;
    return true;
  }
  return false;
}

}  // namespace

bool ReadLogLine(std::string_view line, ProgressUpdate& update) {
  const Hints hints = HintsOf(line);
  if (hints.form && ReadForm(line, update)) return true;
  if (update.other_work || (!hints.word && !hints.bracket)) return false;
  update = {};
  return ReadWords(line, hints.word, hints.bracket, update);
}

bool ReadByPattern(std::string_view line, const Pattern& pattern, ProgressUpdate& update) {
  Pattern::Match match;
  if (!pattern.Find(line, match)) return false;
  update.source = Source::kPattern;
  for (const auto& [name, text] : match.groups) Set(name, text, update);
  return update.step || update.epoch || !update.metrics.empty();
}

// The output of Keras' fit(), and of PaddlePaddle's, which has the same form.
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
