#include "launch/bench_program.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "bundle/bundle.h"
#include "files/temporary_file.h"

namespace autodist::launch {
namespace {

namespace fs = std::filesystem;

// Other builds have other names.
std::string NameOf(std::span<const bundle::File> files) {
  std::string all;
  for (const bundle::File& file : files) {
    all += std::string(file.name) + " " + std::string(file.sha256) + "\n";
  }
  constexpr size_t kEnough = 16;
  return bundle::Sha256(all).substr(0, kEnough);
}

// There whole or not at all, as a run may begin while another one unpacks.
Status Unpack(const bundle::File& packed, const fs::path& to) {
  std::error_code error;
  if (fs::file_size(to, error) == packed.size && !error) return OkStatus();
  AD_ASSIGN_OR_RETURN(const std::string content, bundle::Unpack(packed));
  fs::create_directories(to.parent_path(), error);
  if (error) return ErrnoError(error.value(), "making the folder " + to.parent_path().string());
  const base::UniqueFd folder(open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return ErrnoError(errno, to.parent_path().string());
  AD_ASSIGN_OR_RETURN(files::TemporaryFile file, files::TemporaryFile::Create(folder.get()));
  AD_RETURN_IF_ERROR(base::WriteAll(file.fd(), content, base::Deadline::Never()));
  if (fchmod(file.fd(), 0700) != 0) return ErrnoError(errno, to.string());
  return file.Keep(to.filename());
}

}  // namespace

Result<BenchProgram> InstallBenchProgram(const std::string& home) {
  const auto files = bundle::BenchFiles();
  if (files.empty()) return Error(StatusCode::kUnimplemented, "this build has no bench inside");
  const std::string place = "/.cache/autodist/bench/" + NameOf(files);
  BenchProgram program{home + place, "~" + place, {}, {}};
  for (const bundle::File& file : files) {
    const std::string name(file.name);
    AD_RETURN_IF_ERROR(
        Annotate(Unpack(file, program.folder + "/" + name), "unpacking the program for the ranks"));
    if (name.starts_with("glibc/ld-linux")) {
      program.for_cpus = {"./" + name, "--library-path", "glibc:.", "./autodist-bench"};
    }
    if (name == "autodist-bench-nccl") program.for_gpus = {"./" + name};
  }
  return program;
}

}  // namespace autodist::launch
