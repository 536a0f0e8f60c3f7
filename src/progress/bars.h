// Parses progress bars of programs: those of tqdm, also in the forms of Lightning and Hugging
// Face's Trainer, and those of Lightning by rich.
#pragma once

#include <string_view>

#include "progress/progress_update.h"

namespace autodist::progress {

// Each returns whether the line is such a bar, and then sets its values. The line has no escape
// sequences.
bool ReadTqdm(std::string_view line, ProgressUpdate& update);
bool ReadRich(std::string_view line, ProgressUpdate& update);
// Bars of ultralytics: "1/100 2.5G 1.234 640: 50% ━━━━━━────── 50/100 5.0it/s 10.2s<10.1s"
bool ReadUltralytics(std::string_view line, ProgressUpdate& update);

// Sets epoch and epochs from a label such as "Epoch 3/10"; returns the text before the number.
std::string_view ReadEpoch(std::string_view label, ProgressUpdate& update);

// What a bar counts, judged by its label and unit.
enum class Subject {
  kUnknown,
  kTraining,
  kEpochs,  // the steps are epochs
  kOther,   // an evaluation or a preparation: says nothing about the progress of the training
};
Subject SubjectOf(const ProgressUpdate& bar);
// Whether the line has a word of an evaluation or a preparation, and none of training.
bool NamesOtherWork(std::string_view text);

}  // namespace autodist::progress
