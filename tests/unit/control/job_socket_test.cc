#include "control/job_socket.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "support/busy_listener.h"
#include "support/home_folder.h"
#include "support/session.h"

namespace autodist::control {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;

TEST(JobIdTest, IsAnIdentifier) {
  for (const std::string good : {"20261120-173000-3fa9c1", "a", "A-9"}) {
    EXPECT_TRUE(IsJobId(good)) << good;
  }
  for (const std::string& bad :
       {std::string(), std::string(".."), std::string("a/b"), std::string("a b"),
        std::string("a\0b", 3), std::string("\xC3\xA4"), std::string(65, 'a')}) {
    EXPECT_FALSE(IsJobId(bad)) << bad;
    EXPECT_FALSE(PlaceForSocket(bad).ok());
    EXPECT_FALSE(ConnectTo(bad).ok());
  }
}

TEST(JobSocketTest, IsPrivate) {
  const test::Session session;
  const auto path = PlaceForSocket("job-1");
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_EQ(*path, session.sockets() + "/job-1.sock");
  const auto listener = ListenAt(*path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  struct stat info;
  ASSERT_EQ(stat(path->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat(session.sockets().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_TRUE(ConnectTo("job-1").ok());
  EXPECT_EQ(ConnectTo("job-2").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(JobsWithSocket(), Contains("job-1"));
}

TEST(JobSocketTest, TheSocketOfAKilledAutodistIsReplaced) {
  const test::Session session;
  const std::string path = *PlaceForSocket("job-1");
  (void)*ListenAt(path);  // closed, but its socket file still exists
  EXPECT_FALSE(ConnectTo("job-1").ok());
  const auto listener = ListenAt(path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  EXPECT_EQ(ListenAt(path).status().code(), StatusCode::kAlreadyExists);
  EXPECT_TRUE(ConnectTo("job-1").ok());  // as before
}

// Its chief is stopped or out of descriptors: it is neither gone nor may it be replaced.
TEST(JobSocketTest, ABusyListenerExists) {
  const test::Session session;
  const std::string path = *PlaceForSocket("job-1");
  const test::BusyListener busy(path);
  EXPECT_EQ(ConnectTo("job-1").status().code(), StatusCode::kDeadlineExceeded);
  EXPECT_EQ(ListenAt(path).status().code(), StatusCode::kAlreadyExists);
  std::jthread accepts([&] { busy.Accept(); });
  EXPECT_TRUE(ConnectTo("job-1").ok());
}

TEST(JobSocketTest, SocketsOfKilledAutodistsAreRemoved) {
  const test::Session session;
  const auto running = ListenAt(*PlaceForSocket("job-1"));
  (void)*ListenAt(*PlaceForSocket("job-2"));
  (void)*ListenAt(*PlaceForSocket("job-3"));
  EXPECT_THAT(JobsWithSocket(), AllOf(IsSupersetOf({"job-1", "job-3"}), Not(Contains("job-2"))));
}

std::string InTmp() { return "/tmp/autodist-jobs-" + std::to_string(geteuid()); }

TEST(JobSocketTest, AFolderThatOthersCanEnterIsNotUsed) {
  const test::Session session;
  mkdir(session.sockets().c_str(), 0700);
  const base::UniqueFd file(open((session.sockets() + "/job-1.sock").c_str(), O_CREAT, 0600));
  chmod(session.sockets().c_str(), 0755);
  EXPECT_EQ(*PlaceForSocket("job-1"), InTmp() + "/job-1.sock");
  EXPECT_THAT(JobsWithSocket(), Not(Contains("job-1")));
}

TEST(JobSocketTest, AFolderThatIsALinkIsNotUsed) {
  const test::Session session;
  const std::string elsewhere = session.folder().path() + "/elsewhere";
  mkdir(elsewhere.c_str(), 0700);
  ASSERT_EQ(symlink(elsewhere.c_str(), session.sockets().c_str()), 0);
  EXPECT_EQ(*PlaceForSocket("job-1"), InTmp() + "/job-1.sock");
}

TEST(JobSocketTest, MovesToTheHomeFolderIfTheNameIsTakenInTmp) {
  const test::Session session;
  const test::HomeFolder home;
  unsetenv("XDG_RUNTIME_DIR");
  mkdir(InTmp().c_str(), 0700);
  ASSERT_EQ(chmod(InTmp().c_str(), 0755), 0);
  const auto path = PlaceForSocket("job-1");
  ASSERT_TRUE(path.ok()) << path.status();
  EXPECT_TRUE(path->starts_with(home.path() + "/.cache/autodist/jobs-on-")) << *path;
  {
    const auto listener = ListenAt(*path);
    ASSERT_TRUE(listener.ok()) << listener.status();
    EXPECT_TRUE(ConnectTo("job-1").ok());
    EXPECT_THAT(JobsWithSocket(), Contains("job-1"));
  }
  setenv("HOME", "/proc", 1);
  const Status refused = PlaceForSocket("job-1").status();
  EXPECT_THAT(Message(refused), HasSubstr(InTmp() + " exists but is not a private folder"));
  EXPECT_THAT(Remedy(refused), HasSubstr("remove it"));
  chmod(InTmp().c_str(), 0700);
}

// All sessions use /tmp; the test removes what it leaves there.
TEST(JobSocketTest, WithoutASessionFolderItIsInTmp) {
  const test::Session session;
  const std::string in_tmp = InTmp();
  unsetenv("XDG_RUNTIME_DIR");
  EXPECT_EQ(*PlaceForSocket("job-1"), in_tmp + "/job-1.sock");
  setenv("XDG_RUNTIME_DIR", "not/absolute", 1);
  EXPECT_EQ(*PlaceForSocket("job-1"), in_tmp + "/job-1.sock");
  chmod(session.runtime().c_str(), 0755);  // others could create a folder there
  setenv("XDG_RUNTIME_DIR", session.runtime().c_str(), 1);
  EXPECT_EQ(*PlaceForSocket("job-1"), in_tmp + "/job-1.sock");
  // Longer than the max. address of a unix socket.
  const std::string deep = session.folder().path() + "/" + std::string(100, 'd');
  mkdir(deep.c_str(), 0700);
  setenv("XDG_RUNTIME_DIR", deep.c_str(), 1);
  EXPECT_EQ(*PlaceForSocket("job-1"), in_tmp + "/job-1.sock");
}

TEST(JobSocketTest, AJobIsFoundFromASessionWithoutItsFolder) {
  const test::Session session;
  unsetenv("XDG_RUNTIME_DIR");
  const std::string job = "unit-" + std::to_string(getpid());
  const std::string path = *PlaceForSocket(job);
  const auto listener = ListenAt(path);
  ASSERT_TRUE(listener.ok()) << listener.status();
  setenv("XDG_RUNTIME_DIR", session.runtime().c_str(), 1);
  EXPECT_TRUE(ConnectTo(job).ok());
  EXPECT_THAT(JobsWithSocket(), Contains(job));
  unlink(path.c_str());
}

}  // namespace
}  // namespace autodist::control
