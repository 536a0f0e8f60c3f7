#include "agent/sample/processes.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "base/fd.h"
#include "process/spawn.h"
#include "support/limit.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using std::chrono::seconds;

// Linux 6.18's /proc/PID/stat of a process with the name "a) S 1 (b".
constexpr char kProcessStat[] =
    "2247 (a) S 1 (b) D 17 2243 5438 0 -1 4194304 100 0 0 0 11 22 33 44 20 0 5 0 518568 3133440 "
    "382 18446744073709551615 94555502395392 94555502415273 140724442654880 0 0 0 0 0 0 0 0 0 17 1 "
    "0 0 0 0 0 94555502431280 94555502432896 94555799097344 140724442663549 0 0 0 0\n";
constexpr char kProcessIo[] =
    "rchar: 6976\nwchar: 9\nsyscr: 10\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 8192\n"
    "cancelled_write_bytes: 0\n";

TEST(ProcessesTest, AStatIsParsedAfterAnyName) {
  const auto stat = ParseProcessStat(kProcessStat);
  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->state, 'D');
  EXPECT_EQ(stat->parent, 17);
  EXPECT_EQ(stat->cpu, 110u);
  EXPECT_EQ(stat->threads, 5u);
  EXPECT_EQ(stat->started, 518568u);
  EXPECT_EQ(stat->resident, 382u);
  for (const char* none : {"", "1 (a)", "1 (a) S", "1 (a) S 1 2 3", "no name"}) {
    EXPECT_FALSE(ParseProcessStat(none)) << none;
  }
}

TEST(ProcessesTest, IoIsThatOfStorage) {
  const auto io = ParseProcessIo(kProcessIo);
  ASSERT_TRUE(io);
  EXPECT_EQ(io->read, 4096u);
  EXPECT_EQ(io->written, 8192u);
  EXPECT_FALSE(ParseProcessIo(""));
}

class ProcessReaderTest : public testing::Test {
 protected:
  struct Process {
    pid_t parent = 1;
    uint64_t cpu = 0;  // ticks
    uint64_t started = 100;
    char state = 'S';
    uint64_t read = 0;  // bytes
  };
  void Write(pid_t pid, const Process& process) {
    const std::string folder = std::to_string(pid);
    std::filesystem::create_directory(folder_.path() + "/" + folder);
    folder_.Write(folder + "/stat", folder + " (python) " + process.state + " " +
                                        std::to_string(process.parent) + " 1 1 0 -1 0 0 0 0 0 " +
                                        std::to_string(process.cpu) + " 0 0 0 20 0 3 0 " +
                                        std::to_string(process.started) + " 1000 10 0\n");
    folder_.Write(folder + "/io",
                  "read_bytes: " + std::to_string(process.read) + "\nwrite_bytes: 0\n");
  }
  void Remove(pid_t pid) {
    std::filesystem::remove_all(folder_.path() + "/" + std::to_string(pid));
  }
  v1::NodeSample Read(const std::map<uint32_t, pid_t>& ranks) {
    v1::NodeSample sample;
    reader_.Read(ranks, now_, sample);
    now_ += seconds(2);
    return sample;
  }

  const test::TempFolder folder_;
  ProcessReader reader_{folder_.path(), process::TreeSource::kAllProcesses};
  SampleTime now_ = SampleTime::clock::now();
  static uint64_t TicksPerSecond() { return static_cast<uint64_t>(sysconf(_SC_CLK_TCK)); }
};

TEST_F(ProcessReaderTest, RunDelayIsAShareOfTheTime) {
  Write(70, {.state = 'R'});
  folder_.Write("70/schedstat", "5000000000 1000000000 7\n");
  EXPECT_FALSE(Read({{3, 70}}).ranks(0).has_cpu_awaited());
  folder_.Write("70/schedstat", "5100000000 2000000000 9\n");
  EXPECT_DOUBLE_EQ(Read({{3, 70}}).ranks(0).cpu_awaited(), 0.5);
}

TEST_F(ProcessReaderTest, ARankIncludesItsDescendants) {
  Write(1, {.parent = 0});
  Write(70, {.state = 'R', .read = 1000});
  Write(60, {.parent = 80});  // pids are not in order of creation
  Write(80, {.parent = 70});
  Write(90, {.parent = 1, .cpu = 5000});  // another process
  Write(75, {});
  v1::NodeSample sample = Read({{3, 70}, {4, 75}});
  ASSERT_EQ(sample.ranks_size(), 2);
  const v1::RankSample& rank = sample.ranks(0);
  EXPECT_EQ(rank.rank(), 3u);
  EXPECT_EQ(rank.state(), "R");
  EXPECT_EQ(rank.processes(), 3u);
  EXPECT_EQ(rank.threads(), 9u);
  EXPECT_EQ(rank.memory(), 30u * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(rank.has_cpu() || rank.has_read() || rank.has_written());
  EXPECT_EQ(sample.ranks(1).rank(), 4u);
  EXPECT_EQ(sample.ranks(1).processes(), 1u);
  Write(60, {.parent = 80, .cpu = 3 * TicksPerSecond()});
  Write(70, {.cpu = TicksPerSecond(), .state = 'D', .read = 5000});
  sample = Read({{3, 70}, {4, 75}});
  EXPECT_DOUBLE_EQ(sample.ranks(0).cpu(), 2);  // cores
  EXPECT_DOUBLE_EQ(sample.ranks(0).read(), 2000);
  EXPECT_DOUBLE_EQ(sample.ranks(0).written(), 0);
  EXPECT_EQ(sample.ranks(0).state(), "D");
  EXPECT_DOUBLE_EQ(sample.ranks(1).cpu(), 0);
}

TEST_F(ProcessReaderTest, LaterAndOrphanedDescendantsBelongToTheRank) {
  Write(70, {});
  Write(80, {.parent = 70});
  EXPECT_EQ(Read({{0, 70}}).ranks(0).processes(), 2u);
  Remove(80);
  Write(90, {.parent = 70});
  Write(91, {.parent = 90});
  EXPECT_EQ(Read({{0, 70}}).ranks(0).processes(), 3u);
  Remove(90);
  Write(91, {.parent = 1});
  Write(92, {.parent = 91});
  EXPECT_EQ(Read({{0, 70}}).ranks(0).processes(), 3u);
}

TEST_F(ProcessReaderTest, ARankThatIsRegisteredLateIsFoundWithItsChildren) {
  Write(70, {});
  Write(75, {});
  Write(76, {.parent = 75});
  EXPECT_EQ(Read({{0, 70}}).ranks_size(), 1);
  const v1::NodeSample sample = Read({{0, 70}, {1, 75}});
  ASSERT_EQ(sample.ranks_size(), 2);
  EXPECT_EQ(sample.ranks(1).processes(), 2u);
}

TEST(ProcessesTest, EarlierDescendantsOfANewRankAreFound) {
  base::FdPair output = *base::Pipe();
  process::SpawnRequest request = process::OurProgram(
      {"/bin/sh", "-c", "sleep 1000 & (sleep 1000 & echo started; wait) & wait"});
  request.stdout_fd = output.second.get();
  const auto rank = process::Spawn(request);
  ASSERT_TRUE(rank.ok()) << rank.status();
  const auto limit = base::Deadline::After(test::kLimit);
  char byte = 0;
  ASSERT_TRUE(base::ReadSome(output.first.get(), &byte, 1, limit).ok());
  ProcessReader reader("/proc");
  for (int i = 0; i < 2; ++i) {
    v1::NodeSample sample;
    reader.Read({{3, *rank}}, SampleTime::clock::now(), sample);
    ASSERT_EQ(sample.ranks_size(), 1);
    EXPECT_EQ(sample.ranks(0).processes(), 4u);
  }
  process::KillDescendants(getpid());
  waitpid(*rank, nullptr, 0);
}

TEST_F(ProcessReaderTest, AReusedPidIsAnotherProcess) {
  Write(70, {});
  Write(80, {.parent = 70});
  Write(81, {.parent = 1});
  EXPECT_EQ(Read({{0, 70}}).ranks(0).processes(), 2u);
  Write(80, {.parent = 1, .started = 200});  // of no rank
  EXPECT_EQ(Read({{0, 70}}).ranks(0).processes(), 1u);
  Write(81, {.parent = 70, .started = 300});  // processes of no rank are checked now and then
  for (int sample = 0; sample < 32; ++sample) Read({{0, 70}});
  EXPECT_EQ(Read({{0, 70}}).ranks(0).processes(), 2u);
}

TEST_F(ProcessReaderTest, AnEndedRankIsNotReported) {
  Write(70, {});
  Read({{0, 70}, {1, 71}});
  Remove(70);
  EXPECT_EQ(Read({{0, 70}, {1, 71}}).ranks_size(), 0);
  ProcessReader nowhere("/no/such/folder");
  v1::NodeSample sample;
  nowhere.Read({{0, 1}}, now_, sample);
  EXPECT_EQ(sample.ranks_size(), 0);
}

}  // namespace
}  // namespace autodist::agent
