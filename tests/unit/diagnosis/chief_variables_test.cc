#include "diagnosis/chief_variables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace autodist::diagnosis {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(ChiefVariablesTest, SessionVariablesAreNotCompared) {
  EXPECT_THAT(NamesToCompare({"HF_TOKEN", "TERM", "SSH_AUTH_SOCK", "PATH", "DATA_DIR", "LC_ALL",
                              "RANK", "CUDA_VISIBLE_DEVICES", "BASH_FUNC_module%%", "_", "a-b"}),
              ElementsAre("DATA_DIR", "HF_TOKEN"));
  EXPECT_LE(NamesToCompare(std::vector<std::string>(10'000, "A")).size(), 512u);
  EXPECT_THAT(NamesToCompare({std::string(1000, 'A')}), IsEmpty());
}

TEST(ChiefVariablesTest, OnlyWholeWordsMatch) {
  const std::vector<std::string> names = {"HF", "HF_TOKEN", "X"};
  EXPECT_THAT(NamesIn("os.environ['HF_TOKEN']", names), ElementsAre("HF_TOKEN"));
  EXPECT_THAT(NamesIn("$X/a MY_HF_TOKEN HF_TOKENS", names), ElementsAre("X"));
}

TEST(ChiefVariablesTest, OnlyRelevantVariables) {
  const std::vector<std::string> names = {"FOO",        "HF_TOKEN",   "HTTPS_PROXY",
                                          "PYTHONPATH", "WANDB_MODE", "WORK"};
  const auto likely = [&](const std::string& reason) {
    return LikelyMissed(reason, reason, names);
  };
  EXPECT_EQ(likely("KeyError: 'FOO'").front(), "FOO");
  EXPECT_EQ(likely("OSError: 401 Client Error: access is restricted").front(), "HF_TOKEN");
  EXPECT_EQ(likely("ConnectTimeout: Max retries exceeded with url").front(), "HTTPS_PROXY");
  EXPECT_EQ(likely("curl: (6) Could not resolve host: example.org").front(), "HTTPS_PROXY");
  EXPECT_EQ(likely("ModuleNotFoundError: No module named 'mine'").front(), "PYTHONPATH");
  EXPECT_THAT(likely("KeyError: 'FOO' 401"), ElementsAre("FOO"));
  EXPECT_THAT(likely("401 Client Error"), ElementsAre("HF_TOKEN", "HTTPS_PROXY"));
}

TEST(ChiefVariablesTest, NoVariableExplainsAnotherFailure) {
  const std::vector<std::string> names = {"AWS_SECRET_KEY",    "CURL_CA_BUNDLE",  "HF_TOKEN",
                                          "HTTPS_PROXY",       "LD_LIBRARY_PATH", "PYTHONPATH",
                                          "REQUESTS_CA_BUNDLE"};
  const char* const reasons[] = {
      "ValueError: shapes differ, train.py:401",
      "EOFError: EOF when reading a line, resolve.py:5",
      "bdb.BdbQuit, login.py:4",
      "IndexError: token id 50257 is out of range",
      "RuntimeError: bucket 3 was not reduced",
      "PermissionError: [Errno 13] Permission denied: '/data/x'",
      "ValueError: cannot log in intervals of 0 steps",
      "TypeError: 'Proxy' object is not iterable",
      "ValueError: lossless images only",
      "TimeoutError: the barrier timed out",
      "old.py: error: the following arguments are required: --local_rank",
      "OSError: [Errno 98] Address already in use, t.py:4",
      "torch.AcceleratorError: CUDA error: invalid device ordinal",
  };
  for (const char* reason : reasons) {
    EXPECT_THAT(LikelyMissed(reason, reason, names), IsEmpty()) << reason;
  }
  // The lines of the program are not the reason.
  EXPECT_THAT(
      LikelyMissed("EOFError: EOF when reading a line, t.py:5",
                   "  File \"t.py\", line 5, in resolve_certificate\n    proxy_login()\n", names),
      IsEmpty());
}

}  // namespace
}  // namespace autodist::diagnosis
