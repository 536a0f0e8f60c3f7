#include "reach/name_service.h"

#include <gtest/gtest.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "support/temp_folder.h"

namespace autodist::reach {
namespace {

base::Deadline Soon() { return base::Deadline::After(std::chrono::seconds(20)); }

// Installs a getent in PATH that knows names missing in files and DNS.
class NameServiceTest : public testing::Test {
 protected:
  NameServiceTest() {
    const std::string program = folder_.path() + "/getent";
    std::ofstream(program) << "#!/bin/sh\n"
                              "[ \"$1 $2\" = 'ahosts gpu7.local' ] || exit 2\n"
                              "echo '192.0.2.7 STREAM gpu7.local'\n"
                              "echo '192.0.2.7 DGRAM  '\n"
                              "echo '2001:db8::7 STREAM '\n"
                              "echo 'nonsense'\n";
    chmod(program.c_str(), 0700);
    setenv("PATH", (folder_.path() + ":" + path_).c_str(), 1);
  }
  ~NameServiceTest() override { setenv("PATH", path_.c_str(), 1); }

  const test::TempFolder folder_;
  const std::string path_ = getenv("PATH");
};

TEST_F(NameServiceTest, GetentReturnsEachAddressOnce) {
  const auto addresses = AskGetentForHost("gpu7.local", Soon());
  ASSERT_EQ(addresses.size(), 2U);
  EXPECT_EQ(addresses[0].ToString(), "192.0.2.7");
  EXPECT_EQ(addresses[1].ToString(), "2001:db8::7");
}

TEST_F(NameServiceTest, AnOptionIsNotAHost) {
  EXPECT_TRUE(AskGetentForHost("--service=files", Soon()).empty());
  EXPECT_TRUE(AskGetentForHost("gpu8.local", Soon()).empty());
}

TEST_F(NameServiceTest, WithoutGetentThereIsNoResult) {
  setenv("PATH", "/nonexistent", 1);
  EXPECT_TRUE(AskGetentForHost("gpu7.local", Soon()).empty());
}

TEST(SystemUserTest, OpensshIgnoresHome) {
  const passwd* entry = getpwuid(geteuid());
  EXPECT_EQ(ThisSystemUser().name, entry->pw_name);
  const std::string home = getenv("HOME");
  setenv("HOME", "/some/where", 1);
  EXPECT_EQ(SshHomeFolder(), entry->pw_dir);
  setenv("HOME", home.c_str(), 1);
}

}  // namespace
}  // namespace autodist::reach
