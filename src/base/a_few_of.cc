#include "base/a_few_of.h"

namespace autodist::base {

std::string AFewOf(const std::vector<std::string>& names, size_t named) {
  const bool all = names.size() <= named + 1;
  const size_t shown = all ? names.size() : named;
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const bool last = i > 0 && i + 1 == names.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + names[i];
  }
  return all ? text : text + " and " + std::to_string(names.size() - shown) + " others";
}

}  // namespace autodist::base
