// Bars that programs draw: tqdm's, also as Lightning and Hugging Face's Trainer draw them, and
// those of Lightning by rich.
#pragma once

#include <string_view>

#include "progress/progress_update.h"

namespace autodist::progress {

// Each returns whether the line is one, and then sets what it says. Without escape sequences.
bool ReadTqdm(std::string_view line, ProgressUpdate& update);
bool ReadRich(std::string_view line, ProgressUpdate& update);
// Those of ultralytics: "1/100 2.5G 1.234 640: 50% ━━━━━━────── 50/100 5.0it/s 10.2s<10.1s"
bool ReadUltralytics(std::string_view line, ProgressUpdate& update);

// Sets epoch and epochs from a label such as "Epoch 3/10"; what comes before the number.
std::string_view ReadEpoch(std::string_view label, ProgressUpdate& update);

// What a bar is about, by its label and unit.
enum class Subject {
  kUnknown,
  kTraining,
  kEpochs,  // counts them
  kOther,   // an evaluation, or what is made ready: tells nothing of how far the training is
};
Subject SubjectOf(const ProgressUpdate& bar);
// Whether one of the words of a line is of an evaluation or a preparation, and none of training.
bool NamesOtherWork(std::string_view text);

}  // namespace autodist::progress
