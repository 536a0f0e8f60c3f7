#include "metrics/text_format.h"

#include <prometheus/text_serializer.h>

#include <sstream>
#include <string_view>

namespace autodist::metrics {
namespace {

constexpr std::string_view kTotal = "_total";

prometheus::MetricType TypeOf(Type type) {
  switch (type) {
    case Type::kCounter:
      return prometheus::MetricType::Counter;
    case Type::kGauge:
      return prometheus::MetricType::Gauge;
    default:
      return prometheus::MetricType::Untyped;
  }
}

prometheus::ClientMetric Made(const Sample& sample) {
  prometheus::ClientMetric made;
  for (const Label& label : sample.labels) made.label.push_back({label.name, label.value});
  // Only the one of the family's type is read.
  made.counter.value = made.gauge.value = made.untyped.value = sample.value;
  return made;
}

std::string Serialized(const Family& family) {
  prometheus::MetricFamily made;
  made.name = family.name;
  made.help = family.help;
  made.type = TypeOf(family.type);
  for (const Sample& sample : family.samples) made.metric.push_back(Made(sample));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, {made});
  return std::move(text).str();
}

// The library knows the older format alone. The samples are the same in both, but OpenMetrics calls
// a counter's family by its name without the suffix, and other types otherwise.
std::string OpenMetricsHead(const Family& family) {
  std::string name = family.name;
  std::string type = "unknown";
  if (family.type == Type::kGauge) type = "gauge";
  if (family.type == Type::kCounter) {
    type = "counter";
    if (name.ends_with(kTotal)) name.resize(name.size() - kTotal.size());
  }
  return "# HELP " + name + " " + family.help + "\n# TYPE " + name + " " + type + "\n";
}

std::string WithoutHead(const std::string& text) {
  size_t at = 0;
  while (at < text.size() && text[at] == '#') at = text.find('\n', at) + 1;
  return text.substr(at);
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
    const std::string serialized = Serialized(family);
    if (format == Format::kText) {
      text += serialized;
    } else {
      text += OpenMetricsHead(family) + WithoutHead(serialized);
    }
  }
  if (format == Format::kOpenMetrics) text += "# EOF\n";
  return text;
}

}  // namespace autodist::metrics
