#include "chief/output/fatal_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/split.h"

namespace autodist::chief {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kNoise[] = "node3:4711:4720 [0] NCCL INFO Channel 00/02 :    0   1   2   3";

class FatalMessagesTest : public testing::Test {
 protected:
  void Take(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      messages_.Take(text.substr(0, end));
      text.remove_prefix(std::min(end, text.size() - 1) + 1);
    }
  }
  void TakeNoise(int lines) {
    for (int i = 0; i < lines; ++i) messages_.Take(kNoise);
  }
  std::string Text() const { return messages_.last() ? messages_.last()->text : ""; }

  FatalMessages messages_{"/work/job"};
};

constexpr char kTypeError[] =
    "Traceback (most recent call last):\n"
    "  File \"/work/job/train.py\", line 60, in <module>\n"
    "    main()\n"
    "  File \"/work/job/train.py\", line 41, in main\n"
    "    loss = loss + None\n"
    "           ~~~~~^~~~~~\n"
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType'\n";
// As printed by rich.traceback.
constexpr char kRich[] =
    "╭───────────────────── Traceback (most recent call last) ─────────────────────╮\n"
    "│ /work/job/train.py:60 in <module>                                            │\n"
    "│                                                                              │\n"
    "│   58                                                                         │\n"
    "│ ❱ 60 main()                                                                  │\n"
    "│                                                                              │\n"
    "│ /work/job/train.py:41 in main                                                │\n"
    "│ ❱ 41     loss = model(batch['labels_v2'])                                    │\n"
    "│ /opt/lib/python3.11/site-packages/torch/nn/modules/module.py:1130 in _call   │\n"
    "╰──────────────────────────────────────────────────────────────────────────────╯\n"
    "KeyError: 'labels_v2'\n";
constexpr char kIPython[] =
    "---------------------------------------------------------------------------\n"
    "KeyError                                  Traceback (most recent call last)\n"
    "File /work/job/train.py:60, in <module>\n"
    "     58 \n"
    "---> 60 main()\n"
    "\n"
    "File /work/job/train.py:41, in main()\n"
    "---> 41 loss = model(batch['labels_v2'])\n"
    "\n"
    "KeyError: 'labels_v2'\n";
// As printed by loguru, which includes values.
constexpr char kLoguru[] =
    "2026-11-25 10:00:00.000 | ERROR    | __main__:<module>:60 - An error has been caught:\n"
    "Traceback (most recent call last):\n"
    "\n"
    "> File \"/work/job/train.py\", line 60, in <module>\n"
    "    main()\n"
    "    └ <function main at 0x7f>\n"
    "\n"
    "  File \"/work/job/train.py\", line 41, in main\n"
    "    loss = model(batch['labels_v2'])\n"
    "           │     └ {}\n"
    "           └ <Model>\n"
    "\n"
    "KeyError: 'labels_v2'\n";

TEST_F(FatalMessagesTest, FramedTracebacksAreRecognised) {
  for (const char* text : {kRich, kIPython, kLoguru}) {
    messages_ = FatalMessages("/work/job");
    Take(text);
    TakeNoise(12);
    EXPECT_EQ(Text(), "KeyError: 'labels_v2', train.py:41");
  }
}

TEST_F(FatalMessagesTest, TheEndOfAWorkerIsTheCauseInAChain) {
  Take(
      "Traceback (most recent call last):\n"
      "  File \"/work/job/train.py\", line 4, in <module>\n"
      "RuntimeError: DataLoader worker (pid 170) is killed by signal: Killed. \n"
      "\n"
      "The above exception was the direct cause of the following exception:\n"
      "\n"
      "Traceback (most recent call last):\n"
      "  File \"/work/job/train.py\", line 5, in <module>\n"
      "RuntimeError: DataLoader worker (pid(s) 170) exited unexpectedly\n");
  EXPECT_THAT(Text(), HasSubstr("is killed by signal: Killed"));
  EXPECT_EQ(messages_.last()->lines.size(), 9u);
}

TEST_F(FatalMessagesTest, TheCrashOfAWorkerOutranksItsLostConnection) {
  Take(
      "ERROR: Unexpected segmentation fault encountered in worker.\n"
      "Traceback (most recent call last):\n"
      "  File \"/work/job/train.py\", line 9, in fetch\n"
      "ConnectionResetError: [Errno 104] Connection reset by peer\n");
  EXPECT_EQ(Text(), "ERROR: Unexpected segmentation fault encountered in worker.");
  Take(kTypeError);
  EXPECT_EQ(Text(),
            "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType', train.py:41");
}

constexpr char kOfTypeError[] =
    "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType', train.py:41";

TEST_F(FatalMessagesTest, AnExceptionHasItsPositionInTheUsersCode) {
  Take(kTypeError);
  EXPECT_EQ(Text(), kOfTypeError);
  EXPECT_EQ(messages_.last()->lines.size(), 7u);
  EXPECT_EQ(messages_.last()->lines.front(), "Traceback (most recent call last):");
}

TEST_F(FatalMessagesTest, NoiseAroundAndWithinATracebackDoesNotHideIt) {
  TakeNoise(300);
  for (std::string_view rest = kTypeError; !rest.empty();) {
    const size_t end = rest.find('\n') + 1;
    Take(rest.substr(0, end));
    rest.remove_prefix(end);
    TakeNoise(5);
  }
  TakeNoise(300);
  EXPECT_EQ(Text(), kOfTypeError);
  EXPECT_EQ(messages_.last()->lines.size(), 7u);
}

TEST_F(FatalMessagesTest, ASurvivedExceptionIsForgotten) {
  Take(kTypeError);
  TakeNoise(10'000);
  EXPECT_EQ(Text(), "");
}

TEST_F(FatalMessagesTest, FramesOfPackagesAreNotTheUsers) {
  Take(
      "Traceback (most recent call last):\n"
      "  File \"/work/job/src/model.py\", line 12, in forward\n"
      "  File \"/work/job/.venv/lib/python3.11/site-packages/torch/nn/linear.py\", line 114, in f\n"
      "RuntimeError: mat1 and mat2 shapes cannot be multiplied\n");
  EXPECT_EQ(Text(), "RuntimeError: mat1 and mat2 shapes cannot be multiplied, src/model.py:12");
}

TEST_F(FatalMessagesTest, WithoutUserFramesTheLastFrameCounts) {
  Take(
      "Traceback (most recent call last):\n"
      "  File \"/usr/lib/python3.11/runpy.py\", line 198, in _run\n"
      "  File \"/usr/lib/python3.11/json/decoder.py\", line 355, in raw_decode\n"
      "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n");
  EXPECT_EQ(Text(),
            "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0), "
            "/usr/lib/python3.11/json/decoder.py:355");
}

TEST_F(FatalMessagesTest, TheLastOfAChainCountsAndAllAreShown) {
  Take(
      "Traceback (most recent call last):\n"
      "  File \"/work/job/a.py\", line 2, in <module>\n"
      "KeyError: 'lr'\n"
      "\n"
      "During handling of the above exception, another exception occurred:\n"
      "\n"
      "Traceback (most recent call last):\n"
      "  File \"/work/job/a.py\", line 4, in <module>\n"
      "ValueError: no learning rate\n");
  EXPECT_EQ(Text(), "ValueError: no learning rate, a.py:4");
  EXPECT_THAT(messages_.last()->lines,
              ElementsAre("Traceback (most recent call last):", HasSubstr("line 2"),
                          "KeyError: 'lr'", "", StartsWith("During handling"), "",
                          "Traceback (most recent call last):", HasSubstr("line 4"),
                          "ValueError: no learning rate"));
}

TEST_F(FatalMessagesTest, TheFirstExceptionOfAGroupCounts) {
  Take(
      "  + Exception Group Traceback (most recent call last):\n"
      "  |   File \"/work/job/a.py\", line 9, in <module>\n"
      "  |     raise ExceptionGroup('two things', found)\n"
      "  | ExceptionGroup: two things (2 sub-exceptions)\n"
      "  +-+---------------- 1 ----------------\n"
      "    | Traceback (most recent call last):\n"
      "    |   File \"/work/job/a.py\", line 3, in <module>\n"
      "    |     raise ValueError('one')\n"
      "    | ValueError: one\n"
      "    +---------------- 2 ----------------\n"
      "    | Traceback (most recent call last):\n"
      "    |   File \"/work/job/a.py\", line 6, in <module>\n"
      "    | TypeError: two\n"
      "    +------------------------------------\n");
  EXPECT_EQ(Text(),
            "ValueError: one, a.py:3 (the first of ExceptionGroup: two things (2 sub-exceptions))");
  EXPECT_EQ(messages_.last()->lines.size(), 14u);
}

TEST_F(FatalMessagesTest, ASyntaxErrorHasNoHeader) {
  Take(
      "  File \"/work/job/train.py\", line 3\n"
      "    print('x'\n"
      "         ^\n"
      "SyntaxError: '(' was never closed\n");
  EXPECT_EQ(Text(), "SyntaxError: '(' was never closed, train.py:3");
}

TEST_F(FatalMessagesTest, TracebacksMayHaveAPrefixOrABarBeforeThem) {
  Take(
      "[rank1]: Traceback (most recent call last):\n"
      "[rank1]:   File \"/work/job/a.py\", line 5, in <module>\n"
      "[rank1]:     x = 1 / 0\n"
      "[rank1]: ZeroDivisionError: division by zero\n"
      "[rank2]: Traceback (most recent call last):\n"
      "[rank2]:   File \"/work/job/a.py\", line 7, in <module>\n"
      "[rank2]: RuntimeError: the other has gone\n");
  EXPECT_EQ(Text(), "ZeroDivisionError: division by zero, a.py:5");
  Take(
      " 10%|#         | 1/10 [00:00<00:01]Traceback (most recent call last):\n"
      "  File \"/work/job/a.py\", line 8, in <module>\n"
      "AssertionError\n");
  EXPECT_EQ(Text(), "AssertionError, a.py:8");
}

TEST_F(FatalMessagesTest, TheLastErrorOfNcclIsReported) {
  Take(
      "Traceback (most recent call last):\n"
      "  File \"/work/job/a.py\", line 5, in <module>\n"
      "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333, unhandled "
      "system error, NCCL version 2.18.1\n"
      "ncclSystemError: System call (e.g. socket, malloc) or external library call failed.\n");
  TakeNoise(3);
  Take("Last error:\nsocketStartConnect: Connect to 10.0.0.2<35871> failed\n");
  EXPECT_EQ(Text(),
            "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1333, "
            "unhandled system error, NCCL version 2.18.1; socketStartConnect: Connect to "
            "10.0.0.2<35871> failed, a.py:5");
}

TEST_F(FatalMessagesTest, AThreadsOrIgnoredExceptionIsOnlyAHint) {
  Take(kTypeError);
  Take(
      "Exception ignored in: <function Loader.__del__ at 0x7f>\n"
      "Traceback (most recent call last):\n"
      "  File \"/work/job/a.py\", line 8, in __del__\n"
      "AttributeError: gone\n"
      "Exception in thread Thread-1:\n"
      "Traceback (most recent call last):\n"
      "  File \"/work/job/a.py\", line 9, in run\n"
      "ValueError: in a thread\n");
  EXPECT_EQ(Text(), kOfTypeError);
}

// As CuPy writes it when a kernel fails.
TEST_F(FatalMessagesTest, AnExceptionThatCythonIgnoresIsOnlyAHint) {
  constexpr char kOfKernel[] =
      "Traceback (most recent call last):\n"
      "  File \"/work/other/xid.py\", line 14, in <module>\n"
      "    cupy.cuda.Device().synchronize()\n"
      "  File \"cupy/cuda/device.pyx\", line 199, in cupy.cuda.device.Device.synchronize\n"
      "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: an illegal memory "
      "access was encountered\n";
  constexpr char kOfModule[] =
      "Traceback (most recent call last):\n"
      "  File \"cupy_backends/cuda/api/driver.pyx\", line 73, in "
      "cupy_backends.cuda.api.driver.check_status\n"
      "cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_ILLEGAL_ADDRESS: an illegal "
      "memory "
      "access was encountered\n";
  Take(std::string(kOfKernel) + kOfModule +
       "Exception ignored in: 'cupy.cuda.function.Module.__dealloc__'\n" + kOfModule);
  EXPECT_EQ(Text(),
            "cupy_backends.cuda.api.runtime.CUDARuntimeError: cudaErrorIllegalAddress: an illegal "
            "memory access was encountered, /work/other/xid.py:14");
}

TEST_F(FatalMessagesTest, AnAbortDuringTheExitAfterAnExceptionIsItsConsequence) {
  Take(kTypeError);
  TakeNoise(10);
  Take(
      "terminate called after throwing an instance of 'c10::Error'\n"
      "  what():  CUDA driver has gone\n");
  EXPECT_EQ(Text(), kOfTypeError);
}

TEST_F(FatalMessagesTest, AChildsExceptionOutranksThatOfItsLauncher) {
  Take(kTypeError);
  Take(
      "Traceback (most recent call last):\n"
      "  File \"/usr/lib/python3/dist-packages/torch/run.py\", line 8, in main\n"
      "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
      "==================================\n"
      "train.py FAILED\n");
  EXPECT_EQ(Text(), kOfTypeError);
}

TEST_F(FatalMessagesTest, TheCurrentThreadOfAFatalPythonErrorCounts) {
  Take(
      "Fatal Python error: Segmentation fault\n"
      "\n"
      "Thread 0x00007f (most recent call first):\n"
      "  File \"/work/job/other.py\", line 3 in wait\n"
      "\n"
      "Current thread 0x00008f (most recent call first):\n"
      "  File \"/usr/lib/python3.11/ctypes/__init__.py\", line 517 in string_at\n"
      "  File \"/work/job/a.py\", line 3 in crash\n"
      "  File \"/work/job/a.py\", line 7 in <module>\n");
  EXPECT_EQ(Text(), "Fatal Python error: Segmentation fault, a.py:3");
}

TEST_F(FatalMessagesTest, ATerminateHasItsMessage) {
  Take("terminate called after throwing an instance of 'std::runtime_error'\n");
  EXPECT_EQ(Text(), "std::runtime_error");
  TakeNoise(20);
  Take("  what():  no such layer\n");
  TakeNoise(20);
  EXPECT_EQ(Text(), "std::runtime_error: no such layer");
}

TEST_F(FatalMessagesTest, RecognisesOneLineMessagesOfLibraries) {
  for (const auto& [line, text] : std::initializer_list<std::pair<const char*, const char*>>{
           {"train: a.cc:3: int main(): Assertion `x == 1' failed.",
            "train: a.cc:3: int main(): Assertion `x == 1' failed."},
           {"double free or corruption (!prev)", "double free or corruption (!prev)"},
           {"*** stack smashing detected ***: terminated",
            "*** stack smashing detected ***: terminated"},
           {"CUDA error: out of memory at kernel.cu:33",
            "CUDA error: out of memory at kernel.cu:33"},
           {"node1: Test CUDA failure common.cu:303 'out of memory'",
            "node1: Test CUDA failure common.cu:303 'out of memory'"},
           {"node1:71:90 [0] misc/socket.cc:50 NCCL WARN Connect to 10.0.0.1 failed",
            "NCCL WARN Connect to 10.0.0.1 failed"},
           {"E1123 status: RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes.",
            "RESOURCE_EXHAUSTED: Out of memory allocating 4 bytes."},
           {"F1123 05:15:06.123456 4711 file.cc:33] Check failed: a == b ", "Check failed: a == b"},
           {"==4711==ERROR: AddressSanitizer: heap-use-after-free on address 0x1",
            "AddressSanitizer: heap-use-after-free on address 0x1"},
           {"Abort(1) on node 0 (rank 0 in comm 0): application called MPI_Abort",
            "Abort(1) on node 0 (rank 0 in comm 0): application called MPI_Abort"},
           {"MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
            "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD"},
           {"/usr/bin/python3.11: No module named nosuch", "No module named nosuch"},
           {"/usr/bin/python3: can't open file '/w/x.py': [Errno 2] No such file or directory",
            "can't open file '/w/x.py': [Errno 2] No such file or directory"},
           {"panic: runtime error: index out of range",
            "panic: runtime error: index out of range"}}) {
    messages_ = FatalMessages("/work/job");
    TakeNoise(200);
    Take(line);
    TakeNoise(200);
    EXPECT_EQ(Text(), text);
  }
}

TEST_F(FatalMessagesTest, AnArgumentErrorFollowsTheUsage) {
  constexpr char kError[] = "train.py: error: argument --lr: invalid float value: 'x'\n";
  Take(kError);  // like a compiler error about a file
  EXPECT_EQ(Text(), "");
  Take("usage: train.py [-h] [--lr LR]\n                [--epochs EPOCHS]\n");
  Take(kError);
  EXPECT_EQ(Text(), "train.py: error: argument --lr: invalid float value: 'x'");
}

TEST_F(FatalMessagesTest, RustPanicsHaveTwoLines) {
  Take("thread 'main' panicked at src/main.rs:2:5:\nno such layer\nnote: run with more\n");
  EXPECT_EQ(Text(), "thread 'main' panicked at src/main.rs:2:5: no such layer");
}

TEST_F(FatalMessagesTest, OrdinaryOutputIsIgnored) {
  Take(
      "Epoch: 3\nloss: 0.1\nINFO: Traceback is on\nC\nCUDA is available\nterminating\n\n:\n"
      "  File \"x\", line\nError: 3 %\nCUDA_VISIBLE_DEVICES=0\nCCL\n"
      "/usr/bin/python3: Python 3.11.7\n");
  TakeNoise(3);
  EXPECT_EQ(Text(), "");
}

TEST_F(FatalMessagesTest, StoredTextIsLimited) {
  const std::string frame = "  File \"/work/job/a.py\", line 2, in f" + std::string(5000, 'x');
  Take("Traceback (most recent call last):\n");
  for (int i = 0; i < 1000; ++i) messages_.Take(frame);
  messages_.Take("RecursionError: " + std::string(1 << 20, 'x'));
  for (int i = 0; i < 100; ++i) messages_.Take(std::string(5000, 'y'));
  EXPECT_LT(Text().size(), 300u);
  EXPECT_LE(messages_.last()->lines.size(), 40u);
  for (const std::string& line : messages_.last()->lines) EXPECT_LE(line.size(), 400u);
  Take("terminate called after throwing an instance of '");
  Take("thread '' panicked at :");
  Take("==ERROR: ");
}

TEST_F(FatalMessagesTest, ShellsReportKilledPrograms) {
  struct Row {
    const char* line;
    const char* text;
  };
  const Row rows[] = {
      // bash 5.2
      {"train.sh: line 3:  4711 Killed                  python3 train.py",
       "train.sh: line 3: 4711 Killed python3 train.py"},
      {"/w/a b.sh: line 13: 4711 Segmentation fault      (core dumped) ./train --x",
       "/w/a b.sh: line 13: 4711 Segmentation fault (core dumped) ./train --x"},
      {"bash: line 1: 15480 Floating point exceptionpython3 -c 'x'",
       "bash: line 1: 15480 Floating point exceptionpython3 -c 'x'"},
      {"      4712 Bus error               | ./train", "4712 Bus error | ./train"},
      {"Terminated", "Terminated"},
      // dash 0.5
      {"Killed", "Killed"},
      {"Aborted (core dumped)", "Aborted (core dumped)"},
      {"Trace/breakpoint trap", "Trace/breakpoint trap"},
  };
  for (const Row& row : rows) {
    messages_ = FatalMessages("/work/job");
    messages_.Take(row.line);
    EXPECT_EQ(Text(), row.text);
    ASSERT_TRUE(messages_.last());
    EXPECT_EQ(messages_.last()->kind, FatalMessage::Kind::kShell);
  }
}

TEST_F(FatalMessagesTest, OrdinaryTextIsNotOfAShell) {
  for (const char* line :
       {"Killed 3 workers", "Aborted!", "Terminated by the user", "  4712 Done       | tee",
        "train.sh: line 3: python: command not found", "config: line 3: 4711 is no port",
        "a: line x: 4711 Killed", "step 3: line 4711 Killed", "worker 4711 Killed", " Killed",
        "  2024 Killed in action: 7"}) {
    messages_.Take(line);
    EXPECT_EQ(Text(), "") << line;
  }
}

TEST_F(FatalMessagesTest, AnExceptionOutranksTheShellsMessageAboutIt) {
  Take(
      "terminate called after throwing an instance of 'std::runtime_error'\n"
      "  what():  no such layer\n"
      "train.sh: line 3:  4711 Aborted                 ./train\n");
  EXPECT_EQ(Text(), "std::runtime_error: no such layer");
}

TEST_F(FatalMessagesTest, AnExceptionThatEndsNoProgramIsNotFatal) {
  for (const char* before :
       {"--- Logging error ---\n", "Exception in thread Thread-1 (run):\n",
        "Exception in callback Loop.step()\n", "Exception ignored in: <function F at 0x7f>\n"}) {
    messages_ = FatalMessages("/work/job");
    Take(before);
    Take(kTypeError);
    ASSERT_TRUE(messages_.last()) << before;
    EXPECT_LT(messages_.last()->weight, FatalMessage::Weight::kFatal) << before;
  }
}

}  // namespace
}  // namespace autodist::chief
