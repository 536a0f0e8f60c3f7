#include "files/temporary_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::files {
namespace {

class TemporaryFileTest : public testing::Test {
 protected:
  size_t Files() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()),
                                             std::filesystem::directory_iterator()));
  }

  const test::TempFolder folder_;
  const base::UniqueFd fd_{open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY)};
};

TEST_F(TemporaryFileTest, IsRemovedWithItsObject) {
  {
    const auto file = TemporaryFile::Create(fd_.get());
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_TRUE(IsTemporaryName(file->name()));
    EXPECT_EQ(Files(), 1u);
  }
  EXPECT_EQ(Files(), 0u);
}

TEST_F(TemporaryFileTest, ReplacesAnotherFile) {
  folder_.Write("a", "old");
  {
    auto file = TemporaryFile::Create(fd_.get());
    ASSERT_TRUE(base::WriteAll(file->fd(), "new", base::Deadline::Never()).ok());
    EXPECT_EQ(folder_.Read("a"), "old");
    ASSERT_TRUE(file->Keep("a").ok());
  }
  EXPECT_EQ(folder_.Read("a"), "new");
  EXPECT_EQ(Files(), 1u);
}

TEST_F(TemporaryFileTest, OnlyLeftoversAreRemoved) {
  const auto in_use = TemporaryFile::Create(fd_.get());
  folder_.Write(NewTemporaryName(), "torn");
  std::filesystem::create_symlink("x", folder_.path() + "/" + NewTemporaryName());
  folder_.Write(".autodist-sync-notes", "the user's own");
  RemoveLeftovers(fd_.get());
  EXPECT_EQ(Files(), 2u);
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/" + in_use->name()));
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/.autodist-sync-notes"));
}

TEST_F(TemporaryFileTest, AnUnwritableFolderIsAnError) {
  EXPECT_FALSE(TemporaryFile::Create(-1).ok());
}

}  // namespace
}  // namespace autodist::files
