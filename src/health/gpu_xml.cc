// Reads the XML of nvidia-smi.
#include <expat.h>

#include <memory>

#include "base/quantity.h"
#include "health/nvidia_smi.h"

namespace autodist::health {
namespace {

constexpr size_t kMaxGpus = 256;
constexpr size_t kMaxDepth = 16;
constexpr size_t kMaxValues = 4'096;  // of a GPU
constexpr size_t kMaxValue = 256;     // bytes

std::string Trimmed(const std::string& text) {
  constexpr char kBlanks[] = " \t\r\n";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

class Reader {
 public:
  explicit Reader(XML_Parser parser) : parser_(parser) {
    XML_SetUserData(parser, this);
    XML_SetElementHandler(
        parser,
        [](void* self, const XML_Char* name, const XML_Char** attributes) {
          static_cast<Reader*>(self)->Begin(name, attributes);
        },
        [](void* self, const XML_Char*) { static_cast<Reader*>(self)->End(); });
    XML_SetCharacterDataHandler(parser, [](void* self, const XML_Char* text, int size) {
      static_cast<Reader*>(self)->AddText({text, static_cast<size_t>(size)});
    });
    // Nothing that nvidia-smi writes declares entities.
    XML_SetEntityDeclHandler(parser, [](void* self, const XML_Char*, int, const XML_Char*, int,
                                        const XML_Char*, const XML_Char*, const XML_Char*,
                                        const XML_Char*) { static_cast<Reader*>(self)->Refuse(); });
  }

  // Whether it has as many GPUs as it says: the name of a process may look like one more.
  bool Complete() const { return std::to_string(gpus_.size()) == attached_; }
  std::vector<GpuDescription> Take() { return std::move(gpus_); }

 private:
  void Refuse() { XML_StopParser(parser_, XML_FALSE); }

  void Begin(std::string_view name, const XML_Char** attributes) {
    if (path_.size() >= kMaxDepth) return Refuse();
    // What follows may have texts of any user, the names of processes.
    if (InGpu() && path_.size() == 2 && name == "processes") among_processes_ = true;
    if (path_.size() == 1 && name == "gpu") {
      if (gpus_.size() >= kMaxGpus) return Refuse();
      gpus_.emplace_back();
      among_processes_ = false;
      for (; attributes[0] != nullptr; attributes += 2) {
        if (std::string_view(attributes[0]) == "id") gpus_.back().bus_id = attributes[1];
      }
    }
    path_.emplace_back(name);
    if (InGpu() && name == "process_info") ++gpus_.back().processes;
    text_.clear();
  }

  void AddText(std::string_view text) {
    text_ += text.substr(0, kMaxValue - std::min(kMaxValue, text_.size()));
  }

  void End() {
    if (const std::string value = Trimmed(text_); InGpu() && path_.size() > 2 && !value.empty()) {
      std::string path = path_[2];
      for (size_t i = 3; i < path_.size(); ++i) path += "/" + path_[i];
      auto& values = gpus_.back().values;
      if (values.size() < kMaxValues && !among_processes_) values.emplace(path, value);
    } else if (path_.size() == 2 && path_[1] == "attached_gpus" && attached_.empty()) {
      attached_ = value;
    }
    text_.clear();
    path_.pop_back();
  }

  bool InGpu() const { return path_.size() >= 2 && path_[1] == "gpu"; }

  const XML_Parser parser_;
  std::vector<std::string> path_;  // of the current element
  std::string text_;               // of the current element, so far
  std::vector<GpuDescription> gpus_;
  bool among_processes_ = false;  // or after them, in the current GPU
  std::string attached_;
};

}  // namespace

Result<std::vector<GpuDescription>> ParseGpus(std::string_view xml) {
  const std::unique_ptr<XML_ParserStruct, void (*)(XML_Parser)> parser(XML_ParserCreate(nullptr),
                                                                       XML_ParserFree);
  Reader reader(parser.get());
  const auto status = XML_Parse(parser.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE);
  if (status != XML_STATUS_OK) {
    return Error(StatusCode::kInvalidArgument,
                 std::string("nvidia-smi -q -x: ") +
                     XML_ErrorString(XML_GetErrorCode(parser.get())) + " in line " +
                     std::to_string(XML_GetCurrentLineNumber(parser.get())));
  }
  if (!reader.Complete()) {
    return Error(StatusCode::kInvalidArgument, "nvidia-smi -q -x does not describe all GPUs");
  }
  return reader.Take();
}

}  // namespace autodist::health
