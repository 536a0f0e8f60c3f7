#include "metrics/family.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace autodist::metrics {
namespace {

const std::vector<Family> kFamilies{
    {"autodist_x_total", "How often.", Type::kCounter, {{{{"a", "1"}}, 3}, {{{"a", "2"}}, 4.5}}},
    {"autodist_y", "How much.", Type::kGauge, {{{}, 1'700'000'000.123}}},
    {"DCGM_Z_TOTAL", "Whatever.", Type::kUntyped, {{{{"b", "\"\\\n{}# EOF"}}, -2}}}};

TEST(TextFormat, IsThePrometheusFormat) {
  EXPECT_EQ(AsText(kFamilies, Format::kText),
            "# HELP autodist_x_total How often.\n"
            "# TYPE autodist_x_total counter\n"
            "autodist_x_total{a=\"1\"} 3\n"
            "autodist_x_total{a=\"2\"} 4.5\n"
            "# HELP autodist_y How much.\n"
            "# TYPE autodist_y gauge\n"
            "autodist_y 1700000000.123\n"
            "# HELP DCGM_Z_TOTAL Whatever.\n"
            "# TYPE DCGM_Z_TOTAL untyped\n"
            "DCGM_Z_TOTAL{b=\"\\\"\\\\\\n{}# EOF\"} -2\n");
}

TEST(TextFormat, OpenMetricsNamesFamiliesOfCountersWithoutTheirSuffix) {
  EXPECT_EQ(AsText(kFamilies, Format::kOpenMetrics),
            "# HELP autodist_x How often.\n"
            "# TYPE autodist_x counter\n"
            "autodist_x_total{a=\"1\"} 3\n"
            "autodist_x_total{a=\"2\"} 4.5\n"
            "# HELP autodist_y How much.\n"
            "# TYPE autodist_y gauge\n"
            "autodist_y 1700000000.123\n"
            "# HELP DCGM_Z_TOTAL Whatever.\n"
            "# TYPE DCGM_Z_TOTAL unknown\n"
            "DCGM_Z_TOTAL{b=\"\\\"\\\\\\n{}# EOF\"} -2\n"
            "# EOF\n");
}

TEST(TextFormat, SupportsNonFiniteNumbers) {
  const double infinite = std::numeric_limits<double>::infinity();
  EXPECT_EQ(AsText({{"x", "h", Type::kGauge, {{{}, std::nan("")}, {{{"a", "b"}}, -infinite}}}},
                   Format::kText),
            "# HELP x h\n# TYPE x gauge\nx Nan\nx{a=\"b\"} -Inf\n");
}

}  // namespace
}  // namespace autodist::metrics
