#include "json/plain_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::json {
namespace {

TEST(PlainJsonTest, EnumsAreStringsAndBigNumbersNumbers) {
  v1::JobEvent event;
  event.set_time_ms(1'795'577'538'451);
  event.set_rank(0);
  event.set_job_phase(v1::JOB_PHASE_RUNNING);
  event.set_what("a \"b\"\n\x01\\ é");
  EXPECT_EQ(
      PlainJson(event, {.absent = Absent::kOmitted}),
      R"({"time_ms":1795577538451,"rank":0,"job_phase":"running","what":"a \"b\"\n\u0001\\ é"})");
  EXPECT_EQ(PlainJson(event),
            R"({"time_ms":1795577538451,"attempt":0,"node":"","rank":0,"job_phase":"running",)"
            R"("node_phase":null,"what":"a \"b\"\n\u0001\\ é"})");
}

TEST(PlainJsonTest, ControlSequencesAreEscaped) {
  v1::JobEvent event;
  event.set_what("\x7f\u009b31m\u202e\u200b é 漢");
  EXPECT_EQ(PlainJson(event, {.absent = Absent::kOmitted}),
            R"({"what":"\u007f\u009b31m\u202e\u200b é 漢"})");
}

TEST(PlainJsonTest, EnumsInNestedMessages) {
  v1::Issue issue;
  issue.set_kind(v1::Issue::KIND_STALLED);
  issue.add_ranks(3);
  issue.add_ranks(4);
  issue.add_evidence()->set_what("clock");
  EXPECT_EQ(PlainJson(issue, {.absent = Absent::kOmitted}),
            R"({"kind":"stalled","ranks":[3,4],"evidence":[{"what":"clock"}]})");
}

TEST(PlainJsonTest, UnsetFieldsAreNull) {
  v1::Progress progress;
  progress.set_step(7);
  progress.set_eta(std::numeric_limits<double>::quiet_NaN());
  progress.set_rate(0.1);
  EXPECT_EQ(
      PlainJson(progress),
      R"({"step":7,"total":null,"rate":0.1,"eta":null,"metrics":[],"what":"","source":"","time_ms":0})");
}

TEST(PlainJsonTest, PhasesAreStatesAndFieldsAreReplaced) {
  v1::NodeStatus node;
  node.set_address("gpu1");
  node.set_phase(v1::NODE_PHASE_LOST);
  EXPECT_EQ(PlainJson(node, {.absent = Absent::kOmitted, .more = {{"last", "[1]"}}}),
            R"({"address":"gpu1","state":"lost","last":[1]})");
  EXPECT_EQ(PlainJson(node, {.absent = Absent::kOmitted, .instead = {{"phase", "null"}}}),
            R"({"address":"gpu1","state":null})");
}

TEST(PlainJsonTest, Indented) {
  v1::JobStatus job;
  job.add_command("a");
  job.add_command("b");
  job.add_nodes()->set_address("gpu1");
  EXPECT_EQ(
      PlainJson(job, {.absent = Absent::kOmitted, .indented = true}),
      "{\n \"command\": [\"a\", \"b\"],\n \"nodes\": [\n  {\n   \"address\": \"gpu1\"\n  }\n ]\n}");
  EXPECT_EQ(PlainJson(v1::JobStatus(), {.absent = Absent::kOmitted, .indented = true}), "{}");
}

}  // namespace
}  // namespace autodist::json
