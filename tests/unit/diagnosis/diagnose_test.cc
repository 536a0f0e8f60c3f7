#include "diagnosis/diagnose.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "base/for_user.h"
#include "diagnosis/collective_variables.h"
#include "diagnosis/diagnosis_text.h"
#include "diagnosis/hardware_faults.h"

namespace autodist::diagnosis {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Three healthy nodes.
class DiagnoseTest : public testing::Test {
 protected:
  void SetUp() override {
    plan_.set_working_directory("/work");
    plan_.set_world_size(3);
    evidence_.plan = &plan_;
    evidence_.probe.set_thorough(true);
    evidence_.probe.set_health(true);
    evidence_.probe.add_files("train.py");
    evidence_.probe.add_shared_files("/data/.autodist-1");
    evidence_.probe.add_python_modules("torch");
    for (uint32_t i = 0; i < 3; ++i) {
      const std::string address = "10.0.0." + std::to_string(i + 1);
      v1::NodePlan& node = *plan_.add_nodes();
      node.set_address(address);
      node.set_data_address(address);
      v1::RankPlan& rank = *node.add_ranks();
      rank.add_argv("python");
      rank.mutable_device()->set_kind(v1::DEVICE_KIND_GPU);
      *node.add_devices() = rank.device();

      v1::NodeInfo& facts = *evidence_.nodes.emplace_back().prepared.mutable_facts();
      facts.set_hostname("host" + std::to_string(i + 1));
      facts.add_hostname_addresses(address);
      v1::InterfaceFact& interface = *facts.add_interfaces();
      interface.set_name("eth0");
      interface.set_address(address);
      facts.set_time_ns(1);
      facts.add_files()->set_digest("aa");
      facts.add_shared_files()->set_digest("nonce");
      facts.mutable_working_directory()->set_size(1ull << 40);
      facts.mutable_working_directory()->set_free(1ull << 39);
      facts.mutable_shared_memory()->set_size(1ull << 33);
      facts.mutable_shared_memory()->set_free(1ull << 32);
      facts.set_open_files_limit(1 << 20);
      facts.set_program("/usr/bin/python");
      facts.mutable_python()->set_version("3.11.2");
      v1::PythonModule& torch = *facts.mutable_python()->add_modules();
      torch.set_name("torch");
      torch.set_found(true);
      torch.set_version("2.1.0");
      facts.add_gpus()->set_index(0);
      facts.set_driver_version("550");
    }
    for (uint32_t from = 0; from < 3; ++from) {
      for (uint32_t to = 0; to < 3; ++to) {
        if (from == to) continue;
        v1::PortTry outcome;
        outcome.set_latency_us(100 + from);
        evidence_.trials.push_back({from, to, 4711, true, outcome});
      }
    }
  }

  v1::NodeInfo& Facts(size_t node) { return *evidence_.nodes[node].prepared.mutable_facts(); }

  // The only issue.
  v1::DiagnosedIssue Only() {
    const v1::Diagnosis diagnosis = Diagnose(evidence_);
    EXPECT_EQ(diagnosis.issues_size(), 1) << DiagnosisAsText(diagnosis, false);
    return diagnosis.issues_size() > 0 ? diagnosis.issues(0) : v1::DiagnosedIssue();
  }
  void ExpectOnly(v1::Check check, v1::CheckResult result, uint32_t node, const std::string& what) {
    const v1::DiagnosedIssue issue = Only();
    EXPECT_EQ(issue.check(), check);
    EXPECT_EQ(issue.result(), result);
    EXPECT_THAT(issue.nodes(), ElementsAre(node));
    EXPECT_THAT(issue.what(), HasSubstr(what));
    EXPECT_NE(issue.remedy(), "");
  }

  v1::LaunchPlan plan_;
  Evidence evidence_;
};

TEST_F(DiagnoseTest, OnHealthyNodesEveryCheckPasses) {
  const v1::Diagnosis diagnosis = Diagnose(evidence_);
  EXPECT_EQ(diagnosis.issues_size(), 0) << DiagnosisAsText(diagnosis, false);
  EXPECT_FALSE(IsBad(diagnosis));
  for (const v1::NodeChecks& node : diagnosis.nodes()) {
    for (const v1::CheckOutcome& check : node.checks()) {
      if (check.check() == v1::CHECK_VENV) continue;  // the plan has no activation
      EXPECT_EQ(check.result(), v1::CHECK_RESULT_GOOD) << v1::Check_Name(check.check());
    }
  }
  EXPECT_EQ(diagnosis.median_latency_us(), 101u);
}

TEST_F(DiagnoseTest, HintsNameTheSpecOnlyIfThereIsOne) {
  plan_.mutable_nodes(2)->set_data_address("10.0.0.9");
  EXPECT_THAT(Only().remedy(), HasSubstr("in the spec"));
  base::SetNodeSource(base::NodeSource::kHosts);
  EXPECT_EQ(Only().remedy(), "correct the node's address");
  base::SetNodeSource(base::NodeSource::kAllocation);
  EXPECT_EQ(Only().remedy(), "");
  base::SetNodeSource(base::NodeSource::kSpec);
}

TEST_F(DiagnoseTest, AVirtualEnvironmentThatOnlyTheChiefLacks) {
  plan_.mutable_nodes(0)->mutable_reach()->mutable_local();
  for (const int node : {1, 2}) {
    EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
    plan_.mutable_nodes(node)->add_environment()->set_activate("source v");
  }
  ExpectOnly(v1::CHECK_VENV, v1::CHECK_RESULT_WARNING, 0, "the chief has no python_venv");
  evidence_.activated_here = true;
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  evidence_.activated_here = false;
  plan_.mutable_nodes(0)->add_environment()->set_activate("source v");
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
}

TEST_F(DiagnoseTest, AnUnreachableNode) {
  evidence_.nodes[1].reached = WithRemedy(Error(StatusCode::kUnavailable, "refused"), "start sshd");
  ExpectOnly(v1::CHECK_LOGIN, v1::CHECK_RESULT_BAD, 1, "refused");
  EXPECT_THAT(DiagnosisAsText(Diagnose(evidence_), false),
              HasSubstr("10.0.0.2  ✗      –      –        –"));
}

TEST_F(DiagnoseTest, AnAgentThatDoesNotStartIsNotAFailedLogin) {
  evidence_.nodes[1].reached =
      WithRemedy(Error(StatusCode::kUnavailable, "no place for the agent"), "make room");
  evidence_.nodes[1].step = v1::CHECK_AGENT;
  ExpectOnly(v1::CHECK_AGENT, v1::CHECK_RESULT_BAD, 1, "no place");
  EXPECT_THAT(DiagnosisAsText(Diagnose(evidence_), false),
              HasSubstr("10.0.0.2  ✓      ✗      –        –"));
}

TEST_F(DiagnoseTest, AnAddressOfAnotherMachine) {
  plan_.mutable_nodes(2)->set_data_address("10.0.0.9");
  ExpectOnly(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, 2, "it has 10.0.0.3 (eth0)");
  EXPECT_THAT(Only().remedy(), HasSubstr("or set data_address"));
  plan_.mutable_nodes(2)->set_own_data_address(true);
  EXPECT_EQ(Only().remedy(), "correct or remove data_address of this node in the spec");
}

TEST_F(DiagnoseTest, AMissingInterface) {
  plan_.mutable_nodes(2)->set_interface("ib0");
  ExpectOnly(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, 2, "there is no interface ib0");
}

TEST_F(DiagnoseTest, ADifferentOrMissingFile) {
  Facts(1).mutable_files(0)->set_digest("bb");
  ExpectOnly(v1::CHECK_FILES, v1::CHECK_RESULT_BAD, 1, "train.py differs");
  Facts(1).mutable_files(0)->set_digest("");
  Facts(1).mutable_files(0)->set_error("No such file or directory");
  ExpectOnly(v1::CHECK_FILES, v1::CHECK_RESULT_BAD, 1, "train.py: No such file");
}

TEST_F(DiagnoseTest, AFolderThatIsOnlyACopy) {
  Facts(2).mutable_shared_files(0)->set_digest("");
  Facts(2).mutable_shared_files(0)->set_error("No such file or directory");
  ExpectOnly(v1::CHECK_SHARED, v1::CHECK_RESULT_BAD, 2, "/data is not the chief's folder");
}

TEST_F(DiagnoseTest, FoldersSharedByNodesWithoutTheChief) {
  evidence_.probe.clear_shared_files();
  evidence_.probe.add_shared_folders("/data");
  for (uint32_t node : {0u, 1u, 2u}) {
    Facts(node).clear_shared_files();
    Facts(node).add_shared_folders();
  }
  // Node 1 wrote its mark before the first, node 2 after it.
  Facts(0).mutable_shared_folders(0)->add_seen(0);
  Facts(0).mutable_shared_folders(0)->add_seen(1);
  Facts(2).mutable_shared_folders(0)->add_seen(0);
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  Facts(2).mutable_shared_folders(0)->clear_seen();
  ExpectOnly(v1::CHECK_SHARED, v1::CHECK_RESULT_BAD, 2,
             "/data is not 10.0.0.1's folder: what each");
  Facts(2).mutable_shared_folders(0)->set_error("No such file or directory");
  ExpectOnly(v1::CHECK_SHARED, v1::CHECK_RESULT_BAD, 2,
             "/data is not 10.0.0.1's folder: No such file");
  Facts(2).mutable_shared_folders(0)->set_not_writable(true);
  ExpectOnly(v1::CHECK_SHARED, v1::CHECK_RESULT_WARNING, 2, "/data may not be 10.0.0.1's folder");
  Facts(0).mutable_shared_folders(0)->set_error("Read-only file system");
  ExpectOnly(v1::CHECK_SHARED, v1::CHECK_RESULT_BAD, 0,
             "shared folder /data: Read-only file system");
}

TEST_F(DiagnoseTest, Gpus) {
  plan_.mutable_nodes(0)->mutable_devices(0)->set_index(3);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_BAD, 0,
             "GPU 3 of the spec is not there: found 1 GPU");
  v1::Device& second = *plan_.mutable_nodes(0)->add_devices();
  second.set_kind(v1::DEVICE_KIND_GPU);
  second.set_index(7);
  // As a run probes, too.
  evidence_.probe.set_thorough(false);
  evidence_.probe.set_device_users(true);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_BAD, 0,
             "GPUs 3, 7 of the spec are not there: found 1 GPU");
  Facts(0).clear_gpus();
  Facts(0).set_gpu_error("nvidia-smi ended with status 6: No devices were found");
  Facts(0).set_gpu_failure(v1::GPU_FAILURE_NO_GPU);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_BAD, 0, "GPUs 3, 7 of the spec are not there");
  Facts(0).set_gpu_error("nvidia-smi did not end within 3 s");
  Facts(0).set_gpu_failure(v1::GPU_FAILURE_HANGS);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, 0,
             "cannot query the GPUs: nvidia-smi did not end within 3 s");
  EXPECT_THAT(Only().remedy(), HasSubstr("if it hangs"));
  Facts(0).set_gpu_error("nvidia-smi ended with status 18: mismatch");
  Facts(0).set_gpu_failure(v1::GPU_FAILURE_FAILS);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, 0,
             "cannot query the GPUs: nvidia-smi ended");
  EXPECT_EQ(Only().remedy(), "run nvidia-smi on the node, and correct what it reports");
  Facts(0).clear_gpu_error();
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);  // allowed for another vendor
  Facts(0).set_no_accelerator(true);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_BAD, 0,
             "no GPU there; the spec lists gpus [3, 7]");
  EXPECT_THAT(Only().remedy(), HasSubstr("cpus: [0, 1]"));
}

TEST_F(DiagnoseTest, AnNvidiaSmiThatFailsIsOneIssue) {
  v1::HardwareFault& fault = *Facts(0).add_hardware_faults();
  fault.set_what("the driver is not of the same version as its libraries");
  fault.set_source("nvidia-smi");
  fault.set_remedy("restart the node");
  fault.set_fatal(true);
  fault.set_min_gpus(1);
  Facts(0).clear_gpus();
  Facts(0).set_gpu_error("nvidia-smi ended with status 18: mismatch");
  ExpectOnly(v1::CHECK_HEALTH, v1::CHECK_RESULT_BAD, 0, "the driver is not of the same version");
}

TEST_F(DiagnoseTest, AWarningOfNvidiaSmi) {
  Facts(0).set_gpu_warning("WARNING: infoROM is corrupted at gpu 0000:41:00.0");
  const v1::DiagnosedIssue issue = Only();
  EXPECT_EQ(issue.result(), v1::CHECK_RESULT_WARNING);
  EXPECT_EQ(issue.what(), "nvidia-smi says: " + Facts(0).gpu_warning());
}

TEST_F(DiagnoseTest, GpusThatANodeCouldNotCount) {
  evidence_.uncounted["10.0.0.2"] =
      WithRemedy(Error(StatusCode::kFailedPrecondition, "mismatch"), "restart the node");
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_BAD, 1, "the GPUs cannot be counted: mismatch");
  evidence_.nodes[1].reached = Error(StatusCode::kUnavailable, "refused");
  EXPECT_EQ(Only().what(), "refused");
}

TEST_F(DiagnoseTest, AFaultThatPreventsTheCountIsOneIssue) {
  evidence_.uncounted["10.0.0.2"] =
      WithRemedy(Error(StatusCode::kFailedPrecondition, "nvidia-smi -L fails: version mismatch"),
                 "restart the node");
  v1::HardwareFault& fault = *Facts(1).add_hardware_faults();
  fault.set_what("the driver is not of the same version as its libraries");
  fault.set_remedy("restart the node");
  fault.set_fatal(true);
  fault.set_min_gpus(1);
  for (const char* source : {"nvidia-smi", "/sys"}) {
    fault.set_source(source);
    ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_BAD, 1,
               "the GPUs cannot be counted: nvidia-smi");
  }
  fault.set_source("kernel log");
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 2);
  fault.set_source("nvidia-smi");
  fault.set_gpu(plan_.nodes(1).devices(0).index());
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 2);
}

TEST_F(DiagnoseTest, FaultsOfTheHardware) {
  v1::HardwareFault& fault = *Facts(1).add_hardware_faults();
  fault.set_what("GPU 0 fell off the bus (XID 79)");
  fault.set_source("kernel log");
  fault.set_remedy("restart the node");
  fault.set_fatal(true);
  ExpectOnly(v1::CHECK_HEALTH, v1::CHECK_RESULT_BAD, 1,
             "GPU 0 fell off the bus (XID 79) (kernel log)");
  evidence_.health = v1::HEALTH_WARN;
  ExpectOnly(v1::CHECK_HEALTH, v1::CHECK_RESULT_WARNING, 1, "GPU 0 fell off the bus");
  evidence_.health = v1::HEALTH_STRICT;
  fault.set_fatal(false);
  ExpectOnly(v1::CHECK_HEALTH, v1::CHECK_RESULT_WARNING, 1, "GPU 0 fell off the bus");
}

TEST_F(DiagnoseTest, FaultsOfGpusThatThePlanDoesNotUse) {
  v1::HardwareFault& fault = *Facts(1).add_hardware_faults();
  fault.set_what("GPU 3 must be reset");
  fault.set_gpu(3);
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  fault.set_gpu(0);
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 1);
}

TEST(HardwareFaultsTest, AFaultConcernsAJobThatUsesWhatIsFaulty) {
  struct Row {
    const char* what;
    std::vector<const char*> gpus;  // of the plan: numbers or UUIDs
    std::optional<uint32_t> gpu;
    const char* uuid;
    uint32_t min_gpus;
    bool concerns;
  };
  const Row rows[] = {
      {"memory of the node, no GPUs", {}, {}, "", 0, true},
      {"the driver, no GPUs", {}, {}, "", 1, false},
      {"the driver", {"3"}, {}, "", 1, true},
      {"a GPU, no GPUs", {}, 3, "", 1, false},
      {"a GPU of the plan", {"0", "3"}, 3, "", 1, true},
      {"another GPU", {"0", "3"}, 7, "", 1, false},
      {"NVLink, one GPU", {"3"}, 3, "", 2, false},
      {"NVLink", {"0", "3"}, 3, "", 2, true},
      {"NVLink of another GPU", {"0", "3"}, 7, "", 2, false},
      {"an NVSwitch, one GPU", {"3"}, {}, "", 2, false},
      {"an NVSwitch", {"0", "3"}, {}, "", 2, true},
      {"the GPU of a UUID", {"GPU-89"}, 3, "GPU-8932", 1, true},
      {"the GPU of another UUID", {"GPU-89"}, 3, "GPU-1ab9", 1, false},
      {"the number is that of the list", {"GPU-89"}, 0, "GPU-1ab9", 1, false},
      {"a GPU of which the UUID is unknown", {"GPU-89"}, 0, "", 1, false},
      {"a GPU whose MIG devices are unknown", {"MIG-a2"}, 3, "GPU-8932", 1, false},
  };
  for (const Row& row : rows) {
    v1::NodePlan node;
    for (const std::string name : row.gpus) {
      v1::Device& device = *node.add_devices();
      device.set_kind(v1::DEVICE_KIND_GPU);
      if (name.find('-') == name.npos) {
        device.set_index(static_cast<uint32_t>(std::stoul(name)));
      } else {
        device.set_uuid(name);
      }
    }
    node.add_devices()->set_kind(v1::DEVICE_KIND_CPU);
    v1::HardwareFault fault;
    if (row.gpu) fault.set_gpu(*row.gpu);
    fault.set_gpu_uuid(row.uuid);
    fault.set_min_gpus(row.min_gpus);
    EXPECT_EQ(Concerns(node, fault), row.concerns) << row.what;
  }
}

TEST(HardwareFaultsTest, OnlyAFatalFaultOfAStrictJobIsBad) {
  for (const bool fatal : {false, true}) {
    v1::HardwareFault fault;
    fault.set_fatal(fatal);
    EXPECT_EQ(ResultOf(fault, v1::HEALTH_STRICT),
              fatal ? v1::CHECK_RESULT_BAD : v1::CHECK_RESULT_WARNING);
    EXPECT_EQ(ResultOf(fault, v1::HEALTH_WARN), v1::CHECK_RESULT_WARNING);
    EXPECT_EQ(ResultOf(fault, v1::HEALTH_OFF), v1::CHECK_RESULT_UNSPECIFIED);
  }
}

TEST_F(DiagnoseTest, GpusByUuid) {
  v1::Device& device = *plan_.mutable_nodes(0)->mutable_devices(0);
  Facts(0).mutable_gpus(0)->set_uuid("GPU-8932f937-d72c");
  for (const auto& [uuid, there] :
       {std::pair("GPU-8932", true), std::pair("GPU-1ab9", false), std::pair("MIG-a2b3", true)}) {
    device.set_uuid(uuid);  // MIG devices are unknown if none is listed
    EXPECT_EQ(Diagnose(evidence_).issues_size(), there ? 0 : 1) << uuid;
  }
  Facts(0).mutable_gpus(0)->add_mig_uuids("MIG-a2b3c4d5");
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  device.set_uuid("MIG-ffff");
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_BAD, 0, "MIG-ffff of the spec is not there");
}

TEST_F(DiagnoseTest, VariablesThatOnlyTheChiefHas) {
  plan_.mutable_nodes(0)->mutable_reach()->mutable_local();
  for (size_t node = 0; node < 3; ++node) Facts(node).add_missing_variables("HF_TOKEN");
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);  // the program does not mention it
  evidence_.mentioned_variables = {"DATA_DIR", "HF_TOKEN"};
  const v1::DiagnosedIssue issue = Only();
  EXPECT_EQ(issue.check(), v1::CHECK_VARIABLES);
  EXPECT_THAT(issue.nodes(), ElementsAre(1u, 2u));
  EXPECT_EQ(issue.what(),
            "ranks there do not get HF_TOKEN, which the shell of the chief has and the program "
            "mentions");
  EXPECT_THAT(issue.remedy(), HasSubstr("--pass-env HF_TOKEN"));
}

class DeviceUsersTest : public DiagnoseTest {
 protected:
  void SetUp() override {
    DiagnoseTest::SetUp();
    plan_.set_job_id("job-5");
    evidence_.probe.set_device_users(true);
  }
  v1::GpuProcess& AddProcess(int pid) {
    v1::GpuProcess& process = *Facts(0).mutable_gpus(0)->add_processes();
    process.set_pid(pid);
    process.set_name("python");
    return process;
  }
  v1::OtherJob& AddJob(size_t node, const std::string& id) {
    v1::OtherJob& job = *Facts(node).add_other_jobs();
    job.set_job_id(id);
    return job;
  }
};

TEST_F(DeviceUsersTest, ProcessesOnAGpuAreNamedWithAllDetails) {
  AddProcess(7);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, 0,
             "GPU 0 is in use: python (pid 7), 0 MiB taken");
  v1::GpuProcess& process = AddProcess(8);
  process.set_user("ann");
  process.set_job_id("job-1");
  process.set_memory_used(3000ull << 20);
  Facts(0).mutable_gpus(0)->set_memory_used(3100ull << 20);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, 0,
             "python (pid 7), python (pid 8, of ann, job job-1, 3000 MiB), 3100 MiB taken");
  evidence_.busy_devices = v1::CHECK_RESULT_BAD;
  EXPECT_EQ(Only().result(), v1::CHECK_RESULT_BAD);
  plan_.mutable_nodes(0)->mutable_devices(0)->set_index(1);  // a different GPU
  EXPECT_EQ(DiagnoseDevices(evidence_).issues_size(), 0);
}

TEST_F(DeviceUsersTest, UsedMemoryIndicatesInvisibleProcesses) {
  Facts(0).mutable_gpus(0)->set_memory_used(500ull << 20);  // used by the driver
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  Facts(0).mutable_gpus(0)->set_memory_used(2000ull << 20);
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, 0, "2000 MiB taken, by no process");
}

TEST_F(DeviceUsersTest, AnotherJobIsOneIssueOnAllItsNodes) {
  for (size_t node = 0; node < 3; ++node) AddJob(node, "job-1").add_gpus(0);
  const v1::DiagnosedIssue issue = Only();
  EXPECT_THAT(issue.nodes(), ElementsAre(0, 1, 2));
  EXPECT_EQ(issue.what(), "your job job-1 has GPU 0");
  EXPECT_THAT(issue.remedy(), HasSubstr("stop that job, "));
  for (size_t node = 0; node < 3; ++node) Facts(node).clear_other_jobs();
  AddJob(0, "job-1").add_gpus(0);
  v1::GpuProcess& process = AddProcess(7);
  process.set_job_id("job-1");  // more specific than the job itself
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, 0, "python (pid 7, job job-1)");
}

TEST_F(DeviceUsersTest, CpusCountOnlyIfUsedExclusively) {
  plan_.mutable_nodes(0)->mutable_devices(0)->set_kind(v1::DEVICE_KIND_CPU);
  v1::OtherJob& job = AddJob(0, "job-1");
  job.add_cpus(0);
  job.add_cpus(1);
  EXPECT_EQ(DiagnoseDevices(evidence_).issues_size(), 0);
  evidence_.cpus_can_be_busy = true;
  const v1::Diagnosis diagnosis = DiagnoseDevices(evidence_);
  EXPECT_EQ(diagnosis.issues(0).what(), "your job job-1 has CPU 0");
  EXPECT_THAT(DiagnosisAsText(diagnosis, false), HasSubstr("10.0.0.1: devices"));
}

TEST_F(DeviceUsersTest, OfWaitingJobsOnlyOlderOnesCount) {
  AddJob(0, "job-6").add_gpus(0);
  Facts(0).mutable_other_jobs(0)->set_waiting(true);
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  Facts(0).mutable_other_jobs(0)->set_job_id("job-4");
  EXPECT_EQ(Only().what(), "your job job-4 has asked for GPU 0");
  // A job that waits for a device that is in use is no further user of it.
  AddJob(0, "job-3").add_gpus(0);
  EXPECT_EQ(Only().what(), "your job job-3 has GPU 0");
}

TEST_F(DiagnoseTest, DifferentVersions) {
  Facts(1).mutable_python()->mutable_modules(0)->set_version("2.2.0");
  ExpectOnly(v1::CHECK_PYTHON, v1::CHECK_RESULT_BAD, 1,
             "the version of torch is 2.2.0, but 2.1.0 on 10.0.0.1");
  Facts(1).mutable_python()->mutable_modules(0)->set_version("2.1.0");
  Facts(2).mutable_python()->mutable_modules(0)->set_found(false);
  Facts(2).mutable_python()->mutable_modules(0)->set_version("");
  ExpectOnly(v1::CHECK_PYTHON, v1::CHECK_RESULT_BAD, 2, "has no module torch");
  Facts(2) = Facts(1);
  Facts(2).set_hostname("host3");
  Facts(2).mutable_interfaces(0)->set_address("10.0.0.3");
  Facts(2).mutable_python()->set_version("3.12.1");
  ExpectOnly(v1::CHECK_PYTHON, v1::CHECK_RESULT_BAD, 2, "the version of Python is 3.12, but 3.11");
  Facts(2).mutable_python()->set_version("3.11.9");
  Facts(2).set_driver_version("535");
  ExpectOnly(v1::CHECK_DEVICES, v1::CHECK_RESULT_WARNING, 2, "the NVIDIA driver is 535, but 550");
}

TEST_F(DiagnoseTest, APythonThatDoesNotRunIsReportedUnlessTheProgramIsMissing) {
  Facts(1).mutable_python()->set_error("it exited with code 1");
  ExpectOnly(v1::CHECK_PYTHON, v1::CHECK_RESULT_BAD, 1,
             "Python does not run: it exited with code 1");
  v1::PrepareIssue& issue = *evidence_.nodes[1].prepared.add_issues();
  issue.set_kind(v1::PREPARE_ISSUE_KIND_COMMAND_NEEDS);
  issue.set_cause("the interpreter of ./train, /opt/python, does not exist");
  issue.set_remedy("install it there");
  ExpectOnly(v1::CHECK_PROGRAM, v1::CHECK_RESULT_BAD, 1, "/opt/python, does not exist");
}

TEST_F(DiagnoseTest, APairThatIsBlockedInBothDirectionsIsOneIssue) {
  for (const size_t trial : {3u, 5u}) evidence_.trials[trial].outcome.set_error("timed out");
  EXPECT_EQ(Only().what(),
            "10.0.0.2 and 10.0.0.3 cannot connect to each other, rendezvous port 4711: timed out");
}

TEST_F(DiagnoseTest, ABlockedPairIsOneIssue) {
  evidence_.trials[3].outcome.set_error("timed out");  // from 1 to 2
  const v1::DiagnosedIssue issue = Only();
  EXPECT_EQ(issue.check(), v1::CHECK_NETWORK);
  EXPECT_THAT(issue.nodes(), ElementsAre(1, 2));
  EXPECT_THAT(issue.what(), HasSubstr("10.0.0.2 cannot connect to 10.0.0.3, rendezvous port 4711"));
}

// Tries both ports from each node to each other.
void TryAll(Evidence& evidence, uint32_t nodes,
            const std::function<std::string(uint32_t from, uint32_t to, bool rendezvous)>& error) {
  evidence.trials.clear();
  for (uint32_t from = 0; from < nodes; ++from) {
    for (uint32_t to = 0; to < nodes; ++to) {
      for (const bool rendezvous : {true, false}) {
        if (from == to) continue;
        v1::PortTry outcome;
        outcome.set_error(error(from, to, rendezvous));
        evidence.trials.push_back({from, to, 4711, rendezvous, outcome});
      }
    }
  }
}

TEST_F(DiagnoseTest, BlockedPairsOfAllNodesAreOneIssue) {
  TryAll(evidence_, 3, [](uint32_t, uint32_t, bool) { return "timed out"; });
  v1::DiagnosedIssue issue = Only();
  EXPECT_THAT(issue.nodes(), ElementsAre(0, 1, 2));
  EXPECT_EQ(issue.what(), "6 of 6 pairs of nodes do not reach each other, on all ports: timed out");
  TryAll(evidence_, 3, [](uint32_t, uint32_t, bool rdv) { return rdv ? "" : "refused"; });
  EXPECT_EQ(Only().what(),
            "6 of 6 pairs of nodes do not reach each other, a port chosen at random: refused");
  TryAll(evidence_, 3,
         [](uint32_t from, uint32_t to, bool) { return from == 1 || to == 1 ? "timed out" : ""; });
  issue = Only();
  EXPECT_THAT(issue.nodes(), ElementsAre(1));
  EXPECT_EQ(issue.what(),
            "4 of 6 pairs of nodes do not reach each other, all those with 10.0.0.2, on all "
            "ports: timed out");
}

TEST_F(DiagnoseTest, ManyPairsAreCounted) {
  for (uint32_t i = 3; i < 256; ++i) {
    const std::string address = "10.1.0." + std::to_string(i);
    plan_.add_nodes()->set_address(address);
    evidence_.nodes.emplace_back();
  }
  TryAll(evidence_, 256, [](uint32_t, uint32_t, bool) { return "timed out"; });
  const v1::Diagnosis diagnosis = Diagnose(evidence_);
  EXPECT_THAT(DiagnosisAsText(diagnosis, false),
              HasSubstr("✗ all 256 nodes: network\n    65,280 of 65,280 pairs of nodes"));
}

TEST_F(DiagnoseTest, IssuesThatDifferOnlyInTheNodeAreGrouped) {
  plan_.mutable_nodes(2)->set_address("node-3");
  for (const size_t i : {1u, 2u}) {
    evidence_.nodes[i].reached = WithRemedy(
        Error(StatusCode::kUnavailable, "connecting to 10.0.0." + std::to_string(i + 1) +
                                            " port 22: refused (not 110.0.0.2, node-30)"),
        i == 1 ? "ssh 10.0.0.2" : "ssh node-3");
  }
  const v1::DiagnosedIssue issue = Only();
  EXPECT_THAT(issue.nodes(), ElementsAre(1, 2));
  EXPECT_EQ(issue.what(), "connecting to NODE port 22: refused (not 110.0.0.2, node-30)");
  EXPECT_EQ(issue.remedy(), "ssh NODE");
  evidence_.nodes[2].reached = OkStatus();
  EXPECT_EQ(Only().remedy(), "ssh 10.0.0.2");  // a single one is unchanged
}

TEST_F(DiagnoseTest, ManyNodesAreCountedAndAFewNamed) {
  for (uint32_t i = 3; i < 64; ++i) {
    plan_.add_nodes()->set_address("node" + std::to_string(i));
    evidence_.nodes.emplace_back().reached = Error(StatusCode::kUnavailable, "no");
  }
  evidence_.nodes[2].reached = Error(StatusCode::kUnavailable, "no");
  EXPECT_THAT(
      DiagnosisAsText(Diagnose(evidence_), false),
      HasSubstr("✗ 62 of 64 nodes (10.0.0.3, node3, node4 and 59 others): login\n    no\n"));
}

TEST_F(DiagnoseTest, AScriptThatTheChiefLacksToo) {
  for (const size_t node : {0u, 1u, 2u}) {
    Facts(node).mutable_files(0)->set_digest("");
    Facts(node).mutable_files(0)->set_error("No such file or directory");
  }
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);  // the program may create any other file
  evidence_.missing_script = "train.py";
  plan_.mutable_nodes(2)->clear_ranks();  // runs no rank
  v1::DiagnosedIssue issue = Only();
  EXPECT_THAT(issue.nodes(), ElementsAre(0, 1));
  EXPECT_EQ(issue.what(), "train.py: No such file or directory");
  EXPECT_THAT(issue.remedy(), HasSubstr("programs start in /work"));
  evidence_.nearest_script = "tarin.py";
  EXPECT_THAT(Only().remedy(), HasSubstr("did you mean tarin.py?"));
}

TEST_F(DiagnoseTest, WhatNodesNeedBesidesTheProgramsFiles) {
  evidence_.needs.push_back(
      {v1::CHECK_FILES, v1::CHECK_RESULT_WARNING,
       WithRemedy(Error(StatusCode::kNotFound, "data is a link"), "copy it there")});
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  Facts(1).add_missing_paths(0);
  Facts(1).add_missing_paths(1);  // an answer to no question
  ExpectOnly(v1::CHECK_FILES, v1::CHECK_RESULT_WARNING, 1, "data is a link");
}

TEST_F(DiagnoseTest, OnlyFilesOfTheFolderAreCopiedBySync) {
  evidence_.probe.set_files(0, "/data/conf.yaml");
  Facts(1).mutable_files(0)->set_digest("bb");
  EXPECT_THAT(Only().remedy(), HasSubstr("--sync copies only the working directory"));
}

TEST_F(DiagnoseTest, SyncIsARemedyUntilItWasUsed) {
  Facts(1).mutable_files(0)->set_digest("bb");
  EXPECT_THAT(Only().remedy(), HasSubstr("run with --sync"));
  evidence_.restarts = true;  // which copies nothing
  EXPECT_THAT(Only().remedy(), Not(HasSubstr("--sync")));
  evidence_.restarts = false;
  evidence_.synced = true;
  EXPECT_THAT(Only().remedy(), HasSubstr("skips files that .gitignore"));
}

TEST_F(DiagnoseTest, HostNames) {
  Facts(2).set_hostname("host1");
  ExpectOnly(v1::CHECK_NAME, v1::CHECK_RESULT_WARNING, 2, "like that of 10.0.0.1");
  Facts(2).set_hostname("host3");
  Facts(2).set_hostname_addresses(0, "127.0.1.1");
  ExpectOnly(v1::CHECK_NAME, v1::CHECK_RESULT_WARNING, 2, "resolves to 127.0.1.1");
}

TEST_F(DiagnoseTest, ClockDiskAndLimits) {
  evidence_.nodes[1].clock_offset_ns = -2'500'000'000;
  ExpectOnly(v1::CHECK_CLOCK, v1::CHECK_RESULT_WARNING, 1, "2.5 s behind");
  evidence_.nodes[1].clock_offset_ns = 0;
  Facts(0).mutable_working_directory()->set_free(1 << 20);
  ExpectOnly(v1::CHECK_DISK, v1::CHECK_RESULT_BAD, 0, "/work is nearly full: 1.0 MiB free");
  Facts(0).mutable_working_directory()->set_free(0);
  ExpectOnly(v1::CHECK_DISK, v1::CHECK_RESULT_BAD, 0, "the disk with /work is full");
  const uint64_t size = Facts(0).working_directory().size();
  Facts(0).mutable_working_directory()->set_size(256 << 10);
  Facts(0).mutable_working_directory()->set_free(256 << 10);
  ExpectOnly(v1::CHECK_DISK, v1::CHECK_RESULT_BAD, 0, "/work has little room: 256 KiB free");
  EXPECT_THAT(Only().remedy(), HasSubstr("--workdir FOLDER"));
  Facts(0).mutable_working_directory()->set_size(100 << 20);
  Facts(0).mutable_working_directory()->set_free(99 << 20);
  ExpectOnly(v1::CHECK_DISK, v1::CHECK_RESULT_WARNING, 0, "/work has little room: 99.0 MiB free");
  Facts(0).mutable_working_directory()->set_size(size);
  Facts(0).mutable_working_directory()->set_error("not writable: Permission denied");
  ExpectOnly(v1::CHECK_DISK, v1::CHECK_RESULT_WARNING, 0,
             "the working directory /work: not writable: Permission denied");
  EXPECT_THAT(Only().remedy(), HasSubstr("make it writable"));
  plan_.set_working_directory("/");
  EXPECT_THAT(Only().remedy(), HasSubstr("--workdir FOLDER"));
  plan_.set_working_directory("/work");
  Facts(0).mutable_working_directory()->clear_error();
  Facts(0).mutable_working_directory()->set_free(1ull << 39);
  Facts(0).mutable_shared_memory()->set_size(64 << 20);
  ExpectOnly(v1::CHECK_DISK, v1::CHECK_RESULT_WARNING, 0, "/dev/shm has 64.0 MiB");
  EXPECT_THAT(Only().remedy(), HasSubstr("of a pod: an emptyDir with `medium: Memory`"));
  Facts(0).mutable_shared_memory()->set_size(1ull << 33);
  Facts(0).mutable_shared_memory()->set_free(100 << 20);
  ExpectOnly(v1::CHECK_DISK, v1::CHECK_RESULT_WARNING, 0, "/dev/shm has 100.0 MiB of 8.0 GiB free");
  Facts(0).mutable_shared_memory()->set_free(1ull << 32);
  Facts(0).set_open_files_limit(64);
  ExpectOnly(v1::CHECK_LIMITS, v1::CHECK_RESULT_WARNING, 0, "may open 64 files");
}

TEST_F(DiagnoseTest, AnUnusedVariable) {
  for (size_t node = 0; node < 3; ++node) {
    Facts(node).add_variables("NCCL_DEBUG");
    Facts(node).add_variables("NCCL_SOCKET_IFRAME");
  }
  const v1::DiagnosedIssue issue = Only();
  EXPECT_THAT(issue.nodes(), ElementsAre(0, 1, 2));
  EXPECT_THAT(issue.what(), HasSubstr("did you mean NCCL_SOCKET_IFNAME?"));
}

// Makes node 2 the same machine as node 1.
void MakeSame(Evidence& evidence, const std::function<v1::NodeInfo&(size_t)>& facts) {
  for (const size_t node : {1u, 2u}) facts(node).set_machine("boot/net/pid");
  facts(2).set_hostname("host2");
  facts(2).mutable_interfaces(0)->set_address("10.0.0.2");
  evidence.trials.clear();
}

TEST_F(DiagnoseTest, OneMachineUnderTwoNames) {
  const auto facts = [this](size_t node) -> v1::NodeInfo& { return Facts(node); };
  MakeSame(evidence_, facts);
  plan_.mutable_nodes(2)->set_data_address("10.0.0.2");
  plan_.mutable_nodes(2)->set_address("a2");
  const v1::DiagnosedIssue issue = Only();
  EXPECT_EQ(issue.what(), "10.0.0.2 and a2 are the same machine (host2)");
  EXPECT_THAT(issue.remedy(), HasSubstr("list it once"));
  EXPECT_THAT(issue.nodes(), ElementsAre(1, 2));
  for (const int node : {1, 2}) {  // which then report the same address
    plan_.mutable_nodes(node)->set_ask_data_address(true);
    evidence_.nodes[static_cast<size_t>(node)].prepared.set_data_address("10.0.0.2");
  }
  EXPECT_THAT(Only().what(), HasSubstr("are the same machine"));
}

TEST_F(DiagnoseTest, VirtualHostsOfOneMachineAreSeparateNodes) {
  const auto facts = [this](size_t node) -> v1::NodeInfo& { return Facts(node); };
  const struct {
    const char* what;
    std::function<void()> differs;
  } kCases[] = {
      {"the network or the processes", [&] { facts(2).set_machine("boot/net/pid-2"); }},
      {"the name", [&] { facts(2).set_hostname("host3"); }},
      {"the addresses", [&] { facts(2).mutable_interfaces(0)->set_address("10.0.0.3"); }},
      {"a container", [&] { plan_.mutable_nodes(2)->mutable_reach()->mutable_program(); }},
      {"nothing known", [&] { facts(2).clear_machine(); }},
  };
  for (const auto& [what, differs] : kCases) {
    MakeSame(evidence_, facts);
    plan_.mutable_nodes(2)->clear_reach();
    differs();
    EXPECT_THAT(MachinesOf(evidence_), ElementsAre(0, 1, 2)) << what;
  }
}

TEST_F(DiagnoseTest, ReportedAddresses) {
  for (int node = 0; node < 3; ++node) {
    plan_.mutable_nodes(node)->set_ask_data_address(true);
    evidence_.nodes[static_cast<size_t>(node)].prepared.set_data_address(
        plan_.nodes(node).address());
  }
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  evidence_.nodes[2].prepared.set_data_address("10.0.0.2");
  EXPECT_THAT(Only().what(), HasSubstr("10.0.0.2 and 10.0.0.3 both report 10.0.0.2"));
  evidence_.nodes[2].prepared.set_data_address("$(reboot)");
  ExpectOnly(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, 2, "no address between ranks is reported");
}

TEST_F(DiagnoseTest, InterfacesThatRanksChoose) {
  const auto set = [&](const std::string& library, const std::string& value,
                       const std::string& interface, const std::string& address) {
    Facts(1).clear_rank_networks();
    v1::RankNetwork& network = *Facts(1).add_rank_networks();
    network.set_library(library);
    network.set_variable(library == "Gloo" ? "GLOO_SOCKET_IFNAME" : "NCCL_SOCKET_IFNAME");
    network.set_value(value);
    network.set_interface(interface);
    network.set_address(address);
  };
  set("Gloo", "eth0", "eth0", "10.0.0.2");
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  set("Gloo", "eth9", "", "");
  ExpectOnly(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, 1,
             "GLOO_SOCKET_IFNAME=eth9 names no interface of this node");
  plan_.mutable_nodes(1)->clear_devices();
  set("NCCL", "^docker0", "lo", "127.0.0.1");
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);  // its ranks use no GPU
  plan_.mutable_nodes(1)->add_devices()->set_kind(v1::DEVICE_KIND_GPU);
  ExpectOnly(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, 1,
             "NCCL give 127.0.0.1 (lo) to the ranks of other");
  plan_.mutable_nodes(1)->set_interface("ib0");
  set("Gloo", "ib0", "", "");
  ExpectOnly(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, 1, "there is no interface ib0");
}

TEST_F(DiagnoseTest, ConsequencesOfAMissingFolderAreNotSeparateIssues) {
  v1::PrepareResponse& prepared = evidence_.nodes[1].prepared;
  const auto add = [&](v1::PrepareIssueKind kind, const char* cause) {
    prepared.add_issues()->set_kind(kind);
    prepared.mutable_issues()->rbegin()->set_cause(cause);
  };
  add(v1::PREPARE_ISSUE_KIND_WORKING_DIRECTORY,
      "working directory /work: No such file or directory");
  add(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND, "./train: No such file or directory");
  add(v1::PREPARE_ISSUE_KIND_ACTIVATION, "venv/bin/activate: No such file or directory");
  for (v1::NodePlan& node : *plan_.mutable_nodes()) {
    node.mutable_ranks(0)->set_argv(0, "./train");
    node.add_environment()->set_activate("source venv/bin/activate");
  }
  Facts(1).mutable_files(0)->set_digest("");
  Facts(1).mutable_files(0)->set_error("No such file or directory");
  Facts(1).clear_program();
  Facts(1).clear_python();
  ExpectOnly(v1::CHECK_FOLDER, v1::CHECK_RESULT_BAD, 1, "/work");
  evidence_.will_sync = true;  // it brings folder and program; the rest is unknown
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  evidence_.will_sync = false;
  for (v1::NodePlan& node : *plan_.mutable_nodes()) {
    node.mutable_environment(0)->set_activate("source /opt/venv/bin/activate");
  }
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 2);  // on another node
}

TEST_F(DiagnoseTest, WarningsOfAgents) {
  *evidence_.nodes[1].prepared.add_warnings() = "10.0.0.2 is on lo, and no interface is found";
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);  // a run prints it itself
  evidence_.warnings = true;
  EXPECT_EQ(Only().what(), "10.0.0.2 is on lo, and no interface is found");
  EXPECT_EQ(Only().result(), v1::CHECK_RESULT_WARNING);
  plan_.mutable_nodes(1)->set_data_address("10.0.0.9");
  ExpectOnly(v1::CHECK_ADDRESS, v1::CHECK_RESULT_BAD, 1, "no interface of this node");
}

TEST_F(DiagnoseTest, AProgramWithAnotherPath) {
  Facts(1).set_program("/opt/python");
  EXPECT_EQ(Only().what(), "the program's path is /opt/python, but /usr/bin/python on 10.0.0.1");
  EXPECT_THAT(Only().remedy(), HasSubstr("python_venv"));
  plan_.mutable_nodes(1)->mutable_reach()->mutable_ssh()->mutable_container();
  EXPECT_THAT(Only().remedy(), HasSubstr("use the same image"));
  for (size_t node = 0; node < 3; ++node) Facts(node).set_program("/usr/bin/sh");
  Facts(1).set_program("/bin/sh");
  EXPECT_TRUE(Diagnose(evidence_).issues().empty());
}

TEST_F(DiagnoseTest, AProgramThatIsNotInPath) {
  for (const size_t node : {0u, 1u}) {
    v1::PrepareIssue& issue = *evidence_.nodes[node].prepared.add_issues();
    issue.set_kind(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND);
    issue.set_cause("'trainn' is not in PATH (/bin/" + std::to_string(node) + ")");
    Facts(node).clear_program();
    Facts(node).clear_python();
  }
  const v1::DiagnosedIssue issue = Only();
  EXPECT_EQ(issue.what(), "'trainn' is not in PATH");
  EXPECT_THAT(issue.nodes(), ElementsAre(0, 1));
}

// As with --chief-on, where the folder of this machine is what --sync copies.
TEST_F(DiagnoseTest, SyncIsNoRemedyForAProgramThatThisMachineLacksToo) {
  for (v1::NodePlan& node : *plan_.mutable_nodes()) node.mutable_ranks(0)->set_argv(0, "./train");
  v1::PrepareIssue& issue = *evidence_.nodes[1].prepared.add_issues();
  issue.set_kind(v1::PREPARE_ISSUE_KIND_COMMAND_NOT_FOUND);
  issue.set_cause("'./train' does not exist");
  issue.set_remedy("put the program there");
  Facts(1).clear_program();
  Facts(1).clear_python();
  EXPECT_THAT(Only().remedy(), HasSubstr("run with --sync, which copies what this machine has"));
  evidence_.lacks_program_here = true;
  EXPECT_EQ(Only().remedy(), "put the program there");
}

TEST_F(DiagnoseTest, AMissingModule) {
  for (size_t node = 0; node < 3; ++node) {
    Facts(node).mutable_python()->set_executable("/usr/bin/python3");
    Facts(node).mutable_python()->mutable_modules(0)->set_found(false);
    Facts(node).mutable_python()->mutable_modules(0)->clear_version();
    v1::FailedImport& failed = *Facts(node).mutable_python()->mutable_failed_import();
    failed.set_error("ModuleNotFoundError: No module named 'torch'");
    failed.set_certain(true);
  }
  EXPECT_EQ(Only().result(), v1::CHECK_RESULT_WARNING);
  evidence_.optional_modules = {"torch"};
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  evidence_.optional_modules.clear();
  v1::PythonImport& import = *evidence_.probe.add_imports();
  import.set_module("torch.nn");
  import.set_where("train.py, line 3");
  const v1::DiagnosedIssue issue = Only();
  EXPECT_EQ(issue.result(), v1::CHECK_RESULT_BAD);
  EXPECT_THAT(issue.nodes(), ElementsAre(0, 1, 2));
  EXPECT_EQ(issue.what(),
            "its Python, /usr/bin/python3, has no module torch, which is imported by train.py, "
            "line 3");
}

TEST_F(DiagnoseTest, AFailingImport) {
  v1::PythonImport& import = *evidence_.probe.add_imports();
  import.set_module("torch");
  import.set_where("train.py, line 3");
  v1::FailedImport& failed = *Facts(2).mutable_python()->mutable_failed_import();
  failed.set_error("OSError: libcudart.so.12: cannot open shared object file");
  ExpectOnly(v1::CHECK_PYTHON, v1::CHECK_RESULT_WARNING, 2,
             "import torch fails: OSError: libcudart");
  failed.set_certain(true);
  ExpectOnly(v1::CHECK_PYTHON, v1::CHECK_RESULT_BAD, 2, "train.py, line 3: import torch fails");
  failed.set_index(7);  // of no import
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
}

TEST_F(DiagnoseTest, LostPacketsOfFullSize) {
  for (size_t node = 0; node < 3; ++node) Facts(node).mutable_interfaces(0)->set_mtu(9000);
  for (const size_t trial : {3u, 5u}) {  // from 1 to 2, and back
    evidence_.trials[trial].outcome.set_error("nothing of a message of 64 KiB arrives");
    evidence_.trials[trial].outcome.set_stalled(true);
  }
  const v1::DiagnosedIssue issue = Only();
  EXPECT_EQ(issue.what(),
            "10.0.0.2 and 10.0.0.3 exchange small messages, but nothing of a message "
            "of 64 KiB arrives: packets of full size get lost; eth0 of 10.0.0.2 has an MTU of "
            "9000, eth0 of 10.0.0.3 has an MTU of 9000");
  EXPECT_THAT(issue.remedy(), HasSubstr("the same MTU"));
}

TEST_F(DiagnoseTest, ATakenPortMattersIfItIsRequested) {
  evidence_.nodes[0].prepared.add_ports_taken(29500);
  EXPECT_EQ(Diagnose(evidence_).issues_size(), 0);
  evidence_.fixed_port = 29500;
  ExpectOnly(v1::CHECK_NETWORK, v1::CHECK_RESULT_BAD, 0, "port 29500 is in use there");
}

TEST_F(DiagnoseTest, UnwritableLogs) {
  evidence_.logs_here = WithRemedy(Error(StatusCode::kPermissionDenied, "/logs: denied"), "move");
  const v1::Diagnosis diagnosis = Diagnose(evidence_);
  EXPECT_TRUE(IsBad(diagnosis));
  EXPECT_THAT(DiagnosisAsText(diagnosis, false),
              HasSubstr("✗ this machine: disk\n    /logs: denied"));
}

TEST(CollectiveVariablesTest, AreSorted) {
  EXPECT_TRUE(std::ranges::is_sorted(CollectiveVariables()));
  EXPECT_TRUE(IsCollectiveVariable("GLOO_SOCKET_IFNAME"));
  EXPECT_FALSE(IsCollectiveVariable("NCCL_SOCKET_IFRAME"));
}

}  // namespace
}  // namespace autodist::diagnosis
