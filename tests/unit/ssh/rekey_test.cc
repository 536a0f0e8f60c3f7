// Transfers during which the server asks for new keys constantly. tests/rekey runs the long ones.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <future>
#include <random>
#include <string>
#include <thread>

#include "support/ssh_sessions.h"

namespace autodist::ssh {
namespace {

using base::Deadline;

constexpr size_t kMiB = 1 << 20;

enum class Direction { kUpload, kDownload, kBoth };

struct Transfer {
  const char* limit;
  size_t bytes;
  Direction direction;
};

std::string RandomBytes(size_t size) {
  std::string bytes(size, '\0');
  std::minstd_rand random(size);
  for (char& byte : bytes) byte = static_cast<char>(random() >> 8);
  return bytes;
}

class RekeyTest : public test::SshSessions, public testing::WithParamInterface<Transfer> {
 protected:
  RekeyTest() : SshSessions(std::string("RekeyLimit ") + GetParam().limit) {}

  // Sends all at once, while another thread reads.
  std::future<Status> Upload(const std::string& bytes) {
    return std::async(std::launch::async, [this, &bytes] {
      return base::WriteAll(ours_.get(), bytes, Deadline::After(10 * test::kSessionLimit));
    });
  }
};

TEST_P(RekeyTest, EveryByteIsRight) {
  const std::string bytes = RandomBytes(GetParam().bytes);
  const SshTarget target = TargetFor({AcceptedKey()});
  std::string got;
  if (GetParam().direction == Direction::kDownload) {
    folder_.Write("bytes", bytes);
    ASSERT_EQ(Start(target, "exec cat " + folder_.path() + "/bytes"), OkStatus());
    got = ReadAll();
  } else {
    const bool back = GetParam().direction == Direction::kBoth;
    ASSERT_EQ(Start(target, back ? "exec cat" : "exec cat > " + folder_.path() + "/bytes"),
              OkStatus());
    auto sent = Upload(bytes);
    if (back) got = ReadAll(bytes.size());
    EXPECT_EQ(sent.get(), OkStatus());
    shutdown(ours_.get(), SHUT_WR);
    got += ReadAll();
    if (!back) got = folder_.Read("bytes");
  }
  EXPECT_TRUE(session_->WaitEnded(Deadline::After(test::kSessionLimit)));
  EXPECT_EQ(session_->Failure(), OkStatus());
  EXPECT_TRUE(got == bytes) << got.size() << " bytes of " << bytes.size();
}

class EndInRekeyTest : public test::SshSessions {
 protected:
  EndInRekeyTest() : SshSessions("RekeyLimit 16K") {}
};

// The purpose is to find leaks.
TEST_F(EndInRekeyTest, ASessionMayEndAnywhere) {
  const SshTarget target = TargetFor({AcceptedKey()});
  const std::string bytes = RandomBytes(kMiB);
  for (size_t part = 1; part <= 8; ++part) {
    ASSERT_EQ(Start(target), OkStatus());
    const std::jthread writer(
        [&] { (void)base::WriteAll(ours_.get(), bytes, Deadline::After(test::kSessionLimit)); });
    std::string got(part * 10'000, '\0');
    ASSERT_EQ(recv(ours_.get(), got.data(), got.size(), MSG_WAITALL),
              static_cast<ssize_t>(got.size()));
    loop_ = *SshLoop::Create();
  }
}

std::vector<Transfer> Each(const char* limit, size_t bytes) {
  return {{limit, bytes, Direction::kUpload},
          {limit, bytes, Direction::kDownload},
          {limit, bytes, Direction::kBoth}};
}

std::string Name(const testing::TestParamInfo<Transfer>& info) {
  const Direction direction = info.param.direction;
  return std::string(info.param.limit) + (direction == Direction::kUpload     ? "Upload"
                                          : direction == Direction::kDownload ? "Download"
                                                                              : "Both");
}

INSTANTIATE_TEST_SUITE_P(Short, RekeyTest, testing::ValuesIn(Each("256K", 10 * kMiB)), Name);
INSTANTIATE_TEST_SUITE_P(DISABLED_16K, RekeyTest, testing::ValuesIn(Each("16K", 4 * kMiB)), Name);
INSTANTIATE_TEST_SUITE_P(DISABLED_64K, RekeyTest, testing::ValuesIn(Each("64K", 60 * kMiB)), Name);
INSTANTIATE_TEST_SUITE_P(DISABLED_1M, RekeyTest, testing::ValuesIn(Each("1M", 60 * kMiB)), Name);

}  // namespace
}  // namespace autodist::ssh
