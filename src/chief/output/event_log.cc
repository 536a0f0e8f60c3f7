#include "chief/output/event_log.h"

#include <fcntl.h>
#include <google/protobuf/util/json_util.h>

#include <cerrno>
#include <filesystem>

#include "base/fd.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/wall_clock.h"

namespace autodist::chief {

class EventLog::File {
 public:
  explicit File(base::UniqueFd fd) : fd_(std::move(fd)) {}

  void Write(const std::string& line) {
    if (cut_short_) return;
    const Status written = base::WriteAll(fd_.get(), line, base::Deadline::Never());
    if (written.ok()) return;
    cut_short_ = true;
    base::Log(base::LogLevel::kWarning, "events.jsonl is cut short: " + Message(written));
  }

 private:
  base::UniqueFd fd_;
  bool cut_short_ = false;
};

EventLog::EventLog(std::shared_ptr<File> file, InBackground in_background)
    : file_(std::move(file)), in_background_(std::move(in_background)) {}

Result<std::unique_ptr<EventLog>> EventLog::Create(const std::string& folder,
                                                   InBackground in_background) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return WithRemedy(
        Error(StatusCode::kPermissionDenied, "log folder " + folder + ": " + error.message()),
        "name another place with --log-dir");
  }
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  const std::string path = folder + "/events.jsonl";
  base::UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return ErrnoError(errno, path);
  return std::unique_ptr<EventLog>(
      new EventLog(std::make_shared<File>(std::move(file)), std::move(in_background)));
}

void EventLog::Record(v1::JobEvent event) {
  event.set_time_ms(base::MillisecondsSince1970());
  event.set_what(base::ToUtf8(event.what()));
  std::string line;
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  if (!google::protobuf::util::MessageToJsonString(event, &line, options).ok()) return;
  line += '\n';
  in_background_([file = file_, line = std::move(line)] { file->Write(line); });
}

}  // namespace autodist::chief
