#include "spec/gpu_name.h"

#include <algorithm>
#include <cctype>

#include "base/split.h"
#include "spec/scalars.h"

namespace autodist::spec {
namespace {

constexpr size_t kMaxUuid = 36;  // characters

bool IsUuidOrItsBeginning(std::string_view text) {
  return !text.empty() && text.size() <= kMaxUuid && std::ranges::all_of(text, [](char c) {
    return c == '-' || std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

}  // namespace

bool IsGpuUuid(std::string_view text) {
  constexpr std::string_view kGpu = "GPU-";
  constexpr std::string_view kMig = "MIG-";
  if (text.starts_with(kGpu)) return IsUuidOrItsBeginning(text.substr(kGpu.size()));
  if (!text.starts_with(kMig)) return false;
  text.remove_prefix(kMig.size());
  if (!text.starts_with(kGpu)) return IsUuidOrItsBeginning(text);
  const auto parts = base::Split(text.substr(kGpu.size()), '/');  // UUID, GPU instance, its part
  return parts.size() == 3 && IsUuidOrItsBeginning(parts[0]) && IsDigits(parts[1]) &&
         IsDigits(parts[2]);
}

}  // namespace autodist::spec
