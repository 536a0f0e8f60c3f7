#include "chief/policy/job_policy.h"

#include <gtest/gtest.h>

namespace autodist::chief {
namespace {

using Event = StageEvent;

TEST(JobPolicyTest, FilesAreFetchedBeforeTheAgentsExit) {
  struct Case {
    FetchWishes wishes;
    StageEvent before;
    StageEvent after;
  };
  // wanted, busy, killing
  for (const auto& [wishes, before, after] : {
           Case{{false, false, false}, Event::kEnd, Event::kEnd},
           Case{{false, false, true}, Event::kEnd, Event::kEnd},
           Case{{false, true, false}, Event::kFetch, Event::kEnd},
           Case{{false, true, true}, Event::kAwaitFetch, Event::kEnd},
           Case{{true, false, false}, Event::kFetch, Event::kFetch},
           Case{{true, false, true}, Event::kAwaitFetch, Event::kEnd},
           Case{{true, true, false}, Event::kFetch, Event::kFetch},
           Case{{true, true, true}, Event::kAwaitFetch, Event::kEnd},
       }) {
    EXPECT_EQ(BeforeLeaving(wishes), before) << wishes.wanted << wishes.busy << wishes.killing;
    EXPECT_EQ(AfterFetches(wishes), after) << wishes.wanted << wishes.busy << wishes.killing;
  }
}

}  // namespace
}  // namespace autodist::chief
