#include "agent/life/host_lookup.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "base/deadline.h"
#include "support/forbid_threads.h"
#include "support/limit.h"

namespace autodist::agent {
namespace {

TEST(HostLookupDeathTest, EndsAtOnceIfNoThreadCanBeStarted) {
  EXPECT_EXIT(
      {
        test::ForbidThreads();
        const HostLookup lookup("localhost");
        _exit(lookup.over() && lookup.fd() == -1 && lookup.Addresses().empty() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST(HostLookupTest, IsReadableOnceFinished) {
  const HostLookup lookup("localhost");
  pollfd readable{lookup.fd(), POLLIN, 0};
  ASSERT_EQ(poll(&readable, 1, base::Deadline::After(test::kLimit).PollTimeout()), 1);
  EXPECT_TRUE(lookup.over());
  EXPECT_FALSE(lookup.Addresses().empty());
}

}  // namespace
}  // namespace autodist::agent
