#include "progress/pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

namespace autodist::progress {
namespace {

constexpr int64_t kMaxMemory = 1 << 20;  // of the program and its automata
constexpr size_t kMaxPatternLength = 4 << 10;

Status Refused(const std::string& text, const std::string& why) {
  return Error(StatusCode::kInvalidArgument, "'" + text + "' " + why);
}

}  // namespace

Result<Pattern> Pattern::Parse(const std::string& text) {
  if (text.size() > kMaxPatternLength) {
    return Error(StatusCode::kInvalidArgument,
                 "a pattern of " + std::to_string(text.size()) + " bytes is too long");
  }
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemory);
  const auto expression = std::make_shared<const RE2>(text, options);
  if (!expression->ok()) {
    const std::string& part = expression->error_arg();
    const size_t place = part.empty() ? std::string::npos : text.find(part);
    return Refused(text,
                   "is no regular expression" +
                       (place == std::string::npos ? std::string()
                                                   : " at character " + std::to_string(place + 1)) +
                       ": " + expression->error());
  }
  const auto& named = expression->CapturingGroupNames();
  if (named.empty()) {
    return WithRemedy(Refused(text, "names no group"),
                      "name the numbers to read: 'step (?P<step>\\d+) of (?P<total>\\d+)'");
  }
  if (static_cast<size_t>(expression->NumberOfCapturingGroups()) > kMaxGroups) {
    return Refused(text, "has more than " + std::to_string(kMaxGroups) + " groups");
  }
  Pattern pattern;
  pattern.names_.resize(static_cast<size_t>(expression->NumberOfCapturingGroups()) + 1);
  for (const auto& [number, name] : named) pattern.names_[static_cast<size_t>(number)] = name;
  pattern.expression_ = expression;
  return pattern;
}

bool Pattern::Find(std::string_view line, Match& match) const {
  std::array<re2::StringPiece, kMaxGroups + 1> groups;
  const re2::StringPiece text(line.data(), line.size());
  if (!expression_->Match(text, 0, text.size(), RE2::UNANCHORED, groups.data(),
                          static_cast<int>(names_.size()))) {
    return false;
  }
  match.groups.clear();
  for (size_t i = 1; i < names_.size(); ++i) {
    if (names_[i].empty() || groups[i].data() == nullptr) continue;
    match.groups.emplace_back(names_[i], std::string_view(groups[i].data(), groups[i].size()));
  }
  const auto begin = static_cast<size_t>(groups[0].data() - line.data());
  match.before = line.substr(0, begin);
  match.after = line.substr(begin + groups[0].size());
  return true;
}

}  // namespace autodist::progress
