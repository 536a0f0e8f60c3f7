#include "launch/bench_program.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <vector>

#include "base/fd.h"
#include "files/digest.h"
#include "files/temporary_file.h"
#include "reach/this_machine.h"

namespace autodist::launch {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLargestFile = 256 << 20;

Result<std::vector<std::string>> FilesOf(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename());
  }
  if (error || names.empty()) {
    return WithRemedy(ErrnoError(error ? error.value() : ENOENT,
                                 "the program for the ranks, in " + folder.string()),
                      "keep the folder bench/ beside autodist, as the build makes it");
  }
  std::ranges::sort(names);
  return names;
}

// Other builds have other names.
Result<std::string> NameOf(const fs::path& folder, const std::vector<std::string>& files) {
  std::string all;
  for (const std::string& file : files) {
    AD_ASSIGN_OR_RETURN(const std::string digest, files::DigestOfFile(folder / file));
    all += file + " " + digest + "\n";
  }
  char name[17];
  std::snprintf(name, sizeof name, "%016zx", std::hash<std::string>()(all));
  return std::string(name);
}

// There whole or not at all, as a run may begin while another one copies.
Status Copy(const fs::path& from, const fs::path& to) {
  std::error_code error;
  if (fs::file_size(from, error) == fs::file_size(to, error) && !error) return OkStatus();
  AD_ASSIGN_OR_RETURN(const std::string content, base::ReadFile(from, kLargestFile));
  const base::UniqueFd folder(open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return ErrnoError(errno, to.parent_path().string());
  AD_ASSIGN_OR_RETURN(files::TemporaryFile file, files::TemporaryFile::Create(folder.get()));
  AD_RETURN_IF_ERROR(base::WriteAll(file.fd(), content, base::Deadline::Never()));
  if (fchmod(file.fd(), 0700) != 0) return ErrnoError(errno, to.string());
  return file.Keep(to.filename());
}

}  // namespace

Result<BenchProgram> InstallBenchProgram(const std::string& home) {
  const fs::path source = fs::path(reach::ProgramsFolder()) / "bench";
  AD_ASSIGN_OR_RETURN(const auto files, FilesOf(source));
  AD_ASSIGN_OR_RETURN(const std::string name, NameOf(source, files));
  const std::string place = "/.cache/autodist/bench/" + name;
  std::error_code error;
  fs::create_directories(home + place, error);
  if (error) return ErrnoError(error.value(), "making the folder " + home + place);
  for (const std::string& file : files) {
    AD_RETURN_IF_ERROR(Annotate(Copy(source / file, home + place + "/" + file),
                                "copying the program for the ranks"));
  }
  return BenchProgram{home + place, "~" + place};
}

}  // namespace autodist::launch
