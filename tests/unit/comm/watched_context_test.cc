#include "comm/watched_context.h"

#include <gloo/barrier.h>
#include <gloo/rendezvous/hash_store.h>
#include <gloo/transport/tcp/device.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/sigpipe_blocked.h"

namespace autodist {
namespace {

using Context = std::shared_ptr<WatchedContext>;
using std::chrono::seconds;
using testing::AnyOf;
using testing::HasSubstr;

constexpr seconds kTimeout{20};      // Gloo's; a longer wait is a failure
constexpr size_t kLarge = 64 << 20;  // bytes; more than sockets buffer
constexpr uint64_t kData = 1;        // slots
constexpr uint64_t kReady = 2;
constexpr uint64_t kMore = 3;

// Runs each rank's function in its own thread.
void AsRanks(const std::vector<std::function<void(Context)>>& ranks) {
  gloo::rendezvous::HashStore store;
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const SigpipeBlocked blocked;
      gloo::transport::tcp::attr attributes;
      attributes.hostname = "127.0.0.1";
      auto device = gloo::transport::tcp::CreateDevice(attributes);
      auto context =
          std::make_shared<WatchedContext>(static_cast<int>(rank), static_cast<int>(ranks.size()));
      context->setTimeout(kTimeout);
      context->Connect(store, device);
      gloo::BarrierOptions all(context);
      gloo::barrier(all);
      ranks[rank](std::move(context));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

// The message of the exception, or "".
std::string Failure(const std::function<void()>& body) {
  try {
    body();
  } catch (const gloo::IoException& error) {
    return error.what();
  }
  return "";
}

// Memory of which only the beginning is mapped: sending or receiving all of it fails and closes the
// connection in the middle of a message.
class BrokenMemory {
 public:
  BrokenMemory()
      : begin_(
            mmap(nullptr, kLarge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    mprotect(begin_, kThere, PROT_READ | PROT_WRITE);
  }
  ~BrokenMemory() { munmap(begin_, kLarge); }
  BrokenMemory(const BrokenMemory&) = delete;
  BrokenMemory& operator=(const BrokenMemory&) = delete;

  void* begin() { return begin_; }

 private:
  static constexpr size_t kThere = 64 << 10;  // bytes

  void* const begin_;
};

const auto kLost =
    AnyOf(HasSubstr("Connection closed by peer [127.0.0.1]"), HasSubstr("Read error [127.0.0.1]"));

TEST(WatchedContextTest, APartlyWrittenMessageFailsWhenThePeerIsLost) {
  std::string failure;
  AsRanks({[&](const Context& context) {
             std::vector<char> data(kLarge);
             const auto ready = context->createUnboundBuffer(nullptr, 0);
             const auto buffer = context->createUnboundBuffer(data.data(), data.size());
             ready->recv(1, kReady);
             ready->waitRecv();  // it waits for the data, too
             failure = Failure([&] {
               buffer->send(1, kData);
               buffer->waitSend();
             });
           },
           [](const Context& context) {
             BrokenMemory memory;
             const auto ready = context->createUnboundBuffer(nullptr, 0);
             const auto buffer = context->createUnboundBuffer(memory.begin(), kLarge);
             buffer->recv(0, kData);
             ready->send(0, kReady);
             Failure([&] { buffer->waitRecv(); });
           }});
  EXPECT_THAT(failure, kLost);
}

TEST(WatchedContextTest, APartlyReadMessageFailsWhenThePeerIsLost) {
  std::string failure;
  AsRanks({[&](const Context& context) {
             std::vector<char> data(kLarge);
             const auto ready = context->createUnboundBuffer(nullptr, 0);
             const auto buffer = context->createUnboundBuffer(data.data(), data.size());
             buffer->recv(1, kData);
             ready->send(1, kReady);
             failure = Failure([&] { buffer->waitRecv(); });
           },
           [](const Context& context) {
             BrokenMemory memory;
             const auto ready = context->createUnboundBuffer(nullptr, 0);
             const auto buffer = context->createUnboundBuffer(memory.begin(), kLarge);
             ready->recv(0, kReady);
             ready->waitRecv();  // this thread writes, and gets the error
             Failure([&] {
               buffer->send(0, kData);
               buffer->waitSend();
             });
           }});
  EXPECT_THAT(failure, kLost);
}

TEST(WatchedContextTest, ARankThatWaitsForAThirdOneIsNotifiedOfALossAndCannotContinue) {
  std::vector<std::string> failures(3);
  std::promise<void> all_said;
  const auto wait_for = [&](const Context& context, int peer, std::string& failure) {
    const auto ready = context->createUnboundBuffer(nullptr, 0);
    const auto buffer = context->createUnboundBuffer(nullptr, 0);
    ready->send(2, kReady);
    failure = Failure([&] {
      buffer->recv(peer, kData);
      buffer->waitRecv();
    });
  };
  AsRanks({[&](const Context& context) {
             wait_for(context, 1, failures[0]);
             failures[2] = Failure([&] { context->createUnboundBuffer(nullptr, 0); });
             all_said.set_value();
           },
           [&](const Context& context) {
             wait_for(context, 0, failures[1]);
             all_said.get_future().wait();
           },
           [](const Context& context) {
             const auto ready = context->createUnboundBuffer(nullptr, 0);
             for (const int peer : {0, 1}) ready->recv(peer, kReady);
             for (int i = 0; i < 2; ++i) ready->waitRecv();
             context->Break();
           }});
  EXPECT_THAT(failures, testing::Each(kLost));
}

TEST(WatchedContextTest, APeerThatLeavesRegularlyIsNotLost) {
  constexpr int kRounds = 1'000;  // a false loss would be noticed before the last
  std::vector<std::string> failures(2);
  const auto go_on_with = [&](const Context& context, int peer) {
    const std::string left = Failure([&] {
      const auto buffer = context->createUnboundBuffer(nullptr, 0);
      buffer->recv(2, kData);
      buffer->waitRecv();
    });
    EXPECT_THAT(left, kLost);
    failures[static_cast<size_t>(context->rank)] = Failure([&] {
      for (int i = 0; i < kRounds; ++i) {
        const auto buffer = context->createUnboundBuffer(nullptr, 0);
        buffer->recv(peer, kMore);
        buffer->send(peer, kMore);
        buffer->waitRecv();
        buffer->waitSend();
      }
    });
  };
  AsRanks({[&](const Context& context) { go_on_with(context, 1); },
           [&](const Context& context) { go_on_with(context, 0); }, [](const Context&) {}});
  EXPECT_THAT(failures, testing::Each(""));
}

}  // namespace
}  // namespace autodist
