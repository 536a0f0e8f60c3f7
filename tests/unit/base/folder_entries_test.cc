#include "base/folder_entries.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "base/fd.h"
#include "support/temp_folder.h"

namespace {

int reads_before_failure = -1;  // negative: no failure

}  // namespace

// Replaces that of the C library, also for libraries, so that it can fail like one on a file
// server.
extern "C" dirent* readdir(DIR* folder) {
  if (reads_before_failure >= 0 && reads_before_failure-- == 0) {
    errno = ESTALE;
    return nullptr;
  }
  static const auto real = reinterpret_cast<dirent* (*)(DIR*)>(dlsym(RTLD_NEXT, "readdir"));
  return real(folder);
}

namespace autodist::base {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FolderEntriesTest : public testing::Test {
 protected:
  FolderEntriesTest() {
    for (const char* name : {"b", "a", ".c"}) folder_.Write(name, "");
  }
  ~FolderEntriesTest() override { reads_before_failure = -1; }

  const test::TempFolder folder_;
};

TEST_F(FolderEntriesTest, NamesAreSorted) {
  errno = EINVAL;
  EXPECT_THAT(EntriesOf(folder_.path()), ElementsAre(".c", "a", "b"));
  EXPECT_EQ(errno, 0);
  const UniqueFd open_folder(open(folder_.path().c_str(), O_PATH | O_CLOEXEC));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(EntriesOf(open_folder.get()), ElementsAre(".c", "a", "b"));
    EXPECT_EQ(errno, 0);
  }
}

TEST_F(FolderEntriesTest, AFailureEndsTheList) {
  reads_before_failure = 3;
  EXPECT_LT(EntriesOf(folder_.path()).size(), 3u);
  EXPECT_EQ(errno, ESTALE);
  EXPECT_THAT(EntriesOf(folder_.path() + "/none"), IsEmpty());
  EXPECT_EQ(errno, ENOENT);
  EXPECT_THAT(EntriesOf(folder_.path() + "/a"), IsEmpty());
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_THAT(EntriesOf(-1), IsEmpty());
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace autodist::base
