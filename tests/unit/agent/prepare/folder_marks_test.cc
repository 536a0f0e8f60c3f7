#include "agent/prepare/folder_marks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "support/temp_folder.h"

namespace autodist::agent {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class FolderMarksTest : public testing::Test {
 protected:
  FolderMarksTest() {
    probe_.set_mark("word");
    probe_.add_shared_folders(folder_.path());
  }
  std::vector<FolderMark> Mark(uint32_t node, v1::SharedFolderFact& fact) const {
    v1::NodeInfo facts;
    auto marks = MarkFolders(probe_, node, facts);
    EXPECT_EQ(facts.shared_folders_size(), probe_.shared_folders_size());
    fact = facts.shared_folders(0);
    return marks;
  }

  const test::TempFolder folder_;
  v1::ProbeRequest probe_;
  v1::SharedFolderFact fact_;
};

TEST_F(FolderMarksTest, TheLaterOfTwoNodesSeesTheOther) {
  {
    const auto before = Mark(2, fact_);
    EXPECT_THAT(fact_.seen(), IsEmpty());
    const auto first = Mark(0, fact_);
    EXPECT_THAT(fact_.seen(), UnorderedElementsAre(0, 2));
    const auto after = Mark(1, fact_);
    EXPECT_THAT(fact_.seen(), ElementsAre(0));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(FolderMarksTest, MarksWithAnotherTokenAreNotSeen) {
  const auto others = Mark(1, fact_);
  folder_.Write(".autodist-word-x", "");
  probe_.set_mark("another");
  const auto first = Mark(0, fact_);
  EXPECT_THAT(fact_.seen(), ElementsAre(0));
}

TEST_F(FolderMarksTest, MissingMarksAreReported) {
  probe_.set_shared_folders(0, folder_.path() + "/none");
  for (const uint32_t node : {0u, 1u}) {
    EXPECT_THAT(Mark(node, fact_), IsEmpty());
    EXPECT_EQ(fact_.error(), "No such file or directory");
    EXPECT_FALSE(fact_.not_writable());
    EXPECT_THAT(fact_.seen(), IsEmpty());
  }
}

// Like a read-only file system, where even root cannot write.
TEST_F(FolderMarksTest, InAReadOnlyFolderTheFirstMarkIsAwaited) {
  if (!std::filesystem::exists("/proc/1")) GTEST_SKIP() << "no /proc";
  probe_.set_shared_folders(0, "/proc/1");
  v1::SharedFolderFact fact;
  EXPECT_THAT(Mark(1, fact), IsEmpty());
  EXPECT_NE(fact.error(), "");
}

}  // namespace
}  // namespace autodist::agent
