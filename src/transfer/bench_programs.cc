#include "transfer/bench_programs.h"

#include <filesystem>

#include "base/left_out.h"
#include "bundle/bundle.h"
#include "files/program_file.h"

namespace autodist::transfer {
namespace {

namespace fs = std::filesystem;

// The name depends on the build.
std::string NameOf(std::span<const bundle::File> files) {
  std::string all;
  for (const bundle::File& file : files) {
    all += std::string(file.name) + " " + std::string(file.sha256) + "\n";
  }
  constexpr size_t kEnough = 16;
  return bundle::Sha256(all).substr(0, kEnough);
}

Status Unpack(const bundle::File& packed, const fs::path& to) {
  if (files::HoldsProgram(to, packed.size)) return OkStatus();
  AD_ASSIGN_OR_RETURN(const std::string content, bundle::Unpack(packed));
  return files::WriteProgram(to, content);
}

}  // namespace

Result<BenchPrograms> InstallBenchPrograms(const std::string& home) {
  const auto files = bundle::BenchFiles();
  if (files.empty()) return base::LeftOut("bench", "AUTODIST_BENCH");
  const std::string place = "/.cache/autodist/bench/" + NameOf(files);
  BenchPrograms program{home + place, "~" + place, {}, {}};
  for (const bundle::File& file : files) {
    const std::string name(file.name);
    AD_RETURN_IF_ERROR(
        Annotate(Unpack(file, program.folder + "/" + name), "unpacking the program for the ranks"));
    if (name.starts_with("glibc/ld-linux")) {
      program.bench.for_cpus = {"./" + name, "--library-path", "glibc:.", "./autodist-bench"};
      program.burn.for_cpus = {"./" + name, "--library-path", "glibc:.", "./autodist-burn"};
    }
    if (name == "autodist-bench-nccl") program.bench.for_gpus = {"./" + name};
    if (name == "autodist-burn") program.burn.for_gpus = {"./" + name};
  }
  return program;
}

}  // namespace autodist::transfer
