#include "base/for_user.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "base/split.h"

namespace autodist::base {
namespace {

constexpr std::pair<std::string_view, NodeSource> kSources[] = {
    {"spec", NodeSource::kSpec}, {"hosts", NodeSource::kHosts},
    {"init", NodeSource::kInit}, {"allocation", NodeSource::kAllocation},
    {"here", NodeSource::kHere},
};

std::atomic<NodeSource> current_source = NodeSource::kSpec;

// Whether a section with these names is for the source; nullopt: they begin no section.
std::optional<bool> SectionIsFor(NodeSource source, std::string_view names) {
  bool is_for = false;
  for (const std::string_view name : Split(names, ',')) {
    const auto* known = std::ranges::find(kSources, name, [](auto& one) { return one.first; });
    if (known == std::end(kSources)) return std::nullopt;
    is_for |= known->second == source;
  }
  return is_for;
}

// Returns the position of the bracket that ends the section; npos: none.
size_t EndOfSection(std::string_view text, size_t begin) {
  size_t open = 1;
  for (size_t at = begin; at < text.size(); ++at) {
    if (text[at] == '[') ++open;
    if (text[at] == ']' && --open == 0) return at;
  }
  return text.npos;
}

}  // namespace

std::string ForUserOf(NodeSource source, std::string_view text) {
  std::string shown;
  size_t done = 0;
  for (size_t at = text.find('['); at != text.npos; at = text.find('[', at + 1)) {
    const size_t names_end = text.find('|', at);
    if (names_end == text.npos) break;
    const auto is_for = SectionIsFor(source, text.substr(at + 1, names_end - at - 1));
    const size_t end = is_for ? EndOfSection(text, names_end + 1) : text.npos;
    if (end == text.npos) continue;
    shown.append(text, done, at - done);
    if (*is_for) shown.append(text, names_end + 1, end - names_end - 1);
    done = end + 1;
    at = end;
  }
  return shown.append(text, done);
}

void SetNodeSource(NodeSource source) { current_source = source; }

NodeSource CurrentNodeSource() { return current_source; }

std::string ForUser(std::string_view text) { return ForUserOf(CurrentNodeSource(), text); }

}  // namespace autodist::base
