// recovery_walks [--walks N] [--first SEED] [--show]: walks with the seeds SEED to SEED + N - 1
// (walk.h). Prints what was wrong, and with --show all messages of each walk.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "walks/walk.h"

namespace {

constexpr uint64_t kWalks = SANITIZED ? 300 : 3'000;
constexpr uint64_t kProgressInterval = 100'000;
constexpr uint64_t kMaxShown = 5;

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest();  // for assertions of the simulated nodes
  GTEST_FLAG_SET(throw_on_failure, true);
  uint64_t walks = kWalks;
  uint64_t first = 0;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--show") == 0) {
      show = true;
    } else if (std::strcmp(argv[i], "--walks") == 0 && has_value) {
      walks = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::strcmp(argv[i], "--first") == 0 && has_value) {
      first = std::strtoull(argv[++i], nullptr, 10);
    } else {
      std::fprintf(stderr, "usage: recovery_walks [--walks N] [--first SEED] [--show]\n");
      return 2;
    }
  }
  uint64_t wrong = 0;
  const auto began = std::chrono::steady_clock::now();
  for (uint64_t done = 0; done < walks; ++done) {
    const autodist::walks::Walked walk = autodist::walks::Walk(first + done);
    if (!walk.wrong.empty()) ++wrong;
    if (show || (!walk.wrong.empty() && wrong <= kMaxShown)) {
      std::printf("%s", walk.log.c_str());
    }
    if (!walk.wrong.empty()) {
      std::printf("walk %lu: %s\n", first + done, walk.wrong.c_str());
    }
    if ((done + 1) % kProgressInterval == 0 || done + 1 == walks) {
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
      std::printf("%lu walks, %lu wrong, %.0f s, next seed %lu\n", done + 1, wrong, took.count(),
                  first + done + 1);
      std::fflush(stdout);
    }
  }
  return wrong == 0 ? 0 : 1;
}
