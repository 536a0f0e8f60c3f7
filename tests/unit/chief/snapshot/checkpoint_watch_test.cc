#include "chief/snapshot/time_accounting.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>

#include "base/wall_clock.h"
#include "support/temp_folder.h"
#include "support/turned_loop.h"

namespace autodist::chief {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int64_t kSecond = 1'000'000'000;
constexpr milliseconds kLongEnough{30'000};
constexpr milliseconds kALook{2'000};  // a scan takes no longer here

std::optional<files::DatedFile> NewestFile(const std::string& folder,
                                           const std::vector<std::string>& left_out = {}) {
  return files::NewestFile(folder, left_out, 1000);
}

class CheckpointWatchTest : public testing::Test {
 protected:
  // Writes a file with this time.
  void Write(const std::string& name, int64_t time_ns) {
    const std::string path = Path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "weights";
    const timespec time{time_ns / kSecond, time_ns % kSecond};
    const timespec times[] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  void WriteAgo(const std::string& name, seconds ago) {
    Write(name, base::NanosecondsSince1970() - ago.count() * kSecond);
  }
  std::string Path(const std::string& name) const { return folder_.path() + "/ckpt/" + name; }
  std::string Folder() const { return folder_.path() + "/ckpt"; }
  // Checks the age by the loop's clock; a scan takes a moment of real time.
  void ExpectAgo(const std::optional<CheckpointWatch::Seen>& seen, seconds ago) {
    ASSERT_TRUE(seen && seen->written);
    const auto found = loop_.Now() - *seen->written;
    EXPECT_GE(found, ago);
    EXPECT_LE(found, ago + kALook);
  }
  std::optional<CheckpointWatch::Seen> LookThrough(CheckpointWatch& watch) {
    watch.Update();
    return watch.Take();
  }

  test::TempFolder folder_;
  test::TurnedLoop loop_;
};

TEST_F(CheckpointWatchTest, TheNewestFileInAnyFolderCounts) {
  EXPECT_FALSE(NewestFile(Folder()));
  std::filesystem::create_directory(Folder());
  EXPECT_EQ(NewestFile(Folder())->written_ns, 0);
  Write("step-1/model.pt", 100 * kSecond);
  Write("step-2/shards/0.pt", 300 * kSecond + 5);
  Write("step-3/model.pt", 200 * kSecond);
  EXPECT_EQ(NewestFile(Folder())->written_ns, 300 * kSecond + 5);
}

TEST_F(CheckpointWatchTest, LogsLinksAndDeepFilesDoNotCount) {
  Write("model.pt", 100 * kSecond);
  Write("train.log", 200 * kSecond);
  Write("runs/events.out.tfevents.1.node1", 200 * kSecond);
  Write("1/2/3/4/5/6/7/8/9/model.pt", 200 * kSecond);
  const std::string outside = folder_.path() + "/outside";
  std::filesystem::create_directory(outside);
  std::ofstream(outside + "/new.pt") << "now";
  std::filesystem::create_directory_symlink(outside, Path("out"));
  std::filesystem::create_symlink(outside + "/new.pt", Path("new.pt"));
  std::filesystem::create_directory_symlink(Folder(), Path("round"));
  EXPECT_EQ(NewestFile(Folder())->written_ns, 100 * kSecond);
}

TEST_F(CheckpointWatchTest, OwnFilesDoNotCount) {
  Write("model.pt", 100 * kSecond);
  for (const char* name : {"autodist-runs/job/events.jsonl", ".git/index", "logs/job/job.json",
                           "sub/.git/index", ".autodist-sync"}) {
    Write(name, 200 * kSecond);
  }
  EXPECT_EQ(NewestFile(Folder(), {Path("logs")})->name, "model.pt");
}

TEST_F(CheckpointWatchTest, AFileWithAFutureTimeHidesNoOther) {
  Write("model.pt", 100 * kSecond);
  WriteAgo("copied.pt", -std::chrono::hours(24 * 365));
  EXPECT_EQ(NewestFile(Folder())->written_ns, 100 * kSecond);
}

TEST_F(CheckpointWatchTest, AScanOfPartOfAFolderIsIncomplete) {
  Write("model.pt", 100 * kSecond);
  Write("other.pt", 100 * kSecond);
  EXPECT_TRUE(files::NewestFile(Folder(), {}, 2)->complete);
  EXPECT_FALSE(files::NewestFile(Folder(), {}, 1)->complete);
}

TEST_F(CheckpointWatchTest, AFileIsNotAFolder) {
  Write("model.pt", 100 * kSecond);
  EXPECT_FALSE(NewestFile(Path("model.pt")));
}

TEST_F(CheckpointWatchTest, TimesAreByOurClock) {
  CheckpointWatch watch(Folder(), loop_);
  EXPECT_FALSE(LookThrough(watch).has_value());
  EXPECT_FALSE(watch.seen());
  std::filesystem::create_directory(Folder());
  const auto none = LookThrough(watch);
  ASSERT_TRUE(none.has_value());
  EXPECT_FALSE(none->written.has_value());
  EXPECT_TRUE(watch.seen());
  EXPECT_FALSE(watch.Take().has_value());  // that was all
  loop_.Sleep(seconds(60));
  WriteAgo("a.pt", seconds(20));
  ExpectAgo(LookThrough(watch), seconds(20));
  loop_.Sleep(seconds(10));
  ExpectAgo(LookThrough(watch), seconds(30));  // still the same
}

TEST_F(CheckpointWatchTest, ImpossibleTimesOfAFileServersClockAreIgnored) {
  Write("old.pt", 100 * kSecond);
  CheckpointWatch watch(Folder(), loop_);
  LookThrough(watch);
  loop_.Sleep(seconds(5));
  WriteAgo("behind.pt", seconds(3'600));  // it did not exist five seconds ago
  ExpectAgo(LookThrough(watch), seconds(5));
  loop_.Sleep(seconds(5));
  WriteAgo("ahead.pt", seconds(-3'600));
  ExpectAgo(LookThrough(watch), seconds(0));
}

// Simulates a slow file server.
class SlowLoop final : public test::TurnedLoop {
 public:
  explicit SlowLoop(milliseconds takes) : takes_(takes) {}
  int looks() const { return looks_; }
  Status RunDetached(Task task) override {
    ++looks_;
    std::this_thread::sleep_for(takes_);
    return TurnedLoop::RunDetached(std::move(task));
  }

 private:
  const milliseconds takes_;
  int looks_ = 0;
};

// Scans as often as allowed.
int LooksWithin(seconds time, milliseconds takes, const std::string& folder) {
  SlowLoop loop(takes);
  CheckpointWatch watch(folder, loop);
  for (const Loop::Time end = loop.Now() + time; loop.Now() < end; loop.Sleep(seconds(1))) {
    watch.Take();
    if (loop.Now() >= watch.due()) watch.Update();
  }
  return loop.looks();
}

TEST_F(CheckpointWatchTest, ASlowServerIsScannedLessOften) {
  WriteAgo("a.pt", seconds(20));
  constexpr seconds kTime{60};
  EXPECT_GE(LooksWithin(kTime, milliseconds(0), Folder()), 9);
  // 20 times the duration of a scan.
  EXPECT_LE(LooksWithin(kTime, milliseconds(1'000), Folder()), 4);
}

TEST_F(CheckpointWatchTest, WithoutAThreadItScansLater) {
  class FullLoop final : public test::TurnedLoop {
   public:
    Status RunDetached(Task) override { return Error(StatusCode::kResourceExhausted, "no thread"); }
  };
  FullLoop loop;
  CheckpointWatch watch(Folder(), loop);
  watch.Update();
  EXPECT_FALSE(watch.Await(kLongEnough).has_value());
  EXPECT_EQ(watch.due(), loop.Now() + CheckpointWatch::kInterval);
}

// Has threads, like a real loop.
TEST_F(CheckpointWatchTest, AHangingScanIsNotAwaitedAndItsResultIsTakenLater) {
  struct Gate {
    std::mutex mutex;
    std::condition_variable changed;
    bool open = false;
    int looks = 0;
  };
  class HangingLoop final : public Loop {
   public:
    explicit HangingLoop(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
    Status RunDetached(Task task) override {
      return Loop::RunDetached([gate = gate_, task = std::move(task)] {
        std::unique_lock lock(gate->mutex);
        gate->changed.wait(lock, [&] { return gate->open; });
        ++gate->looks;
        task();
      });
    }

   private:
    std::shared_ptr<Gate> gate_;
  };
  WriteAgo("a.pt", seconds(20));
  const auto gate = std::make_shared<Gate>();
  HangingLoop loop(gate);
  CheckpointWatch watch(Folder(), loop);
  watch.Update();
  EXPECT_FALSE(watch.Await(milliseconds(10)).has_value());
  watch.Update();  // again, after the scan
  watch.Update();
  {
    const std::lock_guard lock(gate->mutex);
    gate->open = true;
  }
  gate->changed.notify_all();
  EXPECT_TRUE(watch.Await(kLongEnough).has_value());
  EXPECT_TRUE(watch.Await(kLongEnough).has_value());
  EXPECT_FALSE(watch.Await(kLongEnough).has_value());
  const std::lock_guard lock(gate->mutex);
  EXPECT_EQ(gate->looks, 2);
}

}  // namespace
}  // namespace autodist::chief
