#include "agent/sample/host.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>

#include "support/forbid_threads.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using std::chrono::seconds;

// /proc/stat of a node with two cores, Linux 6.1; the lines of interrupts are shortened.
constexpr char kStat[] =
    "cpu  1000 50 300 8000 400 20 30 200 900 10\n"
    "cpu0 500 25 150 4000 200 10 15 100 450 5\n"
    "cpu1 500 25 150 4000 200 10 15 100 450 5\n"
    "intr 1268543 0 9 0\n"
    "ctxt 3077301\n";
constexpr char kLaterStat[] =
    "cpu  1150 50 350 8100 480 20 30 220 900 10\n"
    "cpu0 500 25 150 4000 200 10 15 100 450 5\n"
    "cpu1 500 25 150 4000 200 10 15 100 450 5\n";
constexpr char kMeminfo[] =
    "MemTotal:       24684092 kB\n"
    "MemFree:        15224616 kB\n"
    "MemAvailable:   21724272 kB\n"
    "Buffers:          105308 kB\n";
constexpr char kPressure[] =
    "some avg10=12.50 avg60=66.20 avg300=53.89 total=1249107826\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
constexpr char kDiskstats[] =
    "   7       0 loop0 14 0 34 2 0 0 0 0 0 8 2 0 0 0 0 0 0\n"
    " 259       0 nvme0n1 1000 5 4096 700 2000 9 8192 900 0 800 1600 0 0 0 0 5 3\n"
    " 259       1 nvme0n1p1 900 5 4000 700 1900 9 8000 900 0 800 1600 0 0 0 0 0 0\n"
    " 253       0 dm-0 900 0 4000 700 1900 0 8000 900 0 800 1600 0 0 0 0 0 0\n"
    "   8       0 sda 10 0 100 1 20 0 200 1 0 1 2\n";  // Linux 4.15 has no more fields

TEST(HostTest, CpuTimesAreSumsOfAllCores) {
  const auto times = ParseCpuTimes(kStat);
  ASSERT_TRUE(times);
  EXPECT_EQ(times->busy, 1000u + 50 + 300 + 20 + 30);
  EXPECT_EQ(times->total, 1000u + 50 + 300 + 8000 + 400 + 20 + 30 + 200);  // user includes guests
  EXPECT_EQ(times->cores, 2u);
  for (const char* none : {"", "cpu0 1 2 3\n", "nothing"}) EXPECT_FALSE(ParseCpuTimes(none));
}

TEST(HostTest, UsedMemoryIsTotalMinusAvailable) {
  const auto memory = ParseMemory(kMeminfo);
  ASSERT_TRUE(memory);
  EXPECT_EQ(memory->total, uint64_t{24684092} * 1024);
  EXPECT_EQ(memory->used, uint64_t{24684092 - 21724272} * 1024);
  EXPECT_FALSE(ParseMemory("MemTotal: 1 kB\nMemFree: 1 kB\n"));  // Linux 3.13
  EXPECT_EQ(ParseMemory("MemTotal: 1 kB\nMemAvailable: 2 kB\n")->used, 0u);
  EXPECT_FALSE(ParseMemory("MemTotal: lots\nMemAvailable: 2 kB\n"));
}

TEST(HostTest, PressureIsAShare) {
  EXPECT_DOUBLE_EQ(*ParsePressure(kPressure), 0.125);
  EXPECT_DOUBLE_EQ(*ParsePressure("some avg10=100.01 avg60=1\n"), 1);
  for (const char* none : {"", "some\n", "full avg10=1.00\n", "some avg10=x\n"}) {
    EXPECT_FALSE(ParsePressure(none)) << none;
  }
}

TEST(HostTest, OnlyPhysicalDisksCount) {
  const DiskBytes bytes = ParseDisks(
      kDiskstats, [](std::string_view name) { return name == "nvme0n1" || name == "sda"; });
  EXPECT_EQ(bytes.disks, 2);
  EXPECT_EQ(bytes.read, (4096u + 100) * 512);
  EXPECT_EQ(bytes.written, (8192u + 200) * 512);
  EXPECT_EQ(ParseDisks("", [](std::string_view) { return true; }).disks, 0);
}

class HostReaderTest : public testing::Test {
 protected:
  HostReaderTest() {
    for (const char* name : {"/pressure", "/block", "/block/nvme0n1", "/block/nvme0n1/device",
                             "/block/dm-0", "/block/loop0"}) {
      mkdir((folder_.path() + name).c_str(), 0755);
    }
    folder_.Write("stat", kStat);
    folder_.Write("diskstats", kDiskstats);
  }

  const test::TempFolder folder_;
  const SampleTime start_ = SampleTime::clock::now();
};

TEST_F(HostReaderTest, RatesAreSinceThePreviousSample) {
  folder_.Write("meminfo", kMeminfo);
  for (const char* kind : {"cpu", "memory", "io"}) {
    folder_.Write("pressure/" + std::string(kind), kPressure);
  }
  HostReader reader(folder_.path(), folder_.path());
  v1::HostSample host = reader.Read(start_);
  EXPECT_FALSE(host.has_cpu() || host.has_disk_read() || host.has_disk_write());
  EXPECT_EQ(host.cores(), 2u);
  EXPECT_EQ(host.memory_total(), uint64_t{24684092} * 1024);
  EXPECT_DOUBLE_EQ(host.cpu_pressure() + host.memory_pressure() + host.io_pressure(), 0.375);
  folder_.Write("stat", kLaterStat);
  folder_.Write("diskstats",
                " 259 0 nvme0n1 1 5 8192 700 2000 9 8193 900 0 800 1600\n"
                " 253 0 dm-0 1 5 90000 700 2000 9 90000 900 0 800 1600\n");
  host = reader.Read(start_ + seconds(2));
  EXPECT_DOUBLE_EQ(host.cpu(), 0.5);  // 200 of 400 ticks
  EXPECT_DOUBLE_EQ(host.disk_read(), 4096 * 512 / 2);
  EXPECT_DOUBLE_EQ(host.disk_write(), 512 / 2);
}

TEST_F(HostReaderTest, MissingValuesAreAbsent) {
  HostReader reader(folder_.path(), "/no/such/folder");
  reader.Read(start_);
  folder_.Write("stat", "");
  const v1::HostSample host = reader.Read(start_ + seconds(2));
  EXPECT_EQ(host.ByteSizeLong(), 0u) << host.ShortDebugString();
}

TEST(DiskSpaceDeathTest, IsUnknownIfNoThreadCanBeStarted) {
  EXPECT_EXIT(
      {
        test::ForbidThreads();
        DiskSpace space("/");
        _exit(!space.Last() && !space.Last() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(DiskSpaceTest, IsThatOfTheFolder) {
  DiskSpace space("/proc/self");  // has no disk space
  DiskSpace here("/");
  std::optional<DiskSpace::Space> found;
  for (const auto limit = SampleTime::clock::now() + test::kLimit;
       !found && SampleTime::clock::now() < limit;) {
    found = here.Last();
  }
  ASSERT_TRUE(found);
  EXPECT_GT(found->total, 1u << 20);
  EXPECT_LE(found->free, found->total);
  EXPECT_FALSE(space.Last());
}

}  // namespace
}  // namespace autodist::agent
