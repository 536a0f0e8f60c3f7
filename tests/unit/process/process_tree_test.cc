#include "process/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace autodist::process {
namespace {

TEST(ProcessTreeTest, FindsGrandchildrenInSessionsOfTheirOwn) {
  AdoptOrphans();
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      setsid();
      const pid_t self = getpid();
      (void)!write(ready[1], &self, sizeof self);
    }
    pause();
    _exit(0);
  }
  pid_t grandchild = 0;
  ASSERT_EQ(read(ready[0], &grandchild, sizeof grandchild), ssize_t{sizeof grandchild});
  std::vector<pid_t> found = Descendants(getpid());
  EXPECT_NE(std::ranges::find(found, child), found.end());
  EXPECT_NE(std::ranges::find(found, grandchild), found.end());

  // An orphan stays ours.
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  found = Descendants(getpid());
  EXPECT_NE(std::ranges::find(found, grandchild), found.end());
  kill(grandchild, SIGKILL);
  EXPECT_EQ(waitpid(grandchild, nullptr, 0), grandchild);
}

}  // namespace
}  // namespace autodist::process
