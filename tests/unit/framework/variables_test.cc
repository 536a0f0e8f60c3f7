// Variables of each framework; tests/cluster/frameworks runs the frameworks themselves.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>

#include "support/example_plan.h"

namespace autodist::framework {
namespace {

using test::kTwoAndOne;
using test::kTwoTimesTwoGpus;
using test::StepOf;
using test::ValueOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Expected = std::vector<std::pair<const char*, const char*>>;

constexpr auto kPerNode = v1::PROGRAM_KIND_PER_NODE;
constexpr auto kPerJob = v1::PROGRAM_KIND_PER_JOB;

v1::LaunchPlan PlanOf(const char* spec, const std::string& framework,
                      v1::ProgramKind kind = v1::PROGRAM_KIND_PER_DEVICE) {
  return test::Whole(*plan::MakePlan(test::InputFor(spec, {framework}, kind)));
}

void ExpectValues(const v1::RankPlan& process, const Expected& expected) {
  for (const auto& [name, value] : expected) EXPECT_EQ(ValueOf(process, name), value) << name;
}

TEST(TorchTest, TorchrunNeedsNoArguments) {
  const v1::LaunchPlan plan = PlanOf(kTwoAndOne, "torch", kPerNode);
  ASSERT_EQ(plan.nodes(0).ranks_size(), 1);
  ASSERT_EQ(plan.nodes(1).ranks_size(), 1);
  ExpectValues(plan.nodes(0).ranks(0), {{"PET_NPROC_PER_NODE", "2"}, {"PET_NODE_RANK", "0"}});
  ExpectValues(plan.nodes(1).ranks(0), {{"PET_NNODES", "2"},
                                        {"PET_NPROC_PER_NODE", "1"},
                                        {"PET_NODE_RANK", "1"},
                                        {"PET_MASTER_ADDR", "10.0.0.1"},
                                        {"PET_MASTER_PORT", "4711"},
                                        {"PET_LOCAL_ADDR", "10.0.0.2"},
                                        {"AUTODIST_WORLD_SIZE", "3"},
                                        {"AUTODIST_NODE_RANK", "1"},
                                        {"AUTODIST_RANK", "(unset)"},
                                        {"RANK", "(unset)"},
                                        {"LOCAL_RANK", "(unset)"}});
  // The chief may not recognize itself by its address.
  ExpectValues(plan.nodes(0).ranks(0), {{"PET_RDZV_CONF", "is_host=1"}});
  ExpectValues(plan.nodes(1).ranks(0), {{"PET_RDZV_CONF", "(unset)"}});
  EXPECT_THAT(plan.nodes(0).ports(), ElementsAre(4711));
  EXPECT_EQ(plan.world_size(), 3u);
  EXPECT_EQ(plan.nodes(1).ranks(0).name(), "process 1");
}

TEST(DeepspeedTest, HasTorchsVariablesAndTheNodes) {
  const v1::LaunchPlan plan = PlanOf(kTwoAndOne, "deepspeed");
  ExpectValues(plan.nodes(1).ranks(0), {{"RANK", "2"},
                                        {"MASTER_PORT", "4711"},
                                        {"CROSS_RANK", "1"},
                                        {"CROSS_SIZE", "2"},
                                        {"LOCAL_SIZE", "1"}});
}

TEST(PaddleTest, RanksHaveEndpoints) {
  const v1::LaunchPlan plan = PlanOf(kTwoTimesTwoGpus, "paddle");
  ExpectValues(
      plan.nodes(1).ranks(1),
      {{"PADDLE_MASTER", "10.0.0.1:4711"},
       {"PADDLE_TRAINER_ID", "3"},
       {"PADDLE_TRAINERS_NUM", "4"},
       {"PADDLE_CURRENT_ENDPOINT", "10.0.0.2:20001"},
       {"PADDLE_TRAINER_ENDPOINTS", "10.0.0.1:20000,10.0.0.1:20001,10.0.0.2:20000,10.0.0.2:20001"},
       {"FLAGS_selected_gpus", "1"},
       {"PADDLE_DISTRI_BACKEND", "(unset)"},
       {"CUDA_VISIBLE_DEVICES", "0,1"},
       {"MASTER_ADDR", "(unset)"},
       {"RANK", "(unset)"}});
  ExpectValues(PlanOf(kTwoAndOne, "paddle").nodes(0).ranks(0),
               {{"PADDLE_DISTRI_BACKEND", "gloo"}, {"FLAGS_selected_gpus", "(unset)"}});
  EXPECT_THAT(plan.nodes(0).ports(), ElementsAre(4711, 20000, 20001));
  EXPECT_THAT(plan.nodes(1).ports(), ElementsAre(20000, 20001));
}

TEST(PaddleTest, SpawningProgramsGetTheClusterFromTheEnvironment) {
  const Expected launcher = {{"PADDLE_MASTER", "10.0.0.1:4711"},
                             {"PADDLE_NNODES", "2"},
                             {"PADDLE_RANK", "1"},
                             {"POD_IP", "10.0.0.2"}};
  const v1::LaunchPlan on_gpus = PlanOf(kTwoTimesTwoGpus, "paddle", kPerNode);
  ExpectValues(on_gpus.nodes(1).ranks(0), launcher);
  ExpectValues(on_gpus.nodes(1).ranks(0), {{"PADDLE_TRAINERS", "10.0.0.1,10.0.0.2"},
                                           {"PADDLE_TRAINER_ID", "1"},
                                           {"PADDLE_TRAINERS_NUM", "2"},
                                           {"TRAINER_PORTS_NUM", "2"}});
  // spawn would refuse CPUs.
  const v1::LaunchPlan on_cpus = PlanOf(kTwoAndOne, "paddle", kPerNode);
  ExpectValues(on_cpus.nodes(1).ranks(0), launcher);
  ExpectValues(on_cpus.nodes(1).ranks(0),
               {{"PADDLE_TRAINERS_NUM", "(unset)"}, {"CUDA_VISIBLE_DEVICES", "all"}});
}

TEST(PaddleTest, RefusesAddressesThatPaddleCannotParse) {
  const auto plan = plan::MakePlan(test::InputFor(
      "nodes: [{address: 'fd00::1', chief: true}, {address: 'fd00::2', ssh_config: a}]\n"
      "ssh: {a: {}}",
      {"paddle"}));
  EXPECT_EQ(Message(plan.status()),
            "framework 'paddle': Paddle cannot use IPv6 addresses: fd00::1,fd00::2");
}

// spawn would start a separate training on each node.
TEST(PaddleTest, RefusesPythonIfSpawnWouldStayOnItsNode) {
  const auto plan_of = [](const std::string& spec, std::vector<std::string> command) {
    plan::Input input = test::InputFor(spec, {"paddle"}, kPerNode);
    input.command = std::move(command);
    return plan::MakePlan(input);
  };
  const auto on_cpus = plan_of(kTwoAndOne, {"/usr/bin/python3", "main.py"});
  EXPECT_EQ(
      Message(on_cpus.status()),
      "framework 'paddle': a program that calls paddle.distributed.spawn would train alone on "
      "each node: spawn needs the same number of GPUs on all of them, but 10.0.0.1 has 2 "
      "CPUs, 10.0.0.2 has 1 CPU");
  EXPECT_EQ(Remedy(on_cpus.status()),
            "leave out --per node, or start it by python -m paddle.distributed.launch");
  const std::string unequal =
      "nodes: [{address: 10.0.0.1, gpus: [0, 1], chief: true}, "
      "{address: 10.0.0.2, gpus: [0], ssh_config: a}]\nssh: {a: {}}";
  EXPECT_THAT(Message(plan_of(unequal, {"python", "main.py"}).status()),
              HasSubstr("but 10.0.0.1 has 2 GPUs, 10.0.0.2 has 1 GPU"));

  const std::string one_node = "nodes: [{address: 10.0.0.1, cpus: [0, 1]}]";
  EXPECT_TRUE(plan_of(kTwoTimesTwoGpus, {"python", "main.py"}).ok());
  EXPECT_TRUE(plan_of(one_node, {"python", "main.py"}).ok());
  EXPECT_TRUE(plan_of(unequal, {"python", "-m", "paddle.distributed.launch", "main.py"}).ok());
  EXPECT_TRUE(plan_of(unequal, {"python", "-umpaddle.distributed.launch", "main.py"}).ok());
  EXPECT_TRUE(plan_of(unequal, {"python", "/usr/bin/fleetrun", "main.py"}).ok());
  EXPECT_TRUE(plan_of(unequal, {"./train.sh"}).ok());
}

TEST(MindsporeTest, TheSchedulerIsAnAdditionalProcess) {
  const v1::LaunchPlan plan = PlanOf(kTwoAndOne, "mindspore");
  ASSERT_EQ(plan.nodes(0).ranks_size(), 3);
  const v1::RankPlan& scheduler = plan.nodes(0).ranks(2);
  EXPECT_TRUE(scheduler.auxiliary());
  EXPECT_EQ(scheduler.rank(), 3u);
  EXPECT_EQ(scheduler.name(), "the scheduler");
  EXPECT_THAT(scheduler.argv(), ElementsAre("./train"));
  ExpectValues(scheduler, {{"MS_ROLE", "MS_SCHED"},
                           {"MS_WORKER_NUM", "3"},
                           {"MS_NODE_ID", "(unset)"},
                           {"AUTODIST_RANK", "(unset)"}});
  ExpectValues(plan.nodes(1).ranks(0), {{"MS_ROLE", "MS_WORKER"},
                                        {"MS_NODE_ID", "2"},
                                        {"MS_WORKER_NUM", "3"},
                                        {"MS_SCHED_HOST", "10.0.0.1"},
                                        {"MS_SCHED_PORT", "4711"}});
  EXPECT_EQ(plan.world_size(), 3u);
}

TEST(GrpcTest, NodesAreReachedWithoutAProxy) {
  for (const char* framework : {"jax", "tensorflow"}) {
    ExpectValues(PlanOf(kTwoAndOne, framework).nodes(1).ranks(0),
                 {{"no_grpc_proxy", "10.0.0.1,10.0.0.2"}});
  }
}

TEST(JaxTest, OneProcessPerDeviceOrPerNode) {
  ExpectValues(PlanOf(kTwoAndOne, "jax").nodes(1).ranks(0),
               {{"JAX_COORDINATOR_ADDRESS", "10.0.0.1:4711"},
                {"JAX_LOCAL_DEVICE_IDS", "0"},
                {"SLURM_NTASKS", "3"},
                {"SLURM_PROCID", "2"}});
  ExpectValues(PlanOf(kTwoTimesTwoGpus, "jax", kPerNode).nodes(1).ranks(0),
               {{"JAX_LOCAL_DEVICE_IDS", "0,1"}, {"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "1"}});
}

TEST(TensorflowTest, EveryRankIsAWorker) {
  const v1::LaunchPlan plan = PlanOf(kTwoAndOne, "tensorflow");
  EXPECT_EQ(ValueOf(plan.nodes(1).ranks(0), "TF_CONFIG"),
            R"({"cluster":{"worker":["10.0.0.1:20000","10.0.0.1:20001","10.0.0.2:20000"]},)"
            R"("task":{"type":"worker","index":2}})");
  EXPECT_THAT(plan.nodes(0).ports(), ElementsAre(20000, 20001));
  EXPECT_EQ(ValueOf(PlanOf(kTwoAndOne, "tensorflow", kPerNode).nodes(1).ranks(0), "TF_CONFIG"),
            R"({"cluster":{"worker":["10.0.0.1:20000","10.0.0.2:20000"]},)"
            R"("task":{"type":"worker","index":1}})");
}

// A worker takes all visible GPUs; PyTorch beside it needs all of the node.
TEST(TensorflowTest, AWorkerOfADeviceSeesOnlyThat) {
  const v1::LaunchPlan plan = PlanOf(kTwoTimesTwoGpus, "tensorflow");
  ExpectValues(plan.nodes(0).ranks(1), {{"CUDA_VISIBLE_DEVICES", "3"}});
  ExpectValues(plan.nodes(1).ranks(0), {{"CUDA_VISIBLE_DEVICES", "0"}});
  ExpectValues(PlanOf(kTwoTimesTwoGpus, "tensorflow", kPerNode).nodes(0).ranks(0),
               {{"CUDA_VISIBLE_DEVICES", "2,3"}});
  ExpectValues(PlanOf(kTwoAndOne, "tensorflow").nodes(0).ranks(1), {{"CUDA_VISIBLE_DEVICES", ""}});
  const auto both = plan::MakePlan(test::InputFor(kTwoTimesTwoGpus, {"tensorflow", "torch"}));
  ExpectValues(both->nodes(0).ranks(1), {{"CUDA_VISIBLE_DEVICES", "2,3"}});
}

TEST(HorovodTest, RefusesAddressesThatHorovodCannotUse) {
  const auto plan = plan::MakePlan(test::InputFor("nodes: [{address: 'fd00::1'}]", {"horovod"}));
  EXPECT_EQ(Message(plan.status()),
            "framework 'horovod': Horovod cannot use IPv6 addresses: fd00::1");
  EXPECT_EQ(Remedy(plan.status()), "give this node an IPv4 data_address in the spec");
}

TEST(HorovodTest, HasAStoreOnTheChief) {
  const v1::LaunchPlan plan = PlanOf(kTwoAndOne, "horovod");
  EXPECT_THAT(plan.nodes(0).ranks(2).argv(), ElementsAre("horovod-store", "10.0.0.1", "4711"));
  // Only one node has a second rank.
  ExpectValues(plan.nodes(0).ranks(1), {{"HOROVOD_RANK", "1"},
                                        {"HOROVOD_SIZE", "3"},
                                        {"HOROVOD_LOCAL_RANK", "1"},
                                        {"HOROVOD_CROSS_RANK", "0"},
                                        {"HOROVOD_CROSS_SIZE", "1"}});
  ExpectValues(plan.nodes(1).ranks(0), {{"HOROVOD_LOCAL_SIZE", "1"},
                                        {"HOROVOD_CROSS_RANK", "1"},
                                        {"HOROVOD_CROSS_SIZE", "2"},
                                        {"HOROVOD_GLOO_RENDEZVOUS_ADDR", "10.0.0.1"},
                                        {"HOROVOD_GLOO_RENDEZVOUS_PORT", "4711"}});
}

std::string Default(const v1::NodePlan& node, const std::string& name) {
  const v1::SetVariable variable = StepOf(node, name);
  return variable.unless().empty() ? "(unset)" : variable.literal();
}

TEST(MpiTest, NodesAreReachedThroughASeparatePort) {
  const v1::LaunchPlan plan = PlanOf(kTwoAndOne, "mpi", kPerJob);
  ASSERT_EQ(plan.nodes(0).ranks_size(), 1);
  EXPECT_FALSE(plan.nodes(0).ranks(0).auxiliary());
  EXPECT_EQ(plan.nodes(0).files(0).content(), "10.0.0.1 slots=2\n10.0.0.2 slots=1\n");
  for (const char* name : {"OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"}) {
    EXPECT_EQ(StepOf(plan.nodes(0), name).on_node(), "{files}/hostfile");
  }
  for (const char* name : {"OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent"}) {
    EXPECT_EQ(StepOf(plan.nodes(0), name).on_node(), "{agent} remote-shell");
  }
  ASSERT_EQ(plan.nodes(1).ranks_size(), 1);
  EXPECT_TRUE(plan.nodes(1).ranks(0).auxiliary());
  EXPECT_TRUE(plan.nodes(1).ranks(0).by_agent());
  EXPECT_FALSE(plan.pmix());
  EXPECT_TRUE(PlanOf(kTwoAndOne, "mpi").pmix());
}

TEST(MpiTest, OfServiceProcessesOnlyMpirunsChildrenSeeGpus) {
  ExpectValues(PlanOf(kTwoTimesTwoGpus, "mpi", kPerJob).nodes(1).ranks(0),
               {{"CUDA_VISIBLE_DEVICES", "0,1"}});
  ExpectValues(PlanOf(kTwoTimesTwoGpus, "mindspore").nodes(0).ranks(2),
               {{"CUDA_VISIBLE_DEVICES", ""}});
}

TEST(MpiTest, TrafficStaysInTheNetworkOfTheNodes) {
  const char* kVariable = "OMPI_MCA_btl_tcp_if_include";
  EXPECT_EQ(Default(PlanOf(kTwoAndOne, "mpi").nodes(1), kVariable), "10.0.0.0/30");
  const auto network = [&](const std::string& one, const std::string& other) {
    const std::string spec = "nodes: [{address: '" + one + "', chief: true}, {address: '" + other +
                             "', ssh_config: a}]\nssh: {a: {}}";
    return Default(PlanOf(spec.c_str(), "mpi").nodes(0), kVariable);
  };
  EXPECT_EQ(network("172.31.30.187", "172.31.18.140"), "172.31.16.0/20");
  EXPECT_EQ(network("10.0.0.1", "192.168.0.1"), "(unset)");  // no common network
  EXPECT_EQ(network("fd00::1", "fd00::2"), "(unset)");
  EXPECT_EQ(Default(PlanOf("nodes: [{address: 10.0.0.1}]", "mpi").nodes(0), kVariable),
            "10.0.0.1/32");
}

TEST(MpiTest, MpirunPassesTheNetworkToTheNodes) {
  const v1::LaunchPlan plan = PlanOf(kTwoAndOne, "mpi", kPerJob);
  EXPECT_EQ(Default(plan.nodes(0), "OMPI_MCA_btl_tcp_if_include"), "10.0.0.0/30");
  EXPECT_EQ(Default(plan.nodes(1), "OMPI_MCA_btl_tcp_if_include"), "(unset)");
}

TEST(MpiTest, ExcludedInterfacesReplaceTheNetworkOfTheNodes) {
  plan::Input input = test::InputFor(kTwoAndOne, {"mpi"}, kPerJob);
  input.command = {"sh", "-c", "mpirun --mca btl_tcp_if_exclude lo ./train"};
  const v1::NodePlan chief = plan::MakePlan(input)->nodes(0);
  EXPECT_EQ(Default(chief, "OMPI_MCA_btl_tcp_if_include"), "(unset)");
  EXPECT_EQ(Default(chief, "OMPI_MCA_oob_tcp_if_include"), "10.0.0.0/30");
  EXPECT_THAT(StepOf(chief, "OMPI_MCA_oob_tcp_if_include").unless(),
              ElementsAre("OMPI_MCA_oob_tcp_if_include", "OMPI_MCA_oob_tcp_if_exclude"));
}

}  // namespace
}  // namespace autodist::framework
