#include "chief/checks/synced_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_folder.h"

namespace autodist::chief {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::Pair;

TEST(CompareWithSyncTest, KnowsWhatIsCopiedAndWhatLeadsOut) {
  const test::TempFolder around;
  const fs::path folder = fs::path(around.path()) / "work";
  fs::create_directories(folder / "src");
  fs::create_directories(fs::path(around.path()) / "common");
  for (const char* file : {"work/train.py", "work/src/net.py", "work/ignored.yaml",
                           "work/.gitignore", "common/far.py", "other.yaml"}) {
    around.Write(file, "ignored.yaml\n");
  }
  fs::create_symlink("src/net.py", folder / "near.py");
  fs::create_symlink(fs::path(around.path()) / "common/far.py", folder / "far.py");
  fs::create_symlink("../common", folder / "data");
  fs::create_symlink("/usr", folder / "src/usr");
  fs::create_symlink("..", folder / "up");
  fs::create_symlink("nowhere", folder / "dangling");
  fs::create_symlink("/no/where", folder / "dangling-out");

  const auto tree = files::ScanFolder(folder, "");
  ASSERT_TRUE(tree.ok()) << tree.status();
  const std::string other = around.path() + "/other.yaml";
  const SyncedFiles found =
      CompareWithSync(*tree, {"train.py", "./src/net.py", "near.py", "far.py", "data/far.py",
                              "ignored.yaml", "../other.yaml", other, "missing"});
  EXPECT_THAT(found.not_copied,
              testing::UnorderedElementsAre("far.py", "data/far.py", "ignored.yaml",
                                            "../other.yaml", other));
  const std::string far = fs::canonical(around.path()) / "common/far.py";
  EXPECT_THAT(found.leads_out, ElementsAre(Pair("data/far.py", far), Pair("far.py", far)));
  EXPECT_THAT(found.links,
              ElementsAre(Pair("data", "../common"), Pair("src/usr", "/usr"), Pair("up", "../")));
}

}  // namespace
}  // namespace autodist::chief
