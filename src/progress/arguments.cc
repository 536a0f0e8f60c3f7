#include "progress/arguments.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "progress/scan.h"

namespace autodist::progress {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"epochs",   "max_epochs",       "num_epochs",
                                                    "n_epochs", "num_train_epochs", "total_epochs"};

bool IsOfEpochs(std::string_view name) {
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  const size_t dot = name.rfind('.');
  if (dot != std::string_view::npos) name.remove_prefix(dot + 1);
  std::string plain(name);
  std::ranges::replace(plain, '-', '_');
  return std::ranges::find(kNames, plain) != kNames.end();
}

std::optional<uint64_t> CountOf(std::string_view text) {
  const auto count = TakeNumber(text);
  return text.empty() && count && *count > 0 ? count : std::nullopt;
}

}  // namespace

std::optional<uint64_t> EpochsIn(const std::vector<std::string>& arguments) {
  std::optional<uint64_t> epochs;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    const size_t mark = argument.find('=');
    if (!IsOfEpochs(argument.substr(0, mark))) continue;
    if (mark != std::string_view::npos) {
      epochs = CountOf(argument.substr(mark + 1));
    } else if (argument.starts_with('-') && i + 1 < arguments.size()) {
      epochs = CountOf(arguments[i + 1]);
    }
  }
  return epochs;
}

}  // namespace autodist::progress
