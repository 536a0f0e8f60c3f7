// Repeats the kinds of work of a device for a given time, and measures how fast they are.
#pragma once

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "autodist/status.h"

namespace autodist::burn {

// Names as in burn.proto.
enum class Kind { kMatrix, kArithmetic, kMemory, kHostMemory, kToDevice, kFromDevice };

struct Rate {
  Kind kind;
  double rate = 0;  // operations or bytes per second
};

struct Measured {
  std::vector<Rate> rates;
  uint64_t wrong = 0;  // numbers in the results
  double stopped = 0;  // share of the time
};

// Returns an autodist.v1.BurnResult as JSON in one line.
std::string AsJson(const std::string& device, const Measured& measured);

// A piece of work that was done.
struct Piece {
  double amount = 0;  // operations or bytes
  std::chrono::duration<double> time{0};
  uint64_t wrong = 0;  // numbers
};

struct Work {
  Kind kind;
  // Whether other programs slow it down at times, so that the fastest hundredth of the pieces shows
  // how fast the device is; else their mean does.
  bool disturbed = false;
  std::function<Result<Piece>()> run = {};  // does the next piece: milliseconds of work
};

// Does the pieces in turn until the time is over, at least each one twice; the first of each is not
// measured. Blocks. Fails at the first piece that cannot be done.
Result<Measured> Burn(const std::vector<Work>& works, std::chrono::milliseconds time);

// Runs `piece` and returns how long it took.
template <typename Function>
std::chrono::duration<double> TimeOf(const Function& piece) {
  const auto begin = std::chrono::steady_clock::now();
  piece();
  return std::chrono::steady_clock::now() - begin;
}

// The same without the time in which other programs had the CPU of this thread.
template <typename Function>
std::chrono::duration<double> CpuTimeOf(const Function& piece) {
  const auto now = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  };
  const auto begin = now();
  piece();
  return now() - begin;
}

}  // namespace autodist::burn
