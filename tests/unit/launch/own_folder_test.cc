// The shell functions, in each shell that a node may have, and the scripts that use them.
#include "scripts/scripts.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/shell_quote.h"
#include "support/home_folder.h"
#include "support/nobody.h"

namespace autodist::launch {
namespace {

namespace fs = std::filesystem;

struct NodeShell {
  const char* name;
  std::vector<std::string> argv;
};

struct EndedScript {
  int code;
  std::string output;
};

// Runs in a separate process, in this folder.
EndedScript RunScript(const NodeShell& shell, const std::string& script,
                      const std::vector<std::string>& arguments, const std::string& folder = "/") {
  std::vector<std::string> words = shell.argv;
  words.insert(words.end(), {"-c", scripts::Script({"own_folder"}) + " " + script, "sh"});
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::string line = "cd " + base::ShellLine({folder}) + " && " + base::ShellLine(words);
  FILE* const pipe = popen(line.c_str(), "r");
  std::string output;
  for (int c = 0; (c = fgetc(pipe)) != EOF;) output += static_cast<char>(c);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

class OwnFolderTest : public testing::TestWithParam<NodeShell> {
 protected:
  void SetUp() override {
    const std::string find = "command -v " + GetParam().argv[0] + " > /dev/null";
    if (system(find.c_str()) != 0) GTEST_SKIP() << GetParam().name << " is not installed";
    ASSERT_EQ(access(in_tmp_.c_str(), F_OK), -1) << in_tmp_ << " is there; run it by support/alone";
  }
  void TearDown() override { fs::remove_all(in_tmp_); }

  std::string Path(const std::string& name) const { return home_.path() + "/" + name; }
  std::string Make(const std::string& name, mode_t mode, uid_t owner = geteuid()) const {
    fs::create_directories(Path(name));
    EXPECT_EQ(chmod(Path(name).c_str(), mode), 0);
    EXPECT_EQ(chown(Path(name).c_str(), owner, owner), 0);
    return Path(name);
  }
  std::string Link(const std::string& name, const std::string& to) const {
    fs::create_symlink(to, Path(name));
    return Path(name);
  }
  // The current folder after own(): the folder, or "/".
  std::string Enters(const std::string& folder) const {
    const EndedScript ended =
        RunScript(GetParam(), "own \"$1\"; s=$?; pwd -P; exit $s", {folder}, home_.path());
    const std::string where = ended.output.substr(0, ended.output.find('\n'));
    EXPECT_EQ(ended.code == 0, where != "/") << where;
    return where;
  }
  // Installs a program that prints its name and the folder that it was started in.
  static void Put(const std::string& folder, const std::string& name, const std::string& what) {
    fs::create_directories(folder);
    const std::string path = folder + "/" + name;
    FILE* const file = fopen(path.c_str(), "w");
    ASSERT_NE(file, nullptr) << path;
    fprintf(file, "#!/bin/sh\necho %s\n", what.c_str());
    fclose(file);
    chmod(path.c_str(), 0755);
  }
  static std::string SizeOf(const std::string& path) { return std::to_string(fs::file_size(path)); }
  // The output of the script.
  std::string Enter(const std::vector<std::string>& arguments) const {
    return RunScript(GetParam(), "if enter \"$@\"; then ./prog; else echo none; fi", arguments)
        .output;
  }
  std::string EnterOther() const {
    return RunScript(GetParam(), "if enter_other agent prog; then ./prog; else echo none; fi", {})
        .output;
  }

  const test::HomeFolder home_;
  const std::string in_tmp_ = "/tmp/autodist-agent-" + std::to_string(geteuid());
};

TEST_P(OwnFolderTest, OnlyTheUsersOwnFolderIsEntered) {
  const bool root = geteuid() == 0;
  const std::string own = Make("own", 0700);
  EXPECT_EQ(Enters(own), own);
  for (const mode_t mode : {0755U, 0500U, 02755U, 01700U}) {
    const std::string path = Make("mode-" + std::to_string(mode), mode);
    EXPECT_EQ(Enters(path), path);
  }
  for (const mode_t mode : {0720U, 0770U, 0775U, 0702U, 0707U, 0777U, 01777U, 02770U, 03777U}) {
    EXPECT_EQ(Enters(Make("mode-" + std::to_string(mode), mode)), "/") << std::oct << mode;
  }
  EXPECT_EQ(Enters(Link("to-own", own)), own);
  EXPECT_EQ(Enters(own + "/none"), "/");
  const std::string with_spaces = Make("a 'quoted' *name*", 0700);
  EXPECT_EQ(Enters(with_spaces), with_spaces);
  if (!root) return;
  EXPECT_EQ(Enters(Make("another's", 0755, test::kNobody)), "/");
  EXPECT_EQ(Enters(Make("another's-and-open", 0777, test::kNobody)), "/");
  EXPECT_EQ(Enters(Link("to-another's", Path("another's"))), "/");
}

TEST_P(OwnFolderTest, CharactersAfterTheModeInLsAreIgnored) {
  const std::string folder = Make("own", 0700);
  const auto enters = [&](const std::string& mode) {
    const std::string shown = base::ShellQuote(mode + " 2 ada ada 4096 Nov 25 10:00 .");
    return RunScript(GetParam(), "ls() { echo " + shown + "; }; own \"$1\"", {folder}).code == 0;
  };
  for (const char* suffix : {"", "+", ".", "@", "+.", " +"}) {
    EXPECT_TRUE(enters(std::string("drwx------") + suffix)) << suffix;
    EXPECT_TRUE(enters(std::string("drwxr-xr-x") + suffix)) << suffix;
    EXPECT_FALSE(enters(std::string("drwxrwx---") + suffix)) << suffix;
    EXPECT_FALSE(enters(std::string("drwx----w-") + suffix)) << suffix;
  }
  EXPECT_FALSE(enters("lrwxrwxrwx"));
  EXPECT_FALSE(enters(""));
}

// An ACL's permissions for users appear in the mode, as the mask.
TEST_P(OwnFolderTest, WithAnAccessControlList) {
  const std::string folder = Make("own", 0700);
  const auto give = [&](uint16_t permissions) {
    struct Entry {
      uint16_t tag, permissions;
      uint32_t id;
    };
    constexpr uint32_t kNoId = ~0u;
    struct {
      uint32_t version;
      std::array<Entry, 5> entries;
    } const list = {2,
                    {{{1, 7, kNoId},
                      {2, permissions, test::kNobody},
                      {4, 0, kNoId},
                      {16, permissions, kNoId},
                      {32, 0, kNoId}}}};
    return setxattr(folder.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0;
  };
  if (!give(5)) GTEST_SKIP() << "a file system without such lists: " << strerror(errno);
  EXPECT_EQ(Enters(folder), folder);
  ASSERT_TRUE(give(7));
  EXPECT_EQ(Enters(folder), "/");
}

TEST_P(OwnFolderTest, TheHomeFolderIsPreferredToTmp) {
  const std::string cache = Path(".cache/autodist/agent/v1");
  Put(cache, "prog", "home");
  Put(in_tmp_ + "/v1", "prog", "tmp_");
  const std::string size = SizeOf(cache + "/prog");
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "home\n");
  EXPECT_EQ(Enter({"chief", "prog", "v1", size}), "tmp_\n");  // there is no room in the home folder
  EXPECT_EQ(Enter({"agent", "prog", "v0", size, "v1", size}), "home\n");
  fs::permissions(cache, fs::perms::all);
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "tmp_\n");
  fs::permissions(in_tmp_, fs::perms::all);
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "none\n");
  fs::permissions(in_tmp_, fs::perms::owner_all);
  fs::permissions(in_tmp_ + "/v1", fs::perms::all);
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "none\n");
  EXPECT_EQ(Enter({"agent", "prog"}), "none\n");
}

TEST_P(OwnFolderTest, NoFolderInTheCacheIsWritableByOthers) {
  const std::string cache = Path(".cache/autodist/agent/v1");
  Put(cache, "prog", "home");
  const std::string size = SizeOf(cache + "/prog");
  for (const char* folder : {".cache", ".cache/autodist", ".cache/autodist/agent"}) {
    for (const auto write : {fs::perms::group_write, fs::perms::others_write}) {
      fs::permissions(Path(folder), write, fs::perm_options::add);
      EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "none\n") << folder;
      EXPECT_EQ(EnterOther(), "none\n") << folder;
      fs::permissions(Path(folder), write, fs::perm_options::remove);
    }
  }
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "home\n");
  fs::rename(Path(".cache"), Path("elsewhere"));
  fs::create_symlink(Path("elsewhere"), Path(".cache"));
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "home\n");
}

TEST_P(OwnFolderTest, ATruncatedProgramIsIgnored) {
  const std::string cache = Path(".cache/autodist/agent/v1");
  Put(cache, "prog", "whole");
  const std::string size = SizeOf(cache + "/prog");
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "whole\n");
  fs::resize_file(cache + "/prog", fs::file_size(cache + "/prog") - 1);
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "none\n");
  EXPECT_EQ(EnterOther(), "whole\n");  // its size is unknown
  fs::resize_file(cache + "/prog", 0);
  EXPECT_EQ(EnterOther(), "none\n");
  fs::remove(cache + "/prog");
  fs::create_directory(cache + "/prog");
  EXPECT_EQ(EnterOther(), "none\n");
}

TEST_P(OwnFolderTest, OtherVersionsAreTriedTheNewestFirst) {
  const std::string cache = Path(".cache/autodist/agent");
  Put(cache + "/old", "prog", "old");
  Put(cache + "/new", "prog", "new");
  fs::last_write_time(cache + "/old", fs::last_write_time(cache + "/new") - std::chrono::hours(1));
  EXPECT_EQ(EnterOther(), "new\n");
  fs::permissions(cache + "/new", fs::perms::all);
  EXPECT_EQ(EnterOther(), "old\n");
  fs::permissions(cache, fs::perms::all);  // names from other users
  EXPECT_EQ(EnterOther(), "none\n");
  Put(in_tmp_ + "/v1", "prog", "tmp");
  EXPECT_EQ(EnterOther(), "tmp\n");
}

// Attacks: a link to a folder that passes all checks of a path, such as /proc/self.
TEST_P(OwnFolderTest, NothingInAnotherUsersFolderInTmpIsRun) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  Put(in_tmp_ + "/v1", "prog", "theirs");
  const std::string size = SizeOf(in_tmp_ + "/v1/prog");
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "theirs\n");  // as long as it is ours
  // the files in it still belong to root
  ASSERT_EQ(chown(in_tmp_.c_str(), test::kNobody, test::kNobody), 0);
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "none\n");
  EXPECT_EQ(EnterOther(), "none\n");
  fs::remove_all(in_tmp_ + "/v1");
  fs::create_symlink("/proc/self", in_tmp_ + "/v1");
  EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "none\n");
  EXPECT_EQ(EnterOther(), "none\n");
}

TEST_P(OwnFolderTest, ALinkInTmpIsNotFollowed) {
  Put(Path("ours/v1"), "prog", "ours");
  const std::string size = SizeOf(Path("ours/v1/prog"));
  for (const std::string& to : {Path("ours"), std::string("/proc/self"), std::string("/")}) {
    fs::create_symlink(to, in_tmp_);
    EXPECT_EQ(Enter({"agent", "prog", "v1", size}), "none\n");
    EXPECT_EQ(EnterOther(), "none\n");
    fs::remove(in_tmp_);
  }
}

// A FUSE file system can report any owner.
TEST_P(OwnFolderTest, AMountInTmpIsNotEntered) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  Put(in_tmp_ + "/v1", "prog", "ours");
  const std::string size = SizeOf(in_tmp_ + "/v1/prog");
  const std::string try_both =
      "for enters in \"enter agent prog v1 $1\" \"enter_other agent prog\"; do "
      "if $enters; then ./prog; else echo none in \"$PWD\"; fi; done";
  const auto run = [&](const std::string& before) {
    NodeShell shell = {GetParam().name,
                       {"unshare", "-m", "sh", "-c", before + "exec \"$@\"", "sh"}};
    shell.argv.insert(shell.argv.end(), GetParam().argv.begin(), GetParam().argv.end());
    return RunScript(shell, try_both, {size}).output;
  };
  const std::string kRefused = "none in /\nnone in /\n";
  const std::string fill = " && mkdir -p " + in_tmp_ + "/v1 && printf '#!/bin/sh\necho ours\n' > " +
                           in_tmp_ + "/v1/prog && chmod -R 700 " + in_tmp_ + " && ";
  EXPECT_EQ(run(""), "ours\nours\n");
  EXPECT_EQ(run("mount -t tmpfs none " + in_tmp_ + fill), kRefused);
  EXPECT_EQ(run("mount -t tmpfs none " + in_tmp_ + "/v1" + fill), kRefused);
  EXPECT_EQ(run("mount -t tmpfs none /tmp" + fill), "ours\nours\n");  // all of it
}

TEST_P(OwnFolderTest, WithoutStatTheFolderInTmpIsNotEntered) {
  Put(in_tmp_ + "/v1", "prog", "tmp");
  const std::string size = SizeOf(in_tmp_ + "/v1/prog");
  for (const std::string stat : {"stat() { :; }; ", "stat() { return 127; }; "}) {
    EXPECT_EQ(RunScript(GetParam(), stat + "enter agent prog v1 $1 || pwd", {size}).output, "/\n");
  }
}

// The name leads to root's folder when its owner is checked, and to another user's when its program
// is started, or vice versa.
TEST_P(OwnFolderTest, AFolderThatIsSwappedConstantly) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root";
  Put(in_tmp_ + "/v1", "prog", "theirs");
  const std::string size = SizeOf(in_tmp_ + "/v1/prog");
  ASSERT_EQ(chown(in_tmp_.c_str(), test::kNobody, test::kNobody), 0);
  const std::string link = in_tmp_ + ".link";
  fs::create_symlink("/proc/self", link);
  {
    const std::jthread attacker([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        renameat2(AT_FDCWD, in_tmp_.c_str(), AT_FDCWD, link.c_str(), RENAME_EXCHANGE);
      }
    });
    constexpr int kTries = 50;
    for (int i = 0; i < kTries; ++i) {
      ASSERT_EQ(Enter({"agent", "prog", "v1", size}), "none\n");
      ASSERT_EQ(EnterOther(), "none\n");
    }
  }
  fs::remove_all(link);
}

// No program is run from the refused folder: PATH may contain "" or ".".
TEST_P(OwnFolderTest, ARefusedFolderIsLeft) {
  Put(in_tmp_, "autodist", "theirs");
  fs::permissions(in_tmp_, fs::perms::all);
  const EndedScript ended = RunScript(GetParam(),
                                      "PATH=$PATH:; enter agent prog v1 9; enter_other agent prog; "
                                      "own /tmp; autodist 2> /dev/null || echo none",
                                      {});
  EXPECT_EQ(ended.output, "none\n");
}

TEST_P(OwnFolderTest, WithoutAHomeFolder) {
  Put(in_tmp_ + "/v1", "prog", "tmp");
  const std::string size = SizeOf(in_tmp_ + "/v1/prog");
  const EndedScript ended =
      RunScript(GetParam(), "unset HOME; enter agent prog v1 $1 && ./prog", {size});
  EXPECT_EQ(ended.output, "tmp\n");
}

INSTANTIATE_TEST_SUITE_P(Shells, OwnFolderTest,
                         testing::Values(NodeShell{"dash", {"dash"}}, NodeShell{"bash", {"bash"}},
                                         NodeShell{"bash_posix", {"bash", "--posix"}},
                                         NodeShell{"busybox", {"busybox", "sh"}}),
                         [](const auto& shell) { return shell.param.name; });

}  // namespace
}  // namespace autodist::launch
