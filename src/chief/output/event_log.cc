#include "chief/output/event_log.h"

#include <fcntl.h>

#include "base/log.h"
#include "base/utf8.h"
#include "base/wall_clock.h"
#include "json/plain_json.h"

namespace autodist::chief {

Result<std::unique_ptr<EventLog>> EventLog::Create(const base::LogFolder& folder, Loop& loop) {
  AD_ASSIGN_OR_RETURN(base::UniqueFd file,
                      folder.OpenFile("events.jsonl", O_WRONLY | O_CREAT | O_APPEND));
  return std::unique_ptr<EventLog>(new EventLog(loop, std::move(file)));
}

void EventLog::Record(v1::JobEvent event) {
  event.set_time_ms(base::MillisecondsSince1970());
  event.set_what(base::ToUtf8(event.what()));
  std::string line = json::PlainJson(event, {.absent = json::Absent::kOmitted});
  ++recorded_;
  last_.push_back(std::move(event));
  if (last_.size() > kLast) last_.pop_front();
  line += '\n';
  loop_.InBackground([this, line = std::move(line)] { Write(line); });
}

void EventLog::Write(const std::string& line) {
  if (cut_short_) return;
  const Status written = base::WriteAll(file_.get(), line, base::Deadline::Never());
  if (written.ok()) return;
  cut_short_ = true;
  base::Log(base::LogLevel::kWarning, "events.jsonl is cut short: " + Message(written));
}

}  // namespace autodist::chief
