#include "chief/remote_controller/run_remote.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

// Writes more than a pipe buffers.
constexpr char kSsh[] = "#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' x >&2\nexit 3\n";

// Makes waiting for the end of a process impossible. Changes this process permanently.
void ForbidPidfds() {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EMFILE),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    _exit(2);
  }
}

TEST(RunRemoteDeathTest, PassesAllOutputOnIfTheEndOfSshCannotBeAwaited) {
  const test::TempFolder folder;
  std::filesystem::permissions(folder.Write("ssh", kSsh), std::filesystem::perms::owner_all);
  EXPECT_EXIT(
      {
        ForbidPidfds();
        setenv("PATH", (folder.path() + ":/usr/bin:/bin").c_str(), 1);
        v1::SshReach node;
        node.set_host("node-1");
        _exit(RunRemote(OverSsh(node), {"ps"}).value_or(1));
      },
      testing::ExitedWithCode(3), "xxx");
}

TEST(DecodeArgvTest, RefusesInvalidInput) {
  for (const char* text : {"", "6", "zz00", "6c", "6c 00"}) {
    EXPECT_FALSE(DecodeArgv(text).ok()) << text;
  }
}

TEST(DecodeArgvTest, DecodesArguments) {
  EXPECT_EQ(*DecodeArgv("707300"), std::vector<std::string>{"ps"});
  EXPECT_EQ(*DecodeArgv("7073000000"), (std::vector<std::string>{"ps", "", ""}));
}

}  // namespace
}  // namespace autodist::chief
