// Parses log lines of trainers; each form is recognized only if it is unambiguous.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "progress/pattern.h"
#include "progress/progress_update.h"

namespace autodist::progress {

// Each returns whether the line has the form, and then sets its values.

// Hugging Face's Trainer: "{'loss': 1.2, 'grad_norm': 3.1, 'learning_rate': 5e-05, 'epoch': 0.12}"
bool ReadTrainerDict(std::string_view line, ProgressUpdate& update);
// Megatron, DeepSpeed, mmengine, MindOCR, Paddle and others: see the table in log_lines.cc.
bool ReadLogLine(std::string_view line, ProgressUpdate& update);
// "step 59/100000 loss 2.3", "iter 10:", "[10/100]" of any program; for its kind see
// ProgressUpdate::kind. `words`, `brackets`: the forms to look for.
bool ReadWords(std::string_view line, bool words, bool brackets, ProgressUpdate& update);
// Keras: "28/60 ━━━━━━━━━─── 3s 99ms/step - accuracy: 0.51 - loss: 2.3". A separate line has the
// epoch, "Epoch 3/10".
bool ReadKeras(std::string_view line, ProgressUpdate& update);
std::optional<std::pair<uint64_t, uint64_t>> ReadKerasEpoch(std::string_view line);
// As ScanMetrics, for "accuracy: 0.51 - loss: 2.3".
void ScanDashedMetrics(std::string_view text, ProgressUpdate& update);
// Applies the user's pattern: groups step, total, epoch and epochs; other groups are metrics.
bool ReadByPattern(std::string_view line, const Pattern& pattern, ProgressUpdate& update);
// A JSON object that a program wrote to AUTODIST_PROGRESS, with the same names. Numbers such as
// NaN, which Python writes although JSON does not have them, are read as null.
bool ReadJsonLine(std::string_view line, ProgressUpdate& update, std::string& storage);

}  // namespace autodist::progress
