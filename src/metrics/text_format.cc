#include "metrics/text_format.h"

#include <absl/strings/str_format.h>
#include <absl/strings/str_replace.h>

#include <cmath>
#include <string_view>

namespace autodist::metrics {
namespace {

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
