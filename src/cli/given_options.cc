#include "cli/given_options.h"

namespace autodist::cli {

std::vector<std::string> Given(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> words;
  for (const CLI::Option* option : options) {
    if (option->count() == 0) continue;
    const std::string name = "--" + option->get_lnames().front();
    for (const std::string& value : option->results()) {
      const bool flag = option->get_items_expected_max() == 0 ||
                        (value.empty() && option->get_items_expected_min() == 0);
      words.push_back(flag ? name : name + "=" + value);
    }
  }
  return words;
}

}  // namespace autodist::cli
