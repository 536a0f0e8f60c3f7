#include "json/proto_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/example_snapshot.h"

namespace autodist::json {
namespace {

TEST(ProtoJsonTest, ParsesTheTextAsTheMessage) {
  v1::JobSnapshot snapshot = test::ExampleSnapshot();
  v1::Progress& progress = *snapshot.mutable_progress();
  for (const double value : {0.1, 1e300, -2.5e-9, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    progress.add_metrics()->set_value(value);
  }
  snapshot.mutable_ranks(0)->set_state(static_cast<v1::RankState>(99));  // of a later version
  snapshot.mutable_ranks(0)->set_last_line("<a> \"b\" \\ \t\r\n\x01 \u202e é 漢 😀");
  snapshot.set_time_ms(std::numeric_limits<int64_t>::min());
  v1::JobSnapshot read;
  const Status status = FromJson(JsonText(snapshot), read);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ToJson(read, Layout::kIndented).value_or(""),
            ToJson(snapshot, Layout::kIndented).value_or("-"));
}

}  // namespace
}  // namespace autodist::json
