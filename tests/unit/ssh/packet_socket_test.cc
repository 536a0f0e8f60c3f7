#include "ssh/libssh2_session.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>

#include "base/fd.h"

namespace autodist::ssh {
namespace {

class PacketSocketTest : public testing::Test {
 protected:
  std::string Arrived() const {
    std::string all;
    char buffer[65536];
    for (ssize_t got; (got = recv(far_.get(), buffer, sizeof buffer, MSG_DONTWAIT)) > 0;) {
      all.append(buffer, static_cast<size_t>(got));
    }
    return all;
  }

  base::FdPair ends_ = *base::StreamSocketPair();
  base::UniqueFd& near_ = ends_.first;
  base::UniqueFd& far_ = ends_.second;
};

TEST_F(PacketSocketTest, AcceptsCompletePacketsInOrder) {
  PacketSocket socket(near_.get(), "");
  std::string sent;
  for (char c = 'a'; !socket.has_unsent(); c = c == 'z' ? 'a' : static_cast<char>(c + 1)) {
    const std::string packet(30'000, c);
    ASSERT_EQ(socket.Send(packet), 30'000);
    sent += packet;
  }
  EXPECT_EQ(socket.Send("end"), 3);
  EXPECT_LT(socket.moved(), sent.size());
  std::string arrived;
  while (socket.has_unsent()) {
    arrived += Arrived();
    socket.Flush();
  }
  EXPECT_TRUE(arrived + Arrived() == sent + "end");
  EXPECT_EQ(socket.moved(), sent.size() + 3);
}

TEST_F(PacketSocketTest, AnswersToAServerThatDoesNotReadAreLimited) {
  PacketSocket socket(near_.get(), "");
  const std::string packet(30'000, 'x');
  ssize_t put = 0;
  for (int i = 0; i < 1000 && put >= 0; ++i) put = socket.Send(packet);
  EXPECT_EQ(put, -ENOBUFS);
}

TEST_F(PacketSocketTest, BufferedDataIsReturnedFirst) {
  PacketSocket socket(near_.get(), "SSH-");
  ASSERT_EQ(send(far_.get(), "2.0", 3, 0), 3);
  char to[16];
  EXPECT_EQ(socket.Receive(to, 3), 3);
  EXPECT_EQ(socket.Receive(to, sizeof to), 1);
  EXPECT_EQ(socket.Receive(to, sizeof to), 3);
  EXPECT_EQ(socket.Receive(to, sizeof to), -EAGAIN);
  EXPECT_EQ(socket.lost(), 0);
}

TEST_F(PacketSocketTest, ALostConnectionIsReported) {
  PacketSocket socket(near_.get(), "");
  far_.Reset();
  EXPECT_EQ(socket.Send("x"), -EPIPE);
  EXPECT_EQ(socket.lost(), EPIPE);
  EXPECT_EQ(socket.Send("x"), -EPIPE);
  EXPECT_FALSE(socket.has_unsent());
}

}  // namespace
}  // namespace autodist::ssh
