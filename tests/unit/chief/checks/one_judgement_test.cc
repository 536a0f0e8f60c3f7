// `doctor` and `run` judge the same evidence alike: what prevents a run is the same text with the
// same hint, before --sync copies the program's folder and after it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <set>
#include <string>
#include <utility>

#include "chief/start/prepared_text.h"
#include "diagnosis/diagnose.h"
#include "process/program_check.h"
#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

using diagnosis::Evidence;
using testing::HasSubstr;

constexpr char kNotThere[] = "No such file or directory";

// A chief that is a node, and another node.
class OneJudgementTest : public testing::Test {
 protected:
  OneJudgementTest() {
    plan_.set_working_directory("/work");
    plan_.set_world_size(2);
    for (const char* address : {"10.0.0.1", "10.0.0.2"}) {
      v1::NodePlan& node = *plan_.add_nodes();
      node.set_address(address);
      node.set_data_address(address);
      node.add_ranks()->add_argv("./train");
    }
    plan_.mutable_nodes(0)->mutable_reach()->mutable_local();
    plan_.mutable_nodes(1)->mutable_reach()->mutable_ssh();
  }

  Evidence Healthy() const {
    Evidence evidence;
    evidence.plan = &plan_;
    evidence.probe.add_files("./train");
    evidence.probe.add_files("conf.yaml");
    evidence.nodes.resize(2);
    for (uint32_t i = 0; i < 2; ++i) {
      v1::NodeInfo& facts = *evidence.nodes[i].prepared.mutable_facts();
      v1::InterfaceFact& interface = *facts.add_interfaces();
      interface.set_name("eth0");
      interface.set_address(plan_.nodes(static_cast<int>(i)).data_address());
      for (int file = 0; file < 2; ++file) facts.add_files()->set_digest("aa");
    }
    return evidence;
  }

  v1::LaunchPlan plan_;
};

using Bad = std::set<std::pair<std::string, std::string>>;

Bad BadIn(const v1::Diagnosis& diagnosis) {
  Bad what;
  for (const v1::DiagnosedIssue& issue : diagnosis.issues()) {
    if (issue.result() == v1::CHECK_RESULT_BAD) what.emplace(issue.what(), issue.remedy());
  }
  return what;
}

void Lacks(Evidence& evidence, int file) {
  v1::FileFact& fact = *evidence.nodes[1].prepared.mutable_facts()->mutable_files(file);
  fact.clear_digest();
  fact.set_error(kNotThere);
}

void AddIssue(Evidence& evidence, v1::PrepareIssueKind kind, const Status& why) {
  v1::PrepareIssue& issue = *evidence.nodes[1].prepared.add_issues();
  issue.set_kind(kind);
  issue.set_cause(Message(why));
  issue.set_remedy(Remedy(why));
}

TEST_F(OneJudgementTest, BeforeAndAfterTheCopy) {
  const test::TempFolder folder;
  const std::string script = folder.Write("train", "#!/no/python\n");
  chmod(script.c_str(), 0755);
  const Status no_interpreter = process::CheckProgramFile(script, "./train", {"", folder.path()});
  const auto need = process::NeedOf(script, "./train");
  ASSERT_TRUE(need);
  const std::string lines = folder.Write("lines", "#!/bin/sh\r\n");
  chmod(lines.c_str(), 0755);
  const Status windows = process::CheckProgramToCopy(lines, "./train");
  const Status not_there = Error(StatusCode::kNotFound, "'./train' does not exist");
  const Status no_folder = Error(StatusCode::kNotFound, "working directory /work: none");

  struct Case {
    const char* name;
    std::function<void(Evidence&)> before;  // what doctor sees: nothing has been copied
    std::function<void(Evidence&)> after;   // what run sees
    const char* says;                       // empty: nothing prevents a run
    const char* hint;
  };
  const auto lacks_all = [&](Evidence& evidence) {
    AddIssue(evidence, v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY, no_folder);
    AddIssue(evidence, v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, not_there);
    for (const int file : {0, 1}) Lacks(evidence, file);
  };
  const Case cases[] = {
      {"all is copied", lacks_all, [](Evidence&) {}, "", ""},
      {"a file behind a link that leads out",
       [&](Evidence& evidence) {
         lacks_all(evidence);
         evidence.not_copied = {"conf.yaml"};
         evidence.leads_out["conf.yaml"] = "/common/conf.yaml";
       },
       [&](Evidence& evidence) {
         Lacks(evidence, 1);
         evidence.not_copied = {"conf.yaml"};
         evidence.leads_out["conf.yaml"] = "/common/conf.yaml";
       },
       "conf.yaml, a link to /common/conf.yaml: No such file", "replace the link"},
      {"a file that .gitignore excludes",
       [&](Evidence& evidence) {
         lacks_all(evidence);
         evidence.not_copied = {"conf.yaml"};
       },
       [&](Evidence& evidence) {
         Lacks(evidence, 1);
         evidence.not_copied = {"conf.yaml"};
       },
       "conf.yaml: No such file", "--sync skips files"},
      {"a program that .gitignore excludes",
       [&](Evidence& evidence) {
         lacks_all(evidence);
         evidence.not_copied = {"./train"};
       },
       [&](Evidence& evidence) {
         Lacks(evidence, 0);
         AddIssue(evidence, v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, not_there);
         evidence.not_copied = {"./train"};
       },
       "'./train' does not exist", "--sync skips files"},
      {"a program behind a link that leads out",
       [&](Evidence& evidence) {
         lacks_all(evidence);
         evidence.not_copied = {"./train"};
         evidence.leads_out["./train"] = "/common/train";
       },
       [&](Evidence& evidence) {
         Lacks(evidence, 0);
         AddIssue(evidence, v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, not_there);
         evidence.not_copied = {"./train"};
         evidence.leads_out["./train"] = "/common/train";
       },
       "'./train' does not exist", "copy /common/train there, or replace the link"},
      {"an interpreter that the node lacks",
       [&](Evidence& evidence) {
         lacks_all(evidence);
         evidence.needs.push_back({v1::CHECK_PROGRAM, v1::CHECK_RESULT_BAD, need->missing});
         evidence.nodes[1].prepared.mutable_facts()->add_missing_paths(0);
       },
       [&](Evidence& evidence) {
         AddIssue(evidence, v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS, no_interpreter);
         evidence.needs.push_back({v1::CHECK_PROGRAM, v1::CHECK_RESULT_BAD, need->missing});
         evidence.nodes[1].prepared.mutable_facts()->add_missing_paths(0);
       },
       "the interpreter of ./train, /no/python, does not exist", "correct the first line"},
      {"a script with Windows line endings",
       [&](Evidence& evidence) {
         lacks_all(evidence);
         evidence.program_to_copy = windows;
       },
       [&](Evidence& evidence) {
         AddIssue(evidence, v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS, windows);
         evidence.program_to_copy = windows;
       },
       "it has Windows line endings", "sed -i"},
  };
  for (const Case& one : cases) {
    Evidence before = Healthy();
    before.will_sync = true;
    one.before(before);
    Evidence after = Healthy();
    after.synced = true;
    one.after(after);
    const v1::Diagnosis doctor = Diagnose(before);
    const v1::Diagnosis run = Diagnose(after);
    const Bad bad = BadIn(doctor);
    EXPECT_EQ(bad, BadIn(run)) << one.name;
    EXPECT_EQ(bad.size(), *one.says ? 1u : 0u) << one.name;
    const std::string report = LaunchReport(run, after.nodes.size());
    EXPECT_THAT(report, HasSubstr(one.says)) << one.name;
    EXPECT_THAT(report, HasSubstr(one.hint)) << one.name;
    for (const auto& [what, remedy] : bad) {
      EXPECT_THAT(what, HasSubstr(one.says));
      EXPECT_THAT(report, HasSubstr(what + "\n    hint: " + remedy)) << one.name;
    }
  }
}

TEST_F(OneJudgementTest, AStartThatFailsReportsAllThatPreventsIt) {
  Evidence evidence = Healthy();
  AddIssue(evidence, v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS,
           WithRemedy(Error(StatusCode::kNotFound, "'./train' cannot be loaded: libx.so"), "mend"));
  Lacks(evidence, 1);
  const std::string report = LaunchReport(Diagnose(evidence), 2);
  EXPECT_THAT(report, HasSubstr("because 1 of 2 nodes cannot run the job:\n  10.0.0.2:\n"));
  EXPECT_THAT(report, HasSubstr("libx.so\n    hint: mend"));
  EXPECT_THAT(report, HasSubstr("conf.yaml: No such file"));
  EXPECT_EQ(report.find("10.0.0.2:\n", report.find("10.0.0.2:\n") + 1), std::string::npos);
}

}  // namespace
}  // namespace autodist::chief
