// Compares devices, and links between nodes, by how fast they were under the load of `doctor
// --burn`. Pure logic.
#pragma once

#include <string>

#include "autodist/v1/diagnosis.pb.h"

namespace autodist::diagnosis {

// Adds an issue for each device that computed wrong numbers, and a warning for each that is slower
// than others with the same name or was stopped. Sets the result of CHECK_HEALTH of their nodes.
void JudgeDevices(v1::Diagnosis& diagnosis);

// The rates of each kind of device, in a line for each; "": nothing was measured.
std::string DevicesAsText(const v1::Diagnosis& diagnosis);

// A device slower than this share of the usual rate is slow. Equal devices differ by less.
inline constexpr double kSlow = 0.95;
// A CPU is slow if it is also this many times farther from the median than most others.
inline constexpr double kSlowCpu = 0.85;
inline constexpr double kSlowHostMemory = 0.75;
inline constexpr double kSpreads = 4;

// Compares nodes by how fast they exchanged data in pairs. Adds a warning for each node that was
// slow with every partner, and an issue for each that received wrong numbers. Sets the result of
// CHECK_NETWORK of their nodes.
void JudgeLinks(v1::Diagnosis& diagnosis);

// The range of the rates, in a line; "": nothing was measured.
std::string LinksAsText(const v1::Diagnosis& diagnosis);

// A node is slow below this share of the usual rate. Equal nodes differ by less, also if they share
// processors.
inline constexpr double kSlowLink = 0.7;

}  // namespace autodist::diagnosis
