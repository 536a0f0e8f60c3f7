#include "agent/output/stream_backlog.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "support/spool_files.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using test::FileOfOursIn;
using test::FileSizeLimit;
using testing::HasSubstr;

size_t EntriesOf(const std::string& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                           std::filesystem::directory_iterator()));
}

class SpoolTest : public testing::Test {
 protected:
  // Bytes that differ from other bytes nearby.
  std::string Bytes(size_t count) {
    std::string bytes;
    while (bytes.size() < count) {
      const auto word = static_cast<uint32_t>(random_());
      bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
    bytes.resize(count);
    return bytes;
  }

  static std::string ReadAll(const Spool& spool, uint64_t offset, size_t most = 100'000) {
    std::string all;
    while (offset + all.size() < spool.end()) {
      const auto data = spool.Read(offset + all.size(), most);
      if (!data.ok() || data->empty() || data->size() > most) {
        ADD_FAILURE() << data.status() << " at " << offset + all.size();
        break;
      }
      all += *data;
    }
    return all;
  }

  const test::TempFolder folder_;
  std::mt19937 random_{20};
};

constexpr uint64_t kSpoolLimit =
    1'000'000;  // no power of two, so that ends of pages and of the ring differ

TEST_F(SpoolTest, FewBytesNeedNoFile) {
  Spool spool(kSpoolLimit, "/no/such/folder");
  EXPECT_EQ(spool.room(), kSpoolLimit);
  EXPECT_EQ(*spool.Read(0, 10), "");
  const std::string data = Bytes(Spool::kInMemory);
  ASSERT_TRUE(spool.Append(data).ok());
  EXPECT_EQ(ReadAll(spool, 0), data);
  EXPECT_EQ(*spool.Read(5, 3), data.substr(5, 3));
  EXPECT_EQ(*spool.Read(spool.end(), 3), "");

  spool.Release(1000);
  EXPECT_EQ(spool.begin(), 1000u);
  EXPECT_EQ(ReadAll(spool, 1000), data.substr(1000));
  EXPECT_EQ(spool.room(), kSpoolLimit - (Spool::kInMemory - 1000));
  ASSERT_TRUE(spool.Append(data.substr(0, 1000)).ok());
  EXPECT_EQ(spool.end(), Spool::kInMemory + 1000);
}

TEST_F(SpoolTest, OffsetsOutsideAreNotReleased) {
  Spool spool(kSpoolLimit, folder_.path());
  ASSERT_TRUE(spool.Append("0123456789").ok());
  spool.Release(4);
  spool.Release(3);
  spool.Release(11);
  spool.Release(UINT64_MAX);
  EXPECT_EQ(spool.begin(), 4u);
  EXPECT_EQ(ReadAll(spool, 4), "456789");
}

TEST_F(SpoolTest, ManyBytesGoToAnUnlinkedFile) {
  const size_t descriptors = EntriesOf("/proc/self/fd");
  {
    Spool spool(kSpoolLimit, folder_.path());
    const std::string data = Bytes(kSpoolLimit);
    for (size_t at = 0; at < data.size(); at += 50'000) {
      ASSERT_TRUE(spool.Append(data.substr(at, 50'000)).ok());
    }
    EXPECT_EQ(spool.room(), 0u);
    EXPECT_EQ(ReadAll(spool, 0), data);
    EXPECT_EQ(EntriesOf(folder_.path()), 0u);
    EXPECT_EQ(EntriesOf("/proc/self/fd"), descriptors + 1);

    // An empty spool uses only memory again, and no disk space.
    const int file = FileOfOursIn(folder_.path());
    struct stat info;
    ASSERT_EQ(fstat(file, &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_NE(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_GT(info.st_size, 0);
    spool.Release(spool.end());
    EXPECT_EQ(spool.room(), kSpoolLimit);
    ASSERT_TRUE(spool.Append("again").ok());
    EXPECT_EQ(ReadAll(spool, spool.begin()), "again");
    ASSERT_EQ(fstat(file, &info), 0);
    EXPECT_EQ(info.st_size, 0);
  }
  EXPECT_EQ(EntriesOf("/proc/self/fd"), descriptors);
}

TEST_F(SpoolTest, TheFileNeverGrowsBeyondTheLimit) {
  const FileSizeLimit limit(kSpoolLimit);
  Spool spool(kSpoolLimit, folder_.path());
  ASSERT_TRUE(spool.Append(Bytes(kSpoolLimit)).ok());
  std::string last;
  for (int i = 0; i < 20; ++i) {
    spool.Release(spool.begin() + 300'001);
    last = Bytes(300'001);
    ASSERT_EQ(spool.room(), last.size());
    ASSERT_TRUE(spool.Append(last).ok());
  }
  EXPECT_EQ(ReadAll(spool, spool.end() - last.size()), last);
}

TEST_F(SpoolTest, ALimitBelowTheMemoryBufferHolds) {
  Spool spool(10, "/no/such/folder");
  ASSERT_TRUE(spool.Append("0123456789").ok());
  EXPECT_EQ(spool.room(), 0u);
  spool.Release(3);
  EXPECT_EQ(spool.room(), 3u);
  ASSERT_TRUE(spool.Append("abc").ok());
  EXPECT_EQ(ReadAll(spool, 3), "3456789abc");

  const Spool nothing(0, folder_.path());
  EXPECT_EQ(nothing.room(), 0u);
}

TEST_F(SpoolTest, WithoutAFileMemoryIsStillUsed) {
  Spool spool(kSpoolLimit, "/no/such/folder");
  const std::string data = Bytes(Spool::kInMemory);
  ASSERT_TRUE(spool.Append(data.substr(1000)).ok());
  const Status failed = spool.Append(data);
  EXPECT_THAT(Message(failed), HasSubstr("in /no/such/folder: making it: No such file"));
  EXPECT_EQ(spool.end(), Spool::kInMemory - 1000);
  EXPECT_EQ(spool.room(), 1000u);
  spool.Release(500);
  EXPECT_EQ(spool.room(), 1500u);
  ASSERT_TRUE(spool.Append(data.substr(0, 1500)).ok());
  EXPECT_EQ(spool.room(), 0u);
  EXPECT_EQ(ReadAll(spool, 500), data.substr(1500) + data.substr(0, 1500));
  spool.Release(spool.end());
  EXPECT_EQ(spool.room(), kSpoolLimit);
}

TEST_F(SpoolTest, AFullDiskLosesNothingThatWasAccepted) {
  Spool spool(kSpoolLimit, folder_.path());
  const std::string data = Bytes(700'000);
  {
    // Like a full disk, the limit accepts a part of the second write.
    const FileSizeLimit limit(500'000);
    ASSERT_TRUE(spool.Append(data.substr(0, 400'000)).ok());
    const Status failed = spool.Append(data.substr(400'000, 200'000));
    EXPECT_THAT(Message(failed), HasSubstr("a file in " + folder_.path() + ": writing: "));
    EXPECT_EQ(spool.end(), 400'000u);
    EXPECT_EQ(spool.room(), 0u);
    EXPECT_EQ(ReadAll(spool, 0), data.substr(0, 400'000));
    spool.Release(399'999);
    EXPECT_EQ(spool.room(), 0u);
    EXPECT_EQ(ReadAll(spool, 399'999), data.substr(399'999, 1));
    spool.Release(400'000);
    EXPECT_EQ(spool.room(), kSpoolLimit);
  }
  ASSERT_TRUE(spool.Append(data.substr(400'000)).ok());
  EXPECT_EQ(ReadAll(spool, 400'000), data.substr(400'000));
}

TEST_F(SpoolTest, BehavesLikeAString) {
  constexpr uint64_t kSmall = Spool::kInMemory + 77'777;
  Spool spool(kSmall, folder_.path());
  std::string written;
  const auto below = [this](uint64_t bound) { return random_() % bound; };
  int in_file = 0;
  for (int step = 0; step < 5000; ++step) {
    switch (below(3)) {
      case 0: {
        const std::string data = Bytes(std::min<uint64_t>(spool.room(), below(60'000)));
        ASSERT_TRUE(spool.Append(data).ok());
        written += data;
        break;
      }
      case 1: {
        const uint64_t offset = spool.begin() + below(spool.end() - spool.begin() + 1);
        const auto data = spool.Read(offset, below(100'000));
        ASSERT_TRUE(data.ok()) << data.status();
        ASSERT_EQ(written.compare(offset, data->size(), *data), 0) << "step " << step;
        break;
      }
      default:
        // Rarely all of it, so that the file is used for long.
        spool.Release(below(40) == 0 ? spool.end() : spool.begin() + below(50'000));
    }
    ASSERT_EQ(spool.end(), written.size());
    ASSERT_EQ(spool.room(), kSmall - (spool.end() - spool.begin()));
    in_file += spool.end() - spool.begin() > Spool::kInMemory ? 1 : 0;
    if (step % 50 == 0) {
      ASSERT_EQ(ReadAll(spool, spool.begin()), written.substr(spool.begin())) << "step " << step;
    }
  }
  EXPECT_GT(in_file, 500);
  EXPECT_GT(written.size(), 20 * kSmall);
}

}  // namespace
}  // namespace autodist::agent
