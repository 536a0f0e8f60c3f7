#include "json/plain_json.h"

#include <gtest/gtest.h>

#include <limits>

#include "autodist/v1/job.pb.h"
#include "autodist/v1/plan.pb.h"
#include "autodist/v1/snapshot.pb.h"

namespace autodist::json {
namespace {

TEST(PlainJsonTest, EnumsAreStringsAndBigNumbersNumbers) {
  v1::JobEvent event;
  event.set_time_ms(1'795'577'538'451);
  event.set_rank(0);
  event.set_job_phase(v1::JOB_PHASE_RUNNING);
  event.set_what("a \"b\"\n\x01\\ é");
  EXPECT_EQ(PlainJson(event),
            R"({"time_ms":1795577538451,"attempt":0,"node":"","rank":0,"job_phase":"running",)"
            R"("node_phase":null,"what":"a \"b\"\n\u0001\\ é"})");
}

TEST(PlainJsonTest, ControlSequencesAreEscaped) {
  v1::Evidence evidence;
  evidence.set_what("\x7f\u009b31m\u202e\u200b é 漢");
  EXPECT_EQ(PlainJson(evidence), R"({"what":"\u007f\u009b31m\u202e\u200b é 漢","value":"",)"
                                 R"("source":"","against":false})");
}

TEST(PlainJsonTest, EnumsInNestedMessages) {
  v1::Issue issue;
  issue.set_kind(v1::Issue::KIND_STALLED);
  issue.add_ranks(3);
  issue.add_ranks(4);
  issue.add_evidence()->set_what("clock");
  EXPECT_EQ(PlainJson(issue),
            R"({"kind":"stalled","ranks":[3,4],"nodes":[],"since_ms":null,"what":"","cost":"",)"
            R"("evidence":[{"what":"clock","value":"","source":"","against":false}]})");
}

TEST(PlainJsonTest, WhatIsUnknownIsNull) {
  v1::Progress progress;
  progress.set_step(7);
  progress.set_eta(std::numeric_limits<double>::quiet_NaN());
  progress.set_rate(0.1);
  EXPECT_EQ(PlainJson(progress), R"({"step":7,"total":null,"rate":0.1,"eta":null,"metrics":[],)"
                                 R"("what":"","source":"","time_ms":null})");
  EXPECT_EQ(PlainJson(v1::ListedJob()),
            R"({"status":null,"nodes":0,"state":"","mark":"none","progress":null})");
}

TEST(PlainJsonTest, ZeroIsAValue) {
  v1::Progress progress;
  progress.set_step(0);
  progress.set_rate(0);
  v1::Metric& loss = *progress.add_metrics();
  loss.set_name("loss");
  loss.set_value(0);
  EXPECT_EQ(PlainJson(progress),
            R"({"step":0,"total":null,"rate":0,"eta":null,"metrics":[{"name":"loss","value":0}],)"
            R"("what":"","source":"","time_ms":null})");
  v1::Recovery recovery;  // its parts are durations
  EXPECT_EQ(PlainJson(recovery), R"({"attempt":0,"began_ms":null,"notice":0,"stopping":0,)"
                                 R"("preparing":null,"starting":null,"first_step":null})");
}

TEST(PlainJsonTest, UnsetMembersOfAOneofAreLeftOut) {
  v1::EnvironmentStep step;
  EXPECT_EQ(PlainJson(step), "{}");
}

TEST(PlainJsonTest, PhasesAreStatesAndFieldsAreReplaced) {
  v1::NodeStatus node;
  node.set_address("gpu1");
  node.set_phase(v1::NODE_PHASE_LOST);
  const std::string rest =
      R"("ranks":0,"running_ranks":0,"detail":"","first_rank":0,"auxiliary":[])";
  EXPECT_EQ(PlainJson(node, {.more = {{"last", "[1]"}}}),
            R"({"address":"gpu1","state":"lost",)" + rest + R"(,"last":[1]})");
  EXPECT_EQ(PlainJson(node, {.instead = {{"phase", "null"}}}),
            R"({"address":"gpu1","state":null,)" + rest + "}");
}

TEST(PlainJsonTest, Indented) {
  v1::StackGroup group;
  group.add_ranks(1);
  group.add_ranks(2);
  v1::JobStacks stacks;
  *stacks.add_groups() = group;
  EXPECT_EQ(PlainJson(stacks, {.indented = true}),
            "{\n \"groups\": [\n  {\n   \"ranks\": [1, 2],\n   \"doing\": \"\",\n"
            "   \"called_by\": \"\",\n   \"missing\": \"\",\n   \"unknown\": \"\",\n"
            "   \"unlike_most\": false\n  }\n ],\n \"file\": \"\",\n \"file_error\": \"\",\n"
            " \"stacks\": []\n}");
  EXPECT_EQ(PlainJson(v1::TerminalTaken(), {.indented = true}), "{}");
}

}  // namespace
}  // namespace autodist::json
