#include "reach/name_service.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <string>

#include "base/fd.h"
#include "support/temp_folder.h"

namespace autodist::reach {
namespace {

using base::Deadline;
using std::chrono::milliseconds;

constexpr milliseconds kLookUpLimit{20'000};

TEST(LookUpTest, AnAddressIsUnchanged) {
  const auto found = LookUp("192.0.2.1", Deadline::After(milliseconds(0)));
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->front().ToString(), "192.0.2.1");
}

TEST(LookUpTest, ResolvesNames) {
  const auto found = LookUp("localhost", Deadline::After(kLookUpLimit));
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->front().IsLoopback());
}

// Redirects this process to a name server that never answers. Returns false without root.
bool UseSilentServer(int socket, const std::string& configuration, const std::string& address) {
  sockaddr_in server{};
  server.sin_family = AF_INET;
  server.sin_port = htons(53);
  server.sin_addr.s_addr = inet_addr(address.c_str());
  return bind(socket, reinterpret_cast<const sockaddr*>(&server), sizeof server) == 0 &&
         unshare(CLONE_NEWNS) == 0 &&
         mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount(configuration.c_str(), "/etc/resolv.conf", nullptr, MS_BIND, nullptr) == 0;
}

// The name makes it run before all others, which leave threads that a child must not have.
TEST(LookUpDeathTest, AnUnresponsiveNameServerIsNotAwaited) {
  const test::TempFolder folder;
  std::random_device number;  // no other run of the tests has the address
  const auto byte = [&] { return std::to_string(1 + number() % 250); };
  const std::string address = "127." + byte() + "." + byte() + ".53";
  folder.Write("resolv.conf", "nameserver " + address + "\noptions timeout:30\n");
  EXPECT_EXIT(
      {
        const base::UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
        if (!UseSilentServer(socket.get(), folder.path() + "/resolv.conf", address)) _exit(77);
        const auto begin = Deadline::Clock::now();
        const auto found = LookUp("node-1.example.com", Deadline::After(milliseconds(100)));
        const bool prompt = Deadline::Clock::now() - begin < kLookUpLimit;
        _exit(prompt && found.status().code() == StatusCode::kDeadlineExceeded ? 0 : 1);
      },
      [](int status) { return WIFEXITED(status) && WEXITSTATUS(status) % 77 == 0; }, "");
}

}  // namespace
}  // namespace autodist::reach
