// Functions that libstdc++, libgcc and other archives of this system need from its glibc and that
// glibc 2.31 lacks, for a program that is linked with the latter.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdlib>

namespace {

// The object that contains an address, and its frame table.
struct Search {
  uintptr_t address;
  dl_find_object& result;
};

int LookInto(dl_phdr_info* object, size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  void* frames = nullptr;
  bool found = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_GNU_EH_FRAME) frames = reinterpret_cast<void*>(begin);
    if (part.p_type == PT_LOAD && search.address - begin < part.p_memsz) found = true;
  }
  if (!found || !frames) return 0;
  search.result.dlfo_eh_frame = frames;
  return 1;
}

constexpr int kStatVersion = 1;

}  // namespace

extern "C" {

// Since 2.32: whether there is only one thread, so that counters need no atomic operations. There
// are more.
char __libc_single_threaded = 0;

// Since 2.33; before, these functions had the version of the struct as an argument.
int __xstat(int version, const char* path, struct stat* result);
int __lxstat(int version, const char* path, struct stat* result);
int __fxstat(int version, int fd, struct stat* result);
int stat(const char* path, struct stat* result) noexcept {
  return __xstat(kStatVersion, path, result);
}
int lstat(const char* path, struct stat* result) noexcept {
  return __lxstat(kStatVersion, path, result);
}
int fstat(int fd, struct stat* result) noexcept { return __fxstat(kStatVersion, fd, result); }

// Since 2.35, for exceptions: 0 if found.
int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<uintptr_t>(address), *result};
  return dl_iterate_phdr(LookInto, &search) == 1 ? 0 : -1;
}

// Since 2.36.
uint32_t arc4random() noexcept {
  uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) abort();
  return number;
}
}
