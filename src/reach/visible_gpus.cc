#include "reach/visible_gpus.h"

#include <absl/strings/ascii.h>

#include <cctype>
#include <set>

#include "base/quantity.h"
#include "base/split.h"
#include "base/utf8.h"
#include "spec/host_list.h"
#include "spec/scalars.h"

namespace autodist::reach {
namespace {

std::string_view WithoutBlanks(std::string_view text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) {
    text.remove_prefix(1);
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) {
    text.remove_suffix(1);
  }
  return text;
}

// Whether the value means no GPU, as users, schedulers and container runtimes write it.
bool SaysNone(std::string_view value) {
  const std::string lower = absl::AsciiStrToLower({value.data(), value.size()});
  return lower.empty() || lower == "-1" || lower == "none" || lower == "void" ||
         lower == "nodevfiles";
}

Status Wrong(std::string_view value, const std::string& why, const std::string& remedy) {
  return WithRemedy(
      Error(StatusCode::kInvalidArgument,
            "CUDA_VISIBLE_DEVICES is '" + base::Printable(std::string(value)) + "': " + why),
      remedy);
}

std::string Quote(std::string_view entry) {
  return "'" + base::Printable(std::string(entry)) + "'";
}

// Returns the error for an entry that is neither a number nor a UUID.
Status WrongEntry(std::string_view value, std::string_view entry) {
  constexpr char kList[] = "write numbers or UUIDs (nvidia-smi -L) with commas between: 0,1,2";
  if (entry == "all") {
    return Wrong(value, "CUDA reads it as no GPU", "unset it for all GPUs");
  }
  const size_t dash = entry.find('-');
  const auto first = spec::ReadWholeNumber(entry.substr(0, dash), spec::kMaxSlots);
  const auto last = dash == std::string_view::npos
                        ? std::nullopt
                        : spec::ReadWholeNumber(entry.substr(dash + 1), spec::kMaxSlots);
  if (first && last) return Wrong(value, "CUDA reads no ranges such as " + Quote(entry), kList);
  return Wrong(value, Quote(entry) + " is neither the number nor the UUID of a GPU", kList);
}

}  // namespace

Result<VisibleGpus> ReadVisibleGpus(std::string_view value, std::optional<uint32_t> present) {
  VisibleGpus visible;
  if (SaysNone(WithoutBlanks(value))) return visible;
  std::set<std::string_view> seen;
  bool any_uuid = false;
  for (const std::string_view part : base::Split(value, ',')) {
    const std::string_view entry = WithoutBlanks(part);
    if (entry == "-1") {  // CUDA intentionally stops there
      if (part.data() + part.size() != value.data() + value.size()) {
        visible.warning = "CUDA_VISIBLE_DEVICES is '" + base::Printable(std::string(value)) +
                          "': devices after the -1 are not used";
      }
      break;
    }
    const bool last = part.data() + part.size() == value.data() + value.size();
    if (entry.empty() && last && !visible.gpus.empty()) break;  // "0,1,"
    const bool uuid = spec::IsGpuUuid(entry);
    const auto number = uuid ? std::optional(static_cast<uint32_t>(visible.gpus.size()))
                             : spec::ReadWholeNumber(entry, spec::kMaxSlots - 1);
    if (!number) return WrongEntry(value, entry);
    if (!uuid && present && *number >= *present) {
      return Wrong(value,
                   "there is no GPU " + std::to_string(*number) + "; this machine has " +
                       base::Count(*present, "GPU") + ", numbered from 0",
                   "correct it, or unset it for all GPUs");
    }
    if (!seen.insert(entry).second) {
      return Wrong(value, Quote(entry) + " is listed twice; CUDA then shows no GPU",
                   "name each GPU once");
    }
    any_uuid |= uuid;
    visible.gpus.push_back(*number);
    visible.uuids.emplace_back(uuid ? entry : "");
  }
  if (!any_uuid) visible.uuids.clear();
  return visible;
}

}  // namespace autodist::reach
