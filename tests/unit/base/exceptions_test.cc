#include "base/exceptions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>

#include "base/thread.h"
#include "base/worker.h"

namespace autodist::base {
namespace {

void ThrowUnexpected() { throw std::runtime_error("unexpected"); }

// Counts the exceptions while it exists.
class Handled {
 public:
  Handled() {
    SetExceptionHandler([this](std::exception_ptr thrown) {
      try {
        std::rethrow_exception(std::move(thrown));
      } catch (const std::runtime_error& error) {
        if (error.what() == std::string("unexpected")) ++count;
      }
    });
  }
  ~Handled() { SetExceptionHandler(nullptr); }

  std::atomic<int> count = 0;
};

TEST(ExceptionsTest, AWorkerSurvivesThem) {
  const Handled handled;
  Worker worker;
  worker.Post(ThrowUnexpected);
  worker.Post(ThrowUnexpected);
  worker.Drain();
  EXPECT_EQ(handled.count, 2);
}

TEST(ExceptionsTest, AThreadPassesThemOn) {
  const Handled handled;
  StartThread(ThrowUnexpected)->join();
  StartThread([](const std::stop_token&) { ThrowUnexpected(); })->join();
  EXPECT_EQ(handled.count, 2);
}

TEST(ExceptionsDeathTest, WithoutAHandlerTheyEndTheProcess) {
  EXPECT_EXIT(StartThread(ThrowUnexpected)->join(), testing::KilledBySignal(SIGABRT), "unexpected");
}

}  // namespace
}  // namespace autodist::base
