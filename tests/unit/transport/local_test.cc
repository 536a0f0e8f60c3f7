#include "transport/local.h"

#include <gtest/gtest.h>

namespace autodist::transport {
namespace {

using std::chrono::seconds;

TEST(LocalTransportTest, ConnectsAStreamToTheProgram) {
  auto stream = LocalTransport().Run({"/bin/cat"}, {});
  ASSERT_TRUE(stream.ok());
  base::UniqueFd socket = (*stream)->TakeSocket();
  const auto deadline = base::Deadline::After(seconds(10));
  ASSERT_TRUE(base::WriteAll(socket.get(), "hello", deadline).ok());
  char buffer[16];
  const auto got = base::ReadSome(socket.get(), buffer, sizeof buffer, deadline);
  ASSERT_TRUE(got.ok());
  EXPECT_EQ(std::string(buffer, *got), "hello");
  EXPECT_FALSE((*stream)->WaitClosed(base::Deadline::After(std::chrono::milliseconds(1))));
  socket.Reset();
  EXPECT_TRUE((*stream)->WaitClosed(deadline));
}

TEST(LocalTransportTest, KeepsStderr) {
  auto stream = LocalTransport().Run({"/bin/sh", "-c", "echo oops >&2"}, {});
  ASSERT_TRUE(stream.ok());
  ASSERT_TRUE((*stream)->WaitClosed(base::Deadline::After(seconds(10))));
  EXPECT_EQ((*stream)->StderrTail(), "oops\n");
}

TEST(LocalTransportTest, AMissingProgramIsAFailure) {
  EXPECT_EQ(LocalTransport().Run({"/no/such/program"}, {}).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace autodist::transport
