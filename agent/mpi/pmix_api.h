// RAII wrappers for the PMIx library. The only file that includes it.
#pragma once

#include <pmix.h>
#include <pmix_server.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "autodist/status.h"

namespace autodist::agent {

inline Status FromPmix(pmix_status_t status, const std::string& what) {
  if (status == PMIX_SUCCESS || status == PMIX_OPERATION_SUCCEEDED) return OkStatus();
  return Error(StatusCode::kInternal, "PMIx: " + what + ": " + PMIx_Error_string(status));
}

inline pmix_proc_t PmixProcess(const std::string& name_space, pmix_rank_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, name_space.c_str(), rank);
  return process;
}

// A text allocated by the library.
using PmixText = std::unique_ptr<char, void (*)(void*)>;
inline PmixText OwnPmixText(char* text) { return {text, std::free}; }

// Attributes by the library's keys.
class PmixInfos {
 public:
  PmixInfos() = default;
  PmixInfos(const PmixInfos&) = delete;
  PmixInfos& operator=(const PmixInfos&) = delete;
  ~PmixInfos() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }

  void Add(const char* key, const char* value) { Load(key, value, PMIX_STRING); }
  void Add(const char* key, const std::string& value) { Add(key, value.c_str()); }
  void Add(const char* key, bool value) { Load(key, &value, PMIX_BOOL); }
  void Add(const char* key, uint16_t value) { Load(key, &value, PMIX_UINT16); }
  void Add(const char* key, uint32_t value) { Load(key, &value, PMIX_UINT32); }
  void AddRank(const char* key, pmix_rank_t rank) { Load(key, &rank, PMIX_PROC_RANK); }
  // Adds all of them as one value.
  void Add(const char* key, PmixInfos& array) {
    pmix_data_array_t data{PMIX_INFO, array.infos_.size(), array.infos_.data()};
    Load(key, &data, PMIX_DATA_ARRAY);
  }

  pmix_info_t* data() { return infos_.data(); }
  size_t size() const { return infos_.size(); }

 private:
  void Load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t& info = infos_.emplace_back();
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);  // copies
  }

  std::vector<pmix_info_t> infos_;
};

}  // namespace autodist::agent
