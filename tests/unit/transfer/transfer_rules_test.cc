#include "transfer/transfer_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "rpc/limits.h"
#include "rpc/message_rules.h"

namespace autodist::transfer {
namespace {

using testing::HasSubstr;

std::string Broken(const Status& status) {
  EXPECT_TRUE(rpc::IsBrokenRule(status)) << Message(status);
  return Message(status);
}

TEST(TransferRules, TheNumberOfDifferencesIsLimited) {
  SyncRules rules(3, 0);
  v1::SyncResponse response;
  response.mutable_differences()->add_wanted(0);
  response.mutable_differences()->add_digest_candidates();
  EXPECT_TRUE(rules.Check(response).ok());
  EXPECT_THAT(Broken(rules.Check(response)), HasSubstr("more files that differ than there are"));
  response.mutable_finished()->set_error(std::string(rpc::kMaxTextLength + 1, 'x'));
  EXPECT_THAT(Broken(SyncRules(3, 0).Check(response)), HasSubstr("a reason of 8193 bytes"));
}

TEST(TransferRules, ASyncMakesProgressByItsMessages) {
  v1::SyncResponse bytes_written;
  bytes_written.mutable_bytes_written()->set_bytes(5);
  SyncRules rules(3, 10);
  EXPECT_TRUE(rules.Check(bytes_written).ok());
  for (int i = 0; i < SyncRules::kMaxIdleMessages; ++i)
    ASSERT_TRUE(rules.Check(bytes_written).ok());
  EXPECT_THAT(Broken(rules.Check(bytes_written)), HasSubstr("too many messages without progress"));
  bytes_written.mutable_bytes_written()->set_bytes(4);
  EXPECT_THAT(Broken(rules.Check(bytes_written)), HasSubstr("a bytes_written for 4 of 10 bytes"));
  bytes_written.mutable_bytes_written()->set_bytes(UINT64_MAX);
  EXPECT_THAT(Broken(rules.Check(bytes_written)),
              HasSubstr("a bytes_written for 18446744073709551615 of 10"));
  v1::SyncResponse place;
  place.mutable_target_info();
  EXPECT_TRUE(SyncRules(3, 10).Check(place).ok());
  EXPECT_THAT(Broken(rules.Check(place)), HasSubstr("a place in the midst of it"));
}

TEST(TransferRules, FilesThatArePassedOn) {
  v1::SyncResponse response;
  v1::SyncPassingOn& passing_on = *response.mutable_passing_on();
  EXPECT_TRUE(SyncRules(3, 10).Check(response).ok());  // it could open none
  passing_on.set_port(7);
  EXPECT_THAT(Broken(SyncRules(3, 10).Check(response)), HasSubstr("an address ''"));
  passing_on.set_address("10.0.0.1");
  SyncRules rules(3, 10);
  EXPECT_TRUE(rules.Check(response).ok());
  EXPECT_THAT(Broken(rules.Check(response)), HasSubstr("a port opened twice"));
  passing_on.set_port(65'536);
  EXPECT_THAT(Broken(SyncRules(3, 10).Check(response)), HasSubstr("a port 65536"));
  passing_on.set_port(0);
  passing_on.set_address(std::string(100'000, '1'));
  EXPECT_THAT(Broken(SyncRules(3, 10).Check(response)), HasSubstr("an address '111"));
  response.mutable_unavailable()->add_entries(2);
  EXPECT_TRUE(SyncRules(3, 10).Check(response).ok());
  response.mutable_unavailable()->add_entries(3);
  EXPECT_THAT(Broken(SyncRules(3, 10).Check(response)), HasSubstr("a file that there is not"));
  response.mutable_unavailable()->clear_entries();
  for (int i = 0; i < 4; ++i) response.mutable_unavailable()->add_entries(0);
  EXPECT_THAT(Broken(SyncRules(3, 10).Check(response)), HasSubstr("more files missed"));
}

TEST(TransferRules, ExtraFilesAreInTheFolderAndListedOnce) {
  v1::SyncResponse response;
  response.mutable_extra()->add_paths("old/a.py");
  SyncRules rules(3, 10);
  EXPECT_TRUE(rules.Check(response).ok());
  EXPECT_THAT(Broken(rules.Check(response)), HasSubstr("two lists of extra files"));
  response.mutable_extra()->add_paths("../a.py");
  EXPECT_THAT(Broken(SyncRules(3, 10).Check(response)), HasSubstr("not in the folder"));
  response.mutable_extra()->clear_paths();
  for (int i = 0; i <= rpc::kMaxListLength; ++i) response.mutable_extra()->add_paths("a");
  EXPECT_THAT(Broken(SyncRules(3, 10).Check(response)), HasSubstr("a list of extra files"));
}

}  // namespace
}  // namespace autodist::transfer
