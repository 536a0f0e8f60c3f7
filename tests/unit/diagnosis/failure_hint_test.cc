#include "diagnosis/failure_hint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/for_user.h"

namespace autodist::diagnosis {
namespace {

using testing::AnyOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

FailedRank Failed(const std::string& reason, std::vector<std::string> lines = {}) {
  return {.rank = 1, .node = "host2", .reason = reason, .lines = std::move(lines)};
}

// As Python, PyTorch, the loader and libraries print them.
TEST(FailureHintTest, EachKnownFailureHasTheHintOfItsCause) {
  struct Row {
    const char* reason;
    const char* fact;
    const char* remedy;  // its beginning
  };
  const Row rows[] = {
      {"bdb.BdbQuit, t.py:4", "the stdin of rank 1 is empty", "run with --stdin-rank 1"},
      {"EOFError: EOF when reading a line, t.py:5", "the stdin of rank 1 is empty",
       "run with --stdin-rank 1"},
      {"old.py: error: the following arguments are required: --local_rank", "",
       "add --local_rank={local_rank} to"},
      {"old.py: error: the following arguments are required: --data, --local-rank", "",
       "add --local-rank={local_rank} to"},
      {"new.py: error: unrecognized arguments: --local-rank=1", "", "remove it from"},
      {"new.py: error: unrecognized arguments: --local_rank=1 --x", "", "remove it from"},
      {"Error: No such option: --local-rank", "", "remove it from"},
      {"Error: no such option: --local_rank", "", "remove it from"},
      {"RuntimeError: CUDA error: invalid device ordinal", "", "use LOCAL_RANK as"},
      {"AssertionError: invalid device ordinal, silent.py:4", "", "use LOCAL_RANK as"},
      {"./train: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by "
       "./train)",
       "the C library of host2 is too old for it", "install a build for the system of host2"},
      {"ImportError: /lib/libstdc++.so.6: version `GLIBCXX_3.4.30' not found (required by /x.so)",
       "the libstdc++ that is found on host2 is too old for it", "put the folder of a newer"},
      {"./train: error while loading shared libraries: libfoo.so.1: cannot open shared object "
       "file: "
       "No such file or directory",
       "", "install the library on host2"},
      {"ImportError: libcudart.so.12: cannot open shared object file: No such file or directory",
       "", "install the library on host2"},
      {"filelock._error.Timeout: The file lock '/c/x.lock' could not be acquired.",
       "another process builds there", "if no process builds there, remove the lock file"},
      {"OSError: [Errno 24] Too many open files: 'a', t.py:3", "", "raise the limit: run"},
      {"RuntimeError: received 0 items of ancdata", "", "raise the limit: run"},
      {"bash: fork: Resource temporarily unavailable", "", "raise the limit of processes on host2"},
      {"libgomp: Thread creation failed: Resource temporarily unavailable", "",
       "raise the limit of processes on host2"},
      {"RuntimeError: [enforce fail at gloo] Unable to find address for: eth9", "",
       "name an interface of host2 with --env GLOO_SOCKET_IFNAME"},
      {"RuntimeError: Unable to resolve hostname to a (local) address", "",
       "name an interface of host2 with --env GLOO_SOCKET_IFNAME"},
      {"rank 1 (host2) sleeps in wait (file_baton.py:49)", "another process builds there",
       "if no process builds there, remove the lock file"},
  };
  for (const Row& row : rows) {
    const auto hint = HintOf(Failed(row.reason));
    ASSERT_TRUE(hint) << row.reason;
    EXPECT_THAT(hint->fact, StartsWith(row.fact)) << row.reason;
    EXPECT_THAT(hint->remedy, StartsWith(row.remedy)) << row.reason;
  }
}

TEST(FailureHintTest, WithoutASpecNoHintNamesItsKeys) {
  using base::NodeSource;
  for (const NodeSource source :
       {NodeSource::kHosts, NodeSource::kAllocation, NodeSource::kHere, NodeSource::kSpec}) {
    for (const std::string& remedy : KnownRemedies()) {
      const std::string hint = base::ForUserOf(source, remedy);
      EXPECT_THAT(hint, Not(AnyOf(IsEmpty(), HasSubstr("[spec"), HasSubstr("|"))));
      if (source == NodeSource::kSpec) continue;
      EXPECT_THAT(hint, Not(AnyOf(HasSubstr("the spec"), HasSubstr("python_venv"),
                                  HasSubstr("shared_envs"))));
    }
  }
  const auto remedy = [](NodeSource source) {
    base::SetNodeSource(source);
    const auto hint = HintOf(Failed("AssertionError: Torch not compiled with CUDA enabled"));
    base::SetNodeSource(NodeSource::kSpec);
    return hint ? hint->remedy : "";
  };
  EXPECT_THAT(remedy(NodeSource::kSpec), EndsWith("find it, or correct python_venv"));
  EXPECT_THAT(remedy(NodeSource::kHosts), EndsWith("ranks of host2 find it"));
}

TEST(FailureHintTest, OtherFailuresHaveNone) {
  const char* const reasons[] = {
      "",
      "KeyError: 'label', train.py:5",
      "EOFError: Ran out of input, data.py:7",  // of a pickle
      "EOFError, t.py:3",
      "old.py: error: the following arguments are required: --data",
      "new.py: error: unrecognized arguments: --foo",
      "RuntimeError: CUDA error: out of memory",
      "OSError: [Errno 98] Address already in use, t.py:4",
      "BlockingIOError: [Errno 11] Resource temporarily unavailable, lock.py:4",  // of a file's
                                                                                  // lock
      "OSError: [Errno 28] No space left on device, t.py:7",
      "KeyError: 'environment variable RANK', t.py:4",
      "FileNotFoundError: [Errno 2] No such file or directory: 'a.so', t.py:4",
      // Warnings, which may be the last line on stderr.
      "dso_loader.cc:64] Could not load dynamic library 'libcudart.so.11.0'; dlerror: "
      "libcudart.so.11.0: cannot open shared object file: No such file or directory",
      "ERROR: ld.so: object 'x.so' from LD_PRELOAD cannot be preloaded (cannot open shared object "
      "file): ignored.",
  };
  for (const char* reason : reasons) EXPECT_FALSE(HintOf(Failed(reason))) << reason;
}

TEST(FailureHintTest, TheLineThatFailedShowsWhatWasUnavailable) {
  const std::string reason = "BlockingIOError: [Errno 11] Resource temporarily unavailable, t.py:4";
  for (const char* line : {"    pid = os.fork()", "    self.pid = _fork_exec("}) {
    const auto hint = HintOf(Failed(reason, {line}));
    ASSERT_TRUE(hint) << line;
    EXPECT_THAT(hint->remedy, StartsWith("raise the limit of processes on host2"));
  }
  EXPECT_FALSE(HintOf(Failed(reason, {"    fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)"})));
}

TEST(FailureHintTest, AFullFileSystemIsNamed) {
  FailedRank failed = Failed("OSError: [Errno 28] No space left on device, t.py:7");
  const auto add = [&](const char* folder, uint64_t free) {
    v1::FullFileSystem& full = *failed.facts.add_full_file_systems();
    full.set_folder(folder);
    full.set_free(free);
  };
  add("/data", 0);
  ASSERT_TRUE(HintOf(failed));
  EXPECT_EQ(HintOf(failed)->fact, "/data of host2 is full");
  EXPECT_THAT(HintOf(failed)->remedy, StartsWith("make room there"));
  add("/tmp", 12'000'000);
  EXPECT_EQ(HintOf(failed)->fact, "/data of host2 is full, /tmp of host2 has 12 MB free");
  failed.reason = "KeyError: 'x', t.py:7";
  EXPECT_FALSE(HintOf(failed));
}

TEST(FailureHintTest, ARankWithAnInputDoesNotNeedOne) {
  FailedRank failed = Failed("bdb.BdbQuit, t.py:4");
  failed.has_input = true;
  EXPECT_FALSE(HintOf(failed));
}

TEST(FailureHintTest, APortIsNamedIfTheNodeAndTheProgramHaveIt) {
  FailedRank failed = Failed(
      "OSError: [Errno 98] Address already in use, t.py:4000",
      {"Traceback (most recent call last):", "  File \"/w/t.py\", line 4000, in <module>",
       "    s.bind((\"\", 23456)); s.listen(22)", "OSError: [Errno 98] Address already in use"});
  for (const uint32_t port : {22u, 98u, 4000u}) failed.facts.add_listening_ports(port);
  EXPECT_FALSE(HintOf(failed));
  failed.facts.add_closing_ports(23456);
  ASSERT_TRUE(HintOf(failed));
  EXPECT_EQ(HintOf(failed)->fact,
            "port 23456 on host2 is still closing after an earlier connection (TIME_WAIT, 60 s)");
  EXPECT_THAT(HintOf(failed)->remedy, HasSubstr("SO_REUSEADDR"));
  failed.facts.add_listening_ports(23456);
  EXPECT_EQ(HintOf(failed)->fact, "another process listens at port 23456 on host2");
  EXPECT_EQ(HintOf(failed)->remedy, "use MASTER_PORT or another free port");
  failed.master_port = 23456;
  EXPECT_EQ(HintOf(failed)->remedy, "give another --master-port, or leave it out");
  v1::ListeningRank& other = *failed.facts.add_listening_ranks();
  other.set_port(23456);
  other.set_rank(3);
  other.set_pid(77);
  EXPECT_EQ(HintOf(failed)->fact, "rank 3 of this job listens at port 23456 on host2 (pid 77)");
  EXPECT_THAT(HintOf(failed)->remedy, StartsWith("let only rank 0 listen at MASTER_PORT; "));
  EXPECT_THAT(HintOf(failed)->remedy, HasSubstr("--per node"));
  failed.master_port = 29500;
  EXPECT_THAT(HintOf(failed)->remedy, StartsWith("use another port in each process; "));
}

TEST(FailureHintTest, SharedMemoryIsNamedIfItIsFullOrSmall) {
  constexpr char kWorker[] =
      "RuntimeError: DataLoader worker (pid 109) is killed by signal: Bus error. It is possible "
      "that "
      "dataloader's workers are out of shared memory.";
  FailedRank failed = Failed(kWorker);
  failed.facts.set_shared_memory_size(uint64_t{64} << 20);
  ASSERT_TRUE(HintOf(failed));
  EXPECT_EQ(HintOf(failed)->fact, "/dev/shm of host2 has 64.0 MiB");
  failed.reason =
      "DistBackendError: NCCL error; Error while creating shared memory segment "
      "/dev/shm/nccl-DnKmr1 (size 9637888), t.py:7";
  EXPECT_TRUE(HintOf(failed));
  failed.reason = "OSError: [Errno 28] No space left on device, t.py:7";
  EXPECT_FALSE(HintOf(failed)) << "it may be of a disk";
  v1::FullFileSystem& full = *failed.facts.add_full_file_systems();
  full.set_folder("/dev/shm");
  ASSERT_TRUE(HintOf(failed));
  EXPECT_EQ(HintOf(failed)->fact, "/dev/shm of host2 has 64.0 MiB, and is full");
  full.set_free(2 << 20);
  EXPECT_EQ(HintOf(failed)->fact, "/dev/shm of host2 has 64.0 MiB, of which 2.0 MiB is free");
  failed.facts.clear_full_file_systems();
  failed.reason = kWorker;
  failed.facts.set_shared_memory_size(uint64_t{64} << 30);
  EXPECT_FALSE(HintOf(failed));
  failed = Failed("");
  failed.bus_error = true;
  failed.facts.set_shared_memory_size(2 << 20);
  EXPECT_FALSE(HintOf(failed));
  failed.facts.add_full_file_systems()->set_folder("/dev/shm");
  ASSERT_TRUE(HintOf(failed));
  EXPECT_THAT(HintOf(failed)->remedy, StartsWith("enlarge /dev/shm"));
  EXPECT_EQ(FullSharedMemoryText({}), "");
  EXPECT_EQ(FullSharedMemoryText(failed.facts), "/dev/shm on the node is full (2.0 MiB)");
  failed.facts.mutable_full_file_systems(0)->set_free(64 << 10);
  EXPECT_EQ(FullSharedMemoryText(failed.facts), "/dev/shm on the node has 64 KiB of 2.0 MiB free");
}

// An ENOSPC may be of a file server, and a SIGBUS of a mapped file that was truncated.
TEST(FailureHintTest, SharedMemoryWithRoomIsNotBlamedWithoutAMessage) {
  struct Row {
    const char* what;
    uint64_t size;  // MiB, as the next
    uint64_t free;
    bool blamed;
  };
  constexpr Row kRows[] = {
      {"full", 64, 0, true},         {"nearly full", 64, 3, true},
      {"half empty", 64, 30, false}, {"some room", 512, 200, false},
      {"large", 64'000, 15, true},   {"large, with room", 64'000, 100, false},
  };
  for (const Row& row : kRows) {
    for (const bool bus_error : {false, true}) {
      FailedRank failed =
          Failed(bus_error ? "" : "OSError: [Errno 28] No space left on device, t.py:7");
      failed.bus_error = bus_error;
      failed.facts.set_shared_memory_size(row.size << 20);
      v1::FullFileSystem& memory = *failed.facts.add_full_file_systems();
      memory.set_folder("/dev/shm");
      memory.set_free(row.free << 20);
      EXPECT_EQ(HintOf(failed).has_value(), row.blamed) << row.what;
      EXPECT_EQ(!FullSharedMemoryText(failed.facts).empty(), row.blamed) << row.what;
    }
  }
}

TEST(FailureHintTest, AMessageThatNamesSharedMemoryNeedsMoreRoom) {
  FailedRank failed = Failed(
      "RuntimeError: unable to write to file </torch_109_2>: No space left on device (28), t.py:7");
  failed.facts.set_shared_memory_size(uint64_t{1} << 30);
  v1::FullFileSystem& memory = *failed.facts.add_full_file_systems();
  memory.set_folder("/dev/shm");
  memory.set_free(200 << 20);
  ASSERT_TRUE(HintOf(failed));
  EXPECT_EQ(HintOf(failed)->fact, "/dev/shm of host2 has 1.0 GiB, of which 200.0 MiB is free");
  failed.facts.add_full_file_systems()->set_folder("/data");
  failed.reason = "OSError: [Errno 28] No space left on device, t.py:7";
  EXPECT_EQ(HintOf(failed)->fact, "/data of host2 is full");
}

}  // namespace
}  // namespace autodist::diagnosis
