#include "launch/agent_rules.h"

#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cmath>
#include <functional>
#include <string>

#include "agent_sim/events.h"
#include "rpc/limits.h"
#include "rpc/message_rules.h"

namespace autodist::launch {
namespace {

using test::Resumed;
using testing::HasSubstr;

v1::AgentEvent Exit(int code) { return test::RankExited(0, code); }

v1::AgentEvent Output(const std::string& data, uint32_t rank = 0) {
  return test::RankWrote(rank, 0, data);
}

std::string Broken(const Status& status) {
  EXPECT_TRUE(rpc::IsBrokenRule(status)) << Message(status);
  return Message(status);
}

Status Check(EventRules& rules, v1::AgentEvent event,
             EventRules::Clock::time_point now = EventRules::Clock::now()) {
  return rules.Check(event, now);
}
Status Check(EventRules&& rules, v1::AgentEvent event) { return rules.Check(event); }

TEST(AgentRules, ProgressIsALineOfARank) {
  v1::AgentEvent event;
  v1::ProgressLine& reported = *event.mutable_progress_line();
  reported.set_line(std::string(rpc::kMaxProgressLength, 'x'));
  EXPECT_TRUE(CheckEvent(event).ok());
  reported.set_line(std::string(rpc::kMaxProgressLength + 1, 'x'));
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("progress of 4097 bytes"));
  reported.set_line("");
  reported.set_rank(UINT32_MAX);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("progress of a rank 4294967295"));
}

TEST(AgentRules, ExitsArePossibleForAProcess) {
  for (const int code : {0, 1, 255}) EXPECT_TRUE(CheckEvent(Exit(code)).ok()) << code;
  for (const int code : {-1, 256, INT32_MAX}) {
    EXPECT_THAT(Broken(CheckEvent(Exit(code))), HasSubstr("with code " + std::to_string(code)));
  }
  v1::AgentEvent event;
  v1::RankExited& exit = *event.mutable_rank_exited();
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("but not how"));
  for (const int signal : {1, SIGKILL, NSIG - 1}) {
    exit.set_signal(signal);
    EXPECT_TRUE(CheckEvent(event).ok()) << signal;
  }
  for (const int signal : {-9, 0, NSIG}) {
    exit.set_signal(signal);
    EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("by signal " + std::to_string(signal)));
  }
  exit.mutable_start_failure()->set_cause("not found");
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("could not be started, with code 0"));
  exit.mutable_start_failure()->set_exit_code(127);
  EXPECT_TRUE(CheckEvent(event).ok());
  exit.mutable_start_failure()->set_cause(std::string(rpc::kMaxTextLength + 1, 'x'));
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("StartFailure.cause"));
  exit = Exit(0).rank_exited();
  exit.set_pid(-1);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a process -1"));
  exit.set_pid(1);
  exit.mutable_out_of_memory()->set_limit(UINT64_MAX);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("more memory than there can be"));
  exit.mutable_out_of_memory()->set_limit(uint64_t{1} << 60);
  EXPECT_TRUE(CheckEvent(event).ok());
  v1::FailureFacts& facts = *exit.mutable_failure_facts();
  facts.set_shared_memory_size(UINT64_MAX);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("more memory than there can be"));
  facts.set_shared_memory_size(0);
  facts.add_closing_ports(65'535);
  EXPECT_TRUE(CheckEvent(event).ok());
  facts.add_listening_ports(65'536);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a port 65536"));
  facts.clear_listening_ports();
  v1::ListeningRank& listening = *facts.add_listening_ranks();
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a process 0"));
  listening.set_pid(1);
  listening.set_port(65'536);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a port 65536"));
  facts.clear_listening_ranks();
  for (int i = 0; i <= rpc::kMaxFullFileSystems; ++i) facts.add_full_file_systems();
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("9 full file systems"));
  exit.clear_failure_facts();
  for (const int signal : {-1, NSIG}) {
    exit.set_signalled(signal);
    EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("was sent signal " + std::to_string(signal)));
  }
  exit.set_signalled(SIGTERM);
  EXPECT_TRUE(CheckEvent(event).ok());
  exit.set_time_ns(INT64_MIN);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a time of"));
}

TEST(AgentRules, OtherEventsHaveValidValues) {
  v1::AgentEvent event;
  EXPECT_TRUE(CheckEvent(event).ok());  // it acknowledges something
  event.mutable_rank_started();
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a process 0"));
  event.mutable_lease_renewed()->set_time_ns(INT64_MAX);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a time of"));
  event.mutable_warning()->set_what(std::string(rpc::kMaxTextLength, 'x'));
  EXPECT_TRUE(CheckEvent(event).ok());
  event.mutable_warning()->mutable_what()->push_back('x');
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("8193 bytes of autodist.v1.Warning.what"));
  event.mutable_input_taken()->set_bytes(uint64_t{1} << 63);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("more input than there can be"));
  v1::ProcessesLeft& left = *event.mutable_processes_left();
  for (int i = 0; i < rpc::kMaxLeftProcesses; ++i) {
    left.add_processes()->set_name(std::string(rpc::kMaxProgramName, 'x'));
  }
  EXPECT_TRUE(CheckEvent(event).ok());
  left.mutable_processes(0)->mutable_name()->push_back('x');
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a program's name of 65 bytes"));
  left.add_processes();
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("9 processes that ranks left"));
  event.mutable_rank_stacks()->set_text(std::string(rpc::kLargestStacks, 'x'));
  EXPECT_TRUE(CheckEvent(event).ok());
  event.mutable_rank_stacks()->mutable_text()->push_back('x');
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("stacks of"));
  event.mutable_rendezvous_request()->mutable_set()->set_value(std::string(1 << 20, 'x'));
  EXPECT_TRUE(CheckEvent(event).ok());
}

// The status of a sample with one change.
Status Sampled(void (*change)(v1::NodeSample&)) {
  v1::AgentEvent event;
  v1::NodeSample& sample = *event.mutable_sample();
  sample.set_time_ns(1);
  sample.mutable_host()->set_cpu(1);
  sample.mutable_host()->set_disk_total(rpc::kLargestCount);
  sample.add_interfaces()->set_received(rpc::kLargestAmount);
  sample.add_gpus()->add_throttled(std::string(rpc::kMaxSampleTextLength, 'x'));
  sample.add_ranks()->set_silent_ms(0);
  change(sample);
  return CheckEvent(event);
}

// Sets each number and text of the message in turn to an invalid value, and calls `broken`.
void BreakEach(google::protobuf::Message& message,
               const std::function<void(const std::string&)>& broken) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = message.GetDescriptor()->field(i);
    const std::string text(rpc::kMaxSampleTextLength + 1, 'x');
    const bool list = field->is_repeated();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        BreakEach(*(list ? reflection.AddMessage(&message, field)
                         : reflection.MutableMessage(&message, field)),
                  broken);
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        reflection.SetDouble(&message, field, -1);
        broken(field->full_name());
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        reflection.SetUInt64(&message, field, UINT64_MAX);
        broken(field->full_name());
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        list ? reflection.AddString(&message, field, text)
             : reflection.SetString(&message, field, text);
        broken(field->full_name());
        break;
      default:
        break;
    }
    reflection.ClearField(&message, field);
  }
}

TEST(AgentRules, AllFieldsOfASampleAreChecked) {
  v1::AgentEvent event;
  int fields = 0;
  BreakEach(*event.mutable_sample(), [&](const std::string& field) {
    ++fields;
    EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr(field));
  });
  EXPECT_GT(fields, 40);
}

TEST(AgentRules, NumbersInSamplesAreInRange) {
  using Sample = v1::NodeSample;
  EXPECT_TRUE(Sampled([](Sample&) {}).ok());
  const auto broken = [](void (*change)(Sample&)) { return Broken(Sampled(change)); };
  EXPECT_THAT(broken([](Sample& s) { s.set_time_ns(-1); }), HasSubstr("a time of -1"));
  EXPECT_THAT(broken([](Sample& s) { s.mutable_host()->set_cpu(NAN); }),
              HasSubstr("nan as autodist.v1.HostSample.cpu"));
  EXPECT_THAT(broken([](Sample& s) { s.mutable_host()->set_disk_read(-0.5); }),
              HasSubstr("as autodist.v1.HostSample.disk_read"));
  EXPECT_THAT(broken([](Sample& s) { s.mutable_gpus(0)->set_power(INFINITY); }),
              HasSubstr("inf as autodist.v1.GpuSample.power"));
  EXPECT_THAT(broken([](Sample& s) { s.mutable_host()->set_disk_total(UINT64_MAX); }),
              HasSubstr("more of autodist.v1.HostSample.disk_total than there can be"));
  for (const auto share : {+[](Sample& s) { s.mutable_host()->set_cpu(1.5); },
                           +[](Sample& s) { s.mutable_ranks(0)->set_cpu_throttled(1.5); },
                           +[](Sample& s) { s.mutable_ranks(0)->set_cpu_awaited(1.5); },
                           +[](Sample& s) { s.mutable_ranks(0)->set_memory_stalled(1.5); },
                           +[](Sample& s) { s.mutable_host()->set_io_pressure(1.5); },
                           +[](Sample& s) { s.mutable_gpus(0)->set_use(1.5); }}) {
    EXPECT_THAT(broken(share), HasSubstr("a share of 1.5"));
  }
  EXPECT_THAT(broken([](Sample& s) {
                for (int i = 1; i < rpc::kMaxListLength; ++i) {
                  s.add_interfaces()->set_name(std::string(256, 'x'));
                }
              }),
              HasSubstr("a sample of 2"));
  EXPECT_THAT(broken([](Sample& s) { s.mutable_ranks(0)->set_silent_ms(-7); }),
              HasSubstr("a silence of -7 ms"));
  EXPECT_THAT(broken([](Sample& s) { s.mutable_ranks(0)->set_state(std::string(257, 'x')); }),
              HasSubstr("257 bytes of autodist.v1.RankSample.state"));
  EXPECT_THAT(broken([](Sample& s) { s.mutable_gpus(0)->add_throttled(std::string(257, 'x')); }),
              HasSubstr("257 bytes of autodist.v1.GpuSample.throttled"));
  EXPECT_THAT(broken([](Sample& s) {
                for (int i = 0; i < rpc::kMaxThrottled; ++i) s.mutable_gpus(0)->add_throttled("");
              }),
              HasSubstr("17 reasons"));
  EXPECT_THAT(broken([](Sample& s) {
                for (int i = 0; i < rpc::kMaxListLength; ++i) s.add_ranks();
              }),
              HasSubstr("1001 of autodist.v1.NodeSample.ranks"));
}

TEST(AgentRules, OutputIsInPiecesOfExistingStreams) {
  EXPECT_TRUE(CheckEvent(Output(std::string(rpc::kLargestOutput, 'x'))).ok());
  EXPECT_THAT(Broken(CheckEvent(Output(std::string(rpc::kLargestOutput + 1, 'x')))),
              HasSubstr("a piece of output of 65537 bytes"));
  v1::AgentEvent event = Output("x");
  event.mutable_output()->set_lost(UINT64_MAX);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("than there can be"));
  event = Output("x");
  event.mutable_output()->set_offset(UINT64_MAX);
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("than there can be"));
  event = Output("x");
  event.mutable_output()->set_stream(static_cast<v1::OutputStream>(7));
  EXPECT_THAT(Broken(CheckEvent(event)), HasSubstr("a stream 7"));
}

TEST(AgentRules, AnswersMatchRequests) {
  v1::PrepareRequest request;
  request.mutable_probe()->add_files("a");
  v1::PrepareResponse response;
  response.mutable_facts()->add_files()->set_digest("d");
  EXPECT_TRUE(CheckAnswer(request, response).ok());
  response.mutable_facts()->add_files();
  EXPECT_THAT(Broken(CheckAnswer(request, response)), HasSubstr("2 answers to 1 questions"));
  response.Clear();
  response.add_ports_taken(1);
  EXPECT_THAT(Broken(CheckAnswer(request, response)), HasSubstr("1 answers to 0 questions"));
  response.Clear();
  response.mutable_facts()->set_time_ns(-1);
  EXPECT_THAT(Broken(CheckAnswer(request, response)), HasSubstr("a time of -1 ns"));
  response.Clear();
  for (int i = 0; i <= rpc::kMaxIssues; ++i) response.add_issues();
  EXPECT_THAT(Broken(CheckAnswer(request, response)), HasSubstr("33 issues"));
  response.Clear();
  for (int i = 0; i <= rpc::kMaxListLength; ++i) response.mutable_facts()->add_variables("NCCL_X");
  EXPECT_THAT(Broken(CheckAnswer(request, response)), HasSubstr("1001 of"));
  response.Clear();
  response.mutable_facts()->add_gpus()->set_name(std::string(rpc::kMaxTextLength + 1, 'x'));
  EXPECT_THAT(Broken(CheckAnswer(request, response)), HasSubstr("GpuFact.name"));
  // A list of answers has the length of the list of requests.
  response.Clear();
  for (int i = 0; i < 5'000; ++i) {
    request.mutable_probe()->add_files("a");
    response.mutable_facts()->add_files();
  }
  EXPECT_TRUE(CheckAnswer(request, response).ok());
}

TEST(AgentRules, PortsAreTheRequestedOnes) {
  v1::OpenPortsRequest open;
  open.set_wanted_port(29500);
  v1::OpenPortsResponse opened;
  EXPECT_TRUE(CheckAnswer(open, opened).ok());
  opened.set_wanted_port(29500);
  opened.set_free_port(65535);
  EXPECT_TRUE(CheckAnswer(open, opened).ok());
  opened.set_free_port(65536);
  EXPECT_THAT(Broken(CheckAnswer(open, opened)), HasSubstr("a port 65536"));
  opened.set_wanted_port(22);
  EXPECT_THAT(Broken(CheckAnswer(open, opened)), HasSubstr("port 22 in place of 29500"));
  v1::TryPortsRequest tried;
  tried.set_limit_ms(1000);
  tried.add_targets();
  v1::TryPortsResponse tries;
  EXPECT_THAT(Broken(CheckAnswer(tried, tries)), HasSubstr("0 answers to 1 questions"));
  tries.add_tries()->set_latency_us(1'000'000);
  EXPECT_TRUE(CheckAnswer(tried, tries).ok());
  tries.mutable_tries(0)->set_latency_us(UINT32_MAX);
  EXPECT_THAT(Broken(CheckAnswer(tried, tries)), HasSubstr("a port reached after"));
}

TEST(AgentRules, ASessionResumesOnceAtItsStart) {
  EventRules rules;
  EXPECT_THAT(Broken(Check(EventRules(), Exit(0))), HasSubstr("has not begun"));
  EXPECT_TRUE(Check(rules, Resumed()).ok());
  EXPECT_TRUE(Check(rules, Exit(0)).ok());
  rules.BeginSession();
  EXPECT_TRUE(Check(rules, Resumed()).ok());
  EXPECT_THAT(Broken(Check(rules, Resumed())), HasSubstr("begins twice"));
}

TEST(AgentRules, TextsOfAnEventAreEscapedAfterItsLengthIsChecked) {
  EventRules rules;
  ASSERT_TRUE(Check(rules, Resumed()).ok());
  v1::AgentEvent event = test::Warning(std::string(rpc::kMaxTextLength - 1, '\n') + "\x1b");
  ASSERT_TRUE(rules.Check(event).ok());
  EXPECT_EQ(event.warning().what().substr(0, 4), "\\n\\n");
  EXPECT_THAT(event.warning().what(), testing::EndsWith("\\x1b"));
}

TEST(AgentRules, QueuedEventsAreLimited) {
  EventRules rules;
  ASSERT_TRUE(Check(rules, Resumed()).ok());
  for (int i = 0; i < 1'000'000; ++i) {
    ASSERT_TRUE(Check(rules, Exit(0)).ok());
    rules.Handled(EventRules::CostOf(Exit(0)));
  }
  size_t waiting = 0;
  while (Check(rules, Exit(0)).ok()) ++waiting;
  EXPECT_NEAR(static_cast<double>(waiting * EventRules::CostOf(Exit(0))),
              static_cast<double>(EventRules::kMaxEvents), 1000);
}

TEST(AgentRules, TheRateOfSamplesIsLimited) {
  EventRules rules;
  ASSERT_TRUE(Check(rules, Resumed()).ok());
  v1::AgentEvent sample;
  sample.mutable_sample()->set_time_ns(1);
  const auto send = [&](EventRules::Clock::time_point now) {
    const Status status = Check(rules, sample, now);
    if (status.ok()) rules.Handled(EventRules::CostOf(sample));
    return status;
  };
  auto now = EventRules::Clock::now();
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(send(now += std::chrono::milliseconds(100)).ok());
  }
  // Those of a minute at once.
  int at_once = 0;
  Status status;
  for (status = send(now); status.ok(); status = send(now)) ++at_once;
  EXPECT_EQ(at_once, EventRules::kSampleCredit / EventRules::kSampleInterval - 1);
  EXPECT_THAT(Broken(status), HasSubstr("sample after sample without a pause"));
}

TEST(AgentRules, QueuedOutputAndItsRanksAreLimited) {
  EventRules rules;
  ASSERT_TRUE(Check(rules, Resumed()).ok());
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(Check(rules, Output("x")).ok());
    rules.OutputWritten();
  }
  Status status;
  while (status.ok()) status = Check(rules, Output(std::string(1000, 'x')));
  EXPECT_THAT(Broken(status), HasSubstr("more output than it was asked for"));
  EventRules gaps;
  status = OkStatus();
  for (int session = 0; status.ok(); ++session) {
    ASSERT_LT(session, 10);
    gaps.BeginSession();
    ASSERT_TRUE(Check(gaps, Resumed()).ok());
    ASSERT_TRUE(Check(gaps, Output("x")).ok());
    status = gaps.OutputRefused();
  }
  EXPECT_THAT(Broken(status), HasSubstr("does not follow what came before"));
  EventRules others;
  ASSERT_TRUE(Check(others, Resumed()).ok());
  status = OkStatus();
  for (uint32_t rank = 0; status.ok(); ++rank) {
    status = Check(others, Output("", rank));
    others.OutputWritten();
  }
  EXPECT_THAT(Broken(status), HasSubstr("of more ranks than a node has"));
}

}  // namespace
}  // namespace autodist::launch
