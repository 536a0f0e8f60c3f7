#include "kubernetes/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace autodist::kubernetes {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

KubernetesRequest Sweep() {
  KubernetesRequest request;
  request.name = "sweep-3-abcde";
  request.keys = {{"chief", "job-key 0123\n"}, {"worker-0", "node-key 4567\n"}};
  request.job = "{\n \"program\": [\n  \"./train\"\n ],\n \"kubernetes\": true\n}\n";
  request.image = "registry.example:5000/lab/train:1";
  request.autodist_image = "lab/autodist";
  request.nodes = 4;
  request.gpus = 8;
  request.cpus = "96";
  request.memory = "1Ti";
  request.volumes = {{"data", "/data", true}, {"runs", "/runs"}};
  request.env_from = {"wandb"};
  request.pull_secret = "registry";
  request.grace = std::chrono::seconds(120);
  return request;
}

// Set UPDATE_GOLDEN=1 to update the file after an intended change.
TEST(KubernetesManifestTest, EqualsTheGoldenFile) {
  const std::string path = TEST_SOURCE_DIR "/golden/jobset.yaml";
  const std::string text = CompanionsManifest(Sweep(), "") + "---\n" + JobSetManifest(Sweep());
  if (std::getenv("UPDATE_GOLDEN")) std::ofstream(path) << text;
  std::ifstream file(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(file), {}));
}

YAML::Node PodOf(const std::string& manifest, int job) {
  return YAML::Load(
      manifest)["spec"]["replicatedJobs"][job]["template"]["spec"]["template"]["spec"];
}

TEST(KubernetesManifestTest, AnyTextArrivesUnchanged) {
  const std::vector<std::string> texts = {
      "",       " ",      "yes",  "No",        "null", "~",        "1",     "1e3",
      "0x1f",   "1:30",   "-",    "--",        "---",  "- a",      "a: b",  "a #b",
      "#a",     "a:",     "*a",   "&a",        "!a",   "%a",       "@a",    "`a`",
      "{a}",    "[a]",    "|",    ">",         "'",    "\"",       "\\",    "\\n",
      "a\nb\n", "\t",     "\r\n", "\x01\x1b",  "\x7f", "\xc2\x85", "ü 字",  "\xf0\x9f\x98\x80",
      "\u2028", "\ufeff", "$",    "$$",        "$A",   "$(A)",     "$$(A)", "$$$(A)",
      "a$",     "a$$",    "$(",   "--a=$(A)b", "--x",  "--no",     "=",     "<<",
      ".",      ".5",     "a,b",  "@"};
  for (const std::string& text : texts) {
    KubernetesRequest request = Sweep();
    request.job = text;
    const auto objects = YAML::LoadAll(CompanionsManifest(request, ""));
    EXPECT_EQ(objects[1]["stringData"]["request"].as<std::string>(), text);
  }
}

TEST(KubernetesManifestTest, OneNodeIsOnlyTheChief) {
  KubernetesRequest request;
  request.name = "one";
  request.image = "box";
  const YAML::Node jobs = YAML::Load(JobSetManifest(request))["spec"]["replicatedJobs"];
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]["name"].as<std::string>(), "chief");
  const YAML::Node pod = PodOf(JobSetManifest(request), 0);
  EXPECT_FALSE(pod["containers"][0]["resources"]);
  EXPECT_EQ(pod["containers"][0]["command"][0].as<std::string>(), "autodist");
  EXPECT_EQ(pod["volumes"].size(), 2U) << "shared memory and the request";
  EXPECT_FALSE(pod["initContainers"]);
}

TEST(KubernetesManifestTest, CompanionsAreDeletedWithTheirJobSet) {
  for (const YAML::Node& object : YAML::LoadAll(CompanionsManifest(Sweep(), "1-2-3"))) {
    const YAML::Node owner = object["metadata"]["ownerReferences"][0];
    EXPECT_EQ(owner["kind"].as<std::string>(), "JobSet");
    EXPECT_EQ(owner["name"].as<std::string>(), Sweep().name);
    EXPECT_EQ(owner["uid"].as<std::string>(), "1-2-3");
  }
  EXPECT_THAT(CompanionsManifest(Sweep(), ""), Not(HasSubstr("ownerReferences")));
  EXPECT_THAT(JobSetManifest(Sweep()), Not(HasSubstr("0123")));
}

TEST(KubernetesManifestTest, APodHasOnlyItsOwnKey) {
  const std::string manifest = JobSetManifest(Sweep());
  const auto mounts_of_keys = [&](int job) {
    std::vector<YAML::Node> mounts;
    for (const YAML::Node& mount : PodOf(manifest, job)["containers"][0]["volumeMounts"]) {
      if (mount["mountPath"].as<std::string>() == "/etc/autodist/key") mounts.push_back(mount);
    }
    return mounts;
  };
  ASSERT_EQ(mounts_of_keys(0).size(), 1U);
  EXPECT_EQ(mounts_of_keys(0)[0]["subPath"].as<std::string>(), "chief");
  ASSERT_EQ(mounts_of_keys(1).size(), 1U);
  EXPECT_EQ(mounts_of_keys(1)[0]["subPathExpr"].as<std::string>(),
            "worker-$(JOB_COMPLETION_INDEX)");
}

TEST(ObjectNameTest, IsALabelWithRoomForSuffixes) {
  EXPECT_THAT(ObjectName("Sweep_3.b"), MatchesRegex("sweep-3-b-[a-z2-7]{5}"));
  EXPECT_THAT(ObjectName("3-a-"), MatchesRegex("a-[a-z2-7]{5}"));
  for (const char* none : {"", "42", "-._"}) {
    EXPECT_THAT(ObjectName(none), MatchesRegex("autodist-[a-z2-7]{5}"));
  }
  const std::string longest = ObjectName(std::string(64, 'x'));
  EXPECT_EQ((longest + "-worker-0-99999-abcde").size(), 63U);
  EXPECT_NE(ObjectName("a"), ObjectName("a"));
}

TEST(ParseVolumeTest, HasAClaimAndAPath) {
  const auto data = ParseVolume("data:/data:ro");
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->claim, "data");
  EXPECT_EQ(data->path, "/data");
  EXPECT_TRUE(data->read_only);
  EXPECT_FALSE(ParseVolume("runs:/runs")->read_only);
  for (const char* wrong :
       {"", "data", "data:", "data:data", ":/data", "data:/data:rw", "a:/b:ro:"}) {
    EXPECT_FALSE(ParseVolume(wrong).ok()) << wrong;
  }
}

}  // namespace
}  // namespace autodist::kubernetes
