// Lines of log that trainers write, each recognised only where its form is unmistakable.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "progress/pattern.h"
#include "progress/progress_update.h"

namespace autodist::progress {

// Each returns whether the line is one, and then sets what it says.

// Of Hugging Face's Trainer: "{'loss': 1.2, 'grad_norm': 3.1, 'learning_rate': 5e-05, 'epoch':
// 0.12}"
bool ReadTrainerDict(std::string_view line, ProgressUpdate& update);
// Of Megatron, DeepSpeed, mmengine, MindOCR, Paddle and others: see the table.
bool ReadLogLine(std::string_view line, ProgressUpdate& update);
// "step 59/100000 loss 2.3", "iter 10:", "[10/100]": of any program. What is said of its kind see
// ProgressUpdate::kind. `words`, `brackets`: what there is to look for.
bool ReadWords(std::string_view line, bool words, bool brackets, ProgressUpdate& update);
// Of Keras: "28/60 ━━━━━━━━━─── 3s 99ms/step - accuracy: 0.51 - loss: 2.3"; which epoch it is
// stands in a line of its own, "Epoch 3/10", first and last.
bool ReadKeras(std::string_view line, ProgressUpdate& update);
std::optional<std::pair<uint64_t, uint64_t>> ReadKerasEpoch(std::string_view line);
// As ScanMetrics, of "accuracy: 0.51 - loss: 2.3".
void ScanDashedMetrics(std::string_view text, ProgressUpdate& update);
// By the user's own pattern: groups step, total, epoch and epochs; others are metrics.
bool ReadByPattern(std::string_view line, const Pattern& pattern, ProgressUpdate& update);
// What a program has written to AUTODIST_PROGRESS: a JSON object; likewise. Numbers that JSON does
// not have, as Python writes them, are no numbers.
bool ReadJsonLine(std::string_view line, ProgressUpdate& update, std::string& storage);

}  // namespace autodist::progress
