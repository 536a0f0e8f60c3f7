// Conditions that must hold in a fuzzer.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace autodist {

// Aborts, which libFuzzer records as a crash.
inline void Check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace autodist
