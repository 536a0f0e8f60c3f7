// Prometheus' text format 0.0.4, and OpenMetrics 1.0.
#pragma once

#include <string>
#include <vector>

#include "metrics/family.h"

namespace autodist::metrics {

enum class Format { kText, kOpenMetrics };

// The format's media type.
std::string ContentType(Format format);
std::string AsText(const std::vector<Family>& families, Format format);

}  // namespace autodist::metrics
