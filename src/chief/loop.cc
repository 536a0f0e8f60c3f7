#include "chief/loop.h"

#include <algorithm>

namespace autodist::chief {

bool Loop::RunUntil(const std::function<bool()>& done, Time limit) {
  if (idle_) idle_();
  while (!done()) {
    if (Now() >= limit) return false;
    Time next = limit;
    for (const auto& due : due_) next = std::min(next, due());
    if (done()) return true;
    if (const auto task = Take(next)) (*task)();
    if (Empty() && idle_) idle_();
  }
  return true;
}

}  // namespace autodist::chief
