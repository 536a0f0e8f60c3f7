#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "progress/log_lines.h"
#include "progress/scan.h"

namespace autodist::progress {
namespace {

// Replaces NaN and Infinity, which Python's json writes, by null.
std::string WithoutNan(std::string_view text) {
  constexpr std::string_view kTokens[] = {"NaN", "Infinity", "-Infinity"};
  std::string replaced;
  bool quoted = false;
  while (!text.empty()) {
    const auto* const token =
        std::ranges::find_if(kTokens, [&](std::string_view one) { return text.starts_with(one); });
    if (!quoted && token != std::end(kTokens)) {
      replaced += "null";
      text.remove_prefix(token->size());
      continue;
    }
    if (text[0] == '"') quoted = !quoted;
    const size_t taken = quoted && text[0] == '\\' ? std::min<size_t>(2, text.size()) : 1;
    replaced += text.substr(0, taken);
    text.remove_prefix(taken);
  }
  return replaced;
}

// Collects the numbers of one object; ignores nested values.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  Reader(ProgressUpdate& update, std::string& names) : reported_(update), names_(names) {}

  bool start_object(size_t) override { return depth_++ == 0; }
  bool end_object() override { return true; }
  bool start_array(size_t) override { return false; }
  bool end_array() override { return false; }
  bool null() override { return Take(std::numeric_limits<double>::quiet_NaN()); }
  bool boolean(bool) override { return depth_ > 0; }
  bool string(string_t&) override { return depth_ > 0; }
  bool binary(binary_t&) override { return false; }
  bool number_integer(number_integer_t value) override { return Take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return Take(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return Take(value); }
  bool key(string_t& name) override {
    key_ = name;
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool Take(double value) {
    if (depth_ == 0) return false;
    if (auto* const known = reported_.CountOf(key_)) {
      if (value >= 0 && value <= kLargestCount) *known = static_cast<uint64_t>(value);
      return true;
    }
    if (reported_.metrics.size() == kMaxMetrics || !IsMetricName(key_)) return true;
    const size_t begin = names_.size();
    names_ += key_;  // reserved below, so names do not move
    reported_.metrics.push_back({std::string_view(names_).substr(begin), value});
    return true;
  }

  ProgressUpdate& reported_;
  std::string& names_;
  std::string key_;
  int depth_ = 0;
};

}  // namespace

bool ReadJsonLine(std::string_view line, ProgressUpdate& update, std::string& storage) {
  if (!line.starts_with('{')) return false;
  storage.clear();
  storage.reserve(line.size());  // keeps the views of names valid
  Reader reader(update, storage);
  if (!nlohmann::json::sax_parse(WithoutNan(line), &reader)) return false;
  update.source = Source::kFile;
  return update.step || update.epoch || !update.metrics.empty();
}

}  // namespace autodist::progress
