#include "agent/sample/gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/split.h"

namespace autodist::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Shortened output of --help-query-gpu of drivers since 535.
constexpr char kHelp[] = R"(List of valid properties to query for the switch "--query-gpu=":

"timestamp"
The timestamp of when the query was made in format "YYYY/MM/DD HH:MM:SS.msec".

"index"
Zero based index of the GPU. Can change at each boot.

"uuid" or "gpu_uuid"
"pci.bus_id" or "gpu_bus_id"
"utilization.gpu"
"memory.total"
"memory.used"
"power.draw"
"power.limit"
"temperature.gpu"
"clocks.current.sm" or "clocks.sm"
"clocks.max.sm" or "clocks.max.sm"
"clocks_event_reasons.active"
"clocks_throttle_reasons.active"
"ecc.errors.uncorrected.volatile.total"
)";

TEST(GpuRowsTest, QueriesFieldsThatTheDriverSupports) {
  EXPECT_EQ(GpuFields(kHelp).Query(),
            "--query-gpu=index,uuid,pci.bus_id,utilization.gpu,memory.used,memory.total,power.draw,"
            "power.limit,temperature.gpu,clocks.sm,clocks.max.sm,clocks_event_reasons.active,"
            "ecc.errors.uncorrected.volatile.total");
  EXPECT_EQ(GpuFields("\"index\"\n\"clocks_throttle_reasons.active\"\n").Query(),
            "--query-gpu=index,clocks_throttle_reasons.active");
  EXPECT_FALSE(GpuFields("\"uuid\"\n").usable());
  EXPECT_FALSE(GpuFields("NVIDIA-SMI has failed because it couldn't communicate").usable());
}

TEST(GpuRowsTest, ARowIsAGpu) {
  const GpuFields fields(kHelp);
  const auto row = fields.Parse(
      "3, GPU-2d5c1f0e-9f1b-7f0e-d2f0-3d7f2f4f8b11, 00000000:5D:00.0, 97, 131072, 143771, 698.51, "
      "700.00, 71, 1005, 1980, 0x0000000000000088, 2");
  ASSERT_TRUE(row);
  const v1::GpuSample& gpu = row->gpu;
  EXPECT_EQ(gpu.index(), 3u);
  EXPECT_EQ(gpu.uuid(), "GPU-2d5c1f0e-9f1b-7f0e-d2f0-3d7f2f4f8b11");
  EXPECT_EQ(row->place, health::ParsePciPlace("0000:5d:00"));
  EXPECT_DOUBLE_EQ(gpu.use(), 0.97);
  EXPECT_EQ(gpu.memory_used(), uint64_t{131072} << 20);
  EXPECT_EQ(gpu.memory_total(), uint64_t{143771} << 20);
  EXPECT_DOUBLE_EQ(gpu.power(), 698.51);
  EXPECT_DOUBLE_EQ(gpu.power_limit(), 700);
  EXPECT_DOUBLE_EQ(gpu.temperature(), 71);
  EXPECT_DOUBLE_EQ(gpu.clock(), 1005);
  EXPECT_DOUBLE_EQ(gpu.clock_limit(), 1980);
  EXPECT_THAT(gpu.throttled(), ElementsAre("HW power brake"));
  EXPECT_EQ(gpu.ecc_errors(), 2u);
}

TEST(GpuRowsTest, UnsupportedValuesAreAbsent) {
  const GpuFields fields(kHelp);
  const auto row = fields.Parse(
      "0, GPU-aaaa, 00000000:01:00.0, [N/A], [Not Supported], -1, [Unknown Error], nan, N/A, , "
      "inf, [N/A], [N/A]");
  ASSERT_TRUE(row);
  const v1::GpuSample& gpu = row->gpu;
  EXPECT_FALSE(gpu.has_use() || gpu.has_memory_used() || gpu.has_memory_total() ||
               gpu.has_power() || gpu.has_power_limit() || gpu.has_temperature() ||
               gpu.has_clock() || gpu.has_clock_limit() || gpu.has_ecc_errors())
      << gpu.ShortDebugString();
  EXPECT_THAT(gpu.throttled(), IsEmpty());
}

// Of two healthy GPUs in use, in the form in which drivers from this version on print them for our
// query; and the names of the properties in their --help-query-gpu.
struct Recording {
  explicit Recording(int driver)
      : fields(Text(driver, ".help")), rows(base::Lines(text = Text(driver, ".csv"))) {}
  static std::string Text(int driver, const std::string& end) {
    const std::ifstream file(TEST_SOURCE_DIR "/unit/agent/sample/recordings/driver_" +
                             std::to_string(driver) + end);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  std::vector<health::Fault> FaultsIn(std::string_view row) const {
    const auto parsed = fields.Parse(row);
    EXPECT_TRUE(parsed) << row;
    return parsed ? health::FindInGpu(parsed->description, parsed->gpu.index())
                  : std::vector<health::Fault>();
  }
  // The second GPU's row with another value.
  std::string With(const std::string& property, const std::string& value) const {
    const std::string query = fields.Query() + ",";
    const size_t at = query.find("," + property + ",");
    EXPECT_NE(at, std::string::npos) << property;
    std::string row(rows[1]);
    size_t begin = 0;
    for (auto i = std::count(query.begin(), query.begin() + static_cast<ptrdiff_t>(at) + 1, ',');
         i > 0; --i) {
      begin = row.find(", ", begin) + 2;
    }
    return row.replace(begin, row.find(", ", begin) - begin, value);
  }

  const GpuFields fields;
  std::string text;
  const std::vector<std::string_view> rows;
};

TEST(GpuRowsTest, NothingIsFoundOnHealthyGpus) {
  for (const int driver : {535, 570, 580}) {
    const Recording recording(driver);
    ASSERT_EQ(recording.rows.size(), 2u);
    for (const std::string_view row : recording.rows) {
      EXPECT_THAT(recording.FaultsIn(row), IsEmpty()) << driver << ": " << row;
    }
  }
}

TEST(GpuRowsTest, EveryFaultIsFound) {
  const struct {
    int driver;
    const char* property;
    const char* value;
    const char* expected;  // "": none
  } kFaults[] = {
      {535, "reset_status.reset_required", "Yes", "must be reset"},
      {535, "reset_status.drain_and_reset_recommended", "Yes",
       "must be reset before other programs use it"},
      {570, "gpu_recovery_action", "Reset", "needs a recovery action: Reset"},
      {580, "gpu_recovery_action", "Drain and Reset", "needs a recovery action: Drain and Reset"},
      {580, "gpu_recovery_action", "[N/A]", ""},
      {535, "ecc.errors.uncorrected.volatile.total", "1",
       "had 1 memory error that was not corrected since the driver was loaded"},
      {580, "ecc.errors.uncorrected.volatile.total", "3",
       "had 3 memory errors that were not corrected since the driver was loaded"},
      {570, "ecc.errors.uncorrected.volatile.total", "[N/A]", ""},
      {580, "remapped_rows.pending", "Yes",
       "has a faulty row of memory that is replaced at a reset"},
      {580, "remapped_rows.failure", "Yes", "could not replace a faulty row of memory"},
      {535, "retired_pages.pending", "Yes", "has faulty memory that is retired at a reset"},
      {535, "retired_pages.pending", "[GPU requires reset]", "must be reset"},
      {570, "reset_status.reset_required", "[Unknown Error]", ""},
  };
  for (const auto& fault : kFaults) {
    const Recording recording(fault.driver);
    const auto found = recording.FaultsIn(recording.With(fault.property, fault.value));
    const std::string what = found.empty() ? "" : found[0].what;
    EXPECT_LE(found.size(), 1u) << fault.property;
    EXPECT_EQ(what, fault.expected) << fault.driver << ": " << fault.property;
  }
}

TEST(GpuRowsTest, MessagesAreNotRows) {
  const GpuFields fields("\"index\" \"uuid\"");
  EXPECT_TRUE(fields.Parse("0, GPU-aaaa"));
  for (const char* words : {"", "0", "0, GPU-aaaa, 1", "No devices were found", "-1, GPU-aaaa",
                            "Unable to determine the device handle for GPU0000:3B:00.0, lost"}) {
    EXPECT_FALSE(fields.Parse(words)) << words;
  }
}

TEST(GpuRowsTest, ThrottlingHasItsReasons) {
  EXPECT_THAT(ThrottleReasons(0), IsEmpty());
  EXPECT_THAT(ThrottleReasons(0x1), IsEmpty());  // the GPU is idle
  EXPECT_THAT(ThrottleReasons(0x8), ElementsAre("HW slowdown"));
  EXPECT_THAT(ThrottleReasons(0x48), ElementsAre("HW thermal slowdown"));
  EXPECT_THAT(ThrottleReasons(0x24), ElementsAre("SW thermal slowdown", "SW power cap"));
  EXPECT_THAT(ThrottleReasons(0x112),
              ElementsAre("sync boost", "applications clocks", "display clocks"));
  EXPECT_THAT(ThrottleReasons(0x8000), ElementsAre("reason 32768"));
}

}  // namespace
}  // namespace autodist::agent
