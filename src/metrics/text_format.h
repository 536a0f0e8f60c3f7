// Metrics as Prometheus reads them.
#pragma once

#include <string>
#include <vector>

#include "metrics/family.h"

namespace autodist::metrics {

enum class Format { kText, kOpenMetrics };

// What HTTP calls it.
std::string ContentType(Format format);
std::string AsText(const std::vector<Family>& families, Format format);

}  // namespace autodist::metrics
