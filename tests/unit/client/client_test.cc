#include "autodist/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace autodist {
namespace {

using testing::HasSubstr;

TEST(ClientTest, OutsideAJobTheErrorSaysHowToStart) {
  unsetenv("AUTODIST_RANK");
  const auto client = Client::Connect();
  ASSERT_FALSE(client.ok());
  EXPECT_THAT(Message(client.status()), HasSubstr("AUTODIST_RANK is not set"));
  EXPECT_THAT(Remedy(client.status()), HasSubstr("autodist run"));
}

TEST(ClientTest, NumbersAreValidated) {
  setenv("AUTODIST_RANK", "one", 1);
  EXPECT_THAT(Message(Client::Connect().status()), HasSubstr("AUTODIST_RANK='one' is no number"));
  unsetenv("AUTODIST_RANK");
}

}  // namespace
}  // namespace autodist
