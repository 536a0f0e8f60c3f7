// Files from one node to another, and what strangers get at the port.
#include "agent/sync/file_port.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <filesystem>
#include <future>

#include "base/socket_address.h"
#include "support/limit.h"
#include "support/recording_proxy.h"
#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using test::kLimit;
using testing::HasSubstr;
using testing::Not;

class FilePortTest : public testing::Test {
 protected:
  FilePortTest() {
    source_.set_address("127.0.0.1");
    source_.set_key(key_.ToHex());
    folder_.Write("0", "small");
    folder_.Write("1", std::string(3'000'000, 'x'));
    folder_.Write("2", "");
    port_ = *FilePort::Open("127.0.0.1", key_, [this](uint64_t number) {
      const std::string name = folder_.path() + "/" + std::to_string(number);
      FilePort::File file{base::UniqueFd(open(name.c_str(), O_RDONLY | O_CLOEXEC))};
      if (file.fd.valid()) file.size = std::filesystem::file_size(name) + more_;
      return file;
    });
    source_.set_port(port_->port());
  }

  static bool GoOn() { return true; }
  Result<FileSource> Connect() { return FileSource::Connect(source_, GoOn); }
  static Status Get(FileSource&& source, uint64_t number, uint64_t size, std::string& content) {
    return source.Get(
        number, size,
        [&](std::string_view piece) {
          content += piece;
          return true;
        },
        GoOn);
  }
  static Status Get(FileSource& source, uint64_t number, uint64_t size, std::string& content) {
    return Get(std::move(source), number, size, content);
  }
  base::UniqueFd RawConnection() const {
    base::UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const base::SocketAddress to(*base::IpAddress::Parse("127.0.0.1"), port_->port());
    EXPECT_EQ(connect(fd.get(), to.get(), to.length()), 0);
    return fd;
  }
  // Reads until the end of the stream.
  static std::string All(const base::UniqueFd& fd) {
    std::string all;
    char buffer[4096];
    for (;;) {
      const auto got =
          base::ReadSome(fd.get(), buffer, sizeof buffer, base::Deadline::After(kLimit));
      if (!got.ok() || *got == 0) return all;
      all.append(buffer, *got);
    }
  }

  const test::TempFolder folder_;
  const secure::Key key_ = secure::Key::Random();
  uint64_t more_ = 0;  // added to the announced size of a file
  v1::SyncSource source_;
  std::unique_ptr<FilePort> port_;
};

TEST_F(FilePortTest, ServesSeveralClients) {
  std::vector<std::future<void>> others;
  for (int i = 0; i < 8; ++i) {
    others.push_back(std::async(std::launch::async, [this] {
      auto source = Connect();
      ASSERT_TRUE(source.ok()) << Message(source.status());
      for (int turn = 0; turn < 3; ++turn) {
        std::string small, large, empty;
        EXPECT_TRUE(Get(*source, 0, 5, small).ok());
        EXPECT_TRUE(Get(*source, 1, 3'000'000, large).ok());
        EXPECT_TRUE(Get(*source, 2, 0, empty).ok());
        EXPECT_EQ(small + empty, "small");
        EXPECT_EQ(large, std::string(3'000'000, 'x'));
      }
    }));
  }
}

TEST_F(FilePortTest, AMissingFileDoesNotAffectTheOthers) {
  auto source = Connect();
  std::string content;
  EXPECT_EQ(Get(*source, 7, 5, content).code(), StatusCode::kNotFound);
  EXPECT_TRUE(Get(*source, 0, 5, content).ok());
  EXPECT_EQ(content, "small");
}

TEST_F(FilePortTest, AFileOfAnotherSizeIsRefused) {
  std::string content;
  EXPECT_EQ(Get(*Connect(), 0, 6, content).code(), StatusCode::kUnavailable);
  more_ = 1;
  EXPECT_EQ(Get(*Connect(), 0, 6, content).code(),
            StatusCode::kUnavailable);  // the file is shorter than announced
}

TEST_F(FilePortTest, DataIsEncryptedOnTheNetwork) {
  test::RecordingProxy listener(port_->port());
  source_.set_port(listener.port());
  auto source = Connect();
  ASSERT_TRUE(source.ok()) << source.status();
  std::string content;
  EXPECT_TRUE(Get(*source, 1, 3'000'000, content).ok());
  EXPECT_EQ(content.size(), 3'000'000u);
  EXPECT_GT(listener.answered().size(), content.size());
  EXPECT_THAT(listener.answered(), Not(HasSubstr("xxxx")));
  EXPECT_THAT(listener.sent(), Not(HasSubstr(NumberAsBytes(1))));
  EXPECT_THAT(listener.sent(), Not(HasSubstr(key_.ToHex())));
}

TEST_F(FilePortTest, AClientWithoutTheKeyGetsNoBytes) {
  const auto stranger = RawConnection();
  const std::string wrong = std::string(4096, 'f') + NumberAsBytes(0);
  (void)base::WriteAll(stranger.get(), wrong, base::Deadline::After(kLimit)).ok();
  EXPECT_EQ(All(stranger), "");
  source_.set_key(secure::Key::Random().ToHex());
  EXPECT_EQ(Connect().status().code(), StatusCode::kUnavailable);
}

TEST_F(FilePortTest, SilentStrangersDoNotBlockOthers) {
  std::vector<base::UniqueFd> silent;
  for (size_t i = 0; i < FilePort::kMaxStrangers + 10; ++i) silent.push_back(RawConnection());
  std::string content;
  auto source = Connect();
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_TRUE(Get(*source, 0, 5, content).ok());
  EXPECT_EQ(All(silent.front()), "") << "it has made room";
}

TEST_F(FilePortTest, ASilentClientIsDisconnected) {
  const auto silent = RawConnection();
  EXPECT_EQ(All(silent), "");
}

TEST_F(FilePortTest, WithoutAListenerNothingIsReceived) {
  port_.reset();
  EXPECT_FALSE(Connect().ok());
  source_.set_port(99'999);
  EXPECT_EQ(Connect().status().code(), StatusCode::kInvalidArgument);
  source_.set_port(9);
  source_.set_key("no key");
  EXPECT_EQ(Connect().status().code(), StatusCode::kInvalidArgument);
}

TEST_F(FilePortTest, AnEndlessWaitCanBeCancelled) {
  const auto listening = *base::Listen({*base::IpAddress::Parse("127.0.0.1"), 0});
  source_.set_port(listening.address.port);  // accepts connections, but sends nothing
  int asked = 0;
  EXPECT_EQ(FileSource::Connect(source_, [&] { return ++asked < 3; }).status().code(),
            StatusCode::kCancelled);
}

TEST_F(FilePortTest, DisconnectsAtItsEnd) {
  auto source = Connect();
  port_.reset();
  std::string content;
  EXPECT_FALSE(Get(*source, 0, 5, content).ok());
}

TEST_F(FilePortTest, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_FALSE(FilePort::Open("192.0.2.1", key_, nullptr).ok());
  EXPECT_FALSE(FilePort::Open("name", key_, nullptr).ok());
}

}  // namespace
}  // namespace autodist::agent
