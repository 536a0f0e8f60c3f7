#include "metrics/family.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/utf8.h"

namespace autodist::metrics {
namespace {

constexpr size_t kMaxLabelLength = 256;  // bytes

constexpr std::string_view kTotal = "_total";

std::string NumberText(double value) {
  if (std::isnan(value)) return "Nan";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return absl::StrFormat("%.16g", value);
}

// OpenMetrics names a counter's family without the suffix, and has other names for types.
std::string Head(const Family& family, Format format) {
  const bool open = format == Format::kOpenMetrics;
  std::string name = family.name;
  std::string type = open ? "unknown" : "untyped";
  if (family.type == Type::kGauge) type = "gauge";
  if (family.type == Type::kCounter) {
    type = "counter";
    if (open && name.ends_with(kTotal)) name.resize(name.size() - kTotal.size());
  }
  return "# HELP " + name + " " + family.help + "\n# TYPE " + name + " " + type + "\n";
}

std::string Line(const std::string& name, const Sample& sample) {
  std::string labels;
  for (const Label& label : sample.labels) {
    labels += (labels.empty() ? "{" : ",") + label.name + "=\"" +
              absl::StrReplaceAll(label.value, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}}) +
              "\"";
  }
  return name + labels + (labels.empty() ? " " : "} ") + NumberText(sample.value) + "\n";
}

}  // namespace

void FamilySet::Add(Type type, std::string_view name, std::string_view help, const Labels& labels,
                    std::optional<double> value) {
  if (!value) return;
  Labels kept;
  for (const Label& label : labels) {
    if (label.value.empty()) continue;
    kept.push_back({label.name, base::ToUtf8(base::Printable(label.value), kMaxLabelLength)});
  }
  const auto [found, added] = index_.try_emplace(name, families_.size());
  if (added) {
    families_.push_back({std::string(name), std::string(help), type, {}});
    labels_.emplace_back();
  }
  if (!labels_[found->second].insert(kept).second) return;
  families_[found->second].samples.push_back({std::move(kept), *value});
}

Labels With(Labels labels, std::initializer_list<Label> more) {
  labels.insert(labels.end(), more.begin(), more.end());
  return labels;
}

std::string Word(std::string_view enumerator, std::string_view prefix) {
  return absl::AsciiStrToLower(
      std::string(enumerator.substr(std::min(prefix.size(), enumerator.size()))));
}

std::string ContentType(Format format) {
  return format == Format::kOpenMetrics
             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
             : "text/plain; version=0.0.4; charset=utf-8";
}

std::string AsText(const std::vector<Family>& families, Format format) {
  std::string text;
  for (const Family& family : families) {
    text += Head(family, format);
    for (const Sample& sample : family.samples) text += Line(family.name, sample);
  }
  if (format == Format::kOpenMetrics) text += "# EOF\n";
  return text;
}

}  // namespace autodist::metrics
