#include "control/silent_chief.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace autodist::control {
namespace {

struct SilenceCase {
  char state;
  bool has_socket;
  std::string what;
  std::string remedy;
};

TEST(SilentChiefTest, NamesTheProcessAndWhatCanBeDone) {
  v1::JobStatus job;
  job.set_job_id("20261120-173000-3fa9c1");
  job.set_host("here");
  job.set_chief_pid(4711);
  const std::string end =
      "to end the job: `kill -9 4711`, then `autodist clean 20261120-173000-3fa9c1`";
  const std::string chief = "its chief (process 4711 on here)";
  const std::string busy =
      "try again: its machine may be overloaded, a disk or file server may hang, or its container "
      "may be paused; ";
  const SilenceCase cases[] = {
      {'T', true, chief + " does not answer: it is stopped (state T)",
       "`kill -CONT 4711` continues it; " + end},
      {'t', true, chief + " does not answer: it is stopped (state t)",
       "`kill -CONT 4711` continues it; " + end},
      {'T', false, chief + " does not answer: it is stopped (state T)",
       "`kill -CONT 4711` continues it; " + end},
      {'D', true, chief + " does not answer", busy + end},
      {'S', true, chief + " does not answer", busy + end},
      {'S', false, chief + " runs, but its socket is missing", "stop it with `kill 4711`"},
      {0, false, "its chief on here does not answer",
       "check whether its process is stopped, or its container paused"},
      {0, true, "its chief on here does not answer",
       "check whether its process is stopped, or its container paused"},
  };
  for (const SilenceCase& one : cases) {
    const Status status = NoAnswer(job, one.state, one.has_socket);
    EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
    EXPECT_EQ(Message(status), one.what);
    EXPECT_EQ(Remedy(status), one.remedy);
  }
  EXPECT_EQ(Message(NoAnswer(v1::JobStatus(), 0, true)), "its chief does not answer");
}

}  // namespace
}  // namespace autodist::control
