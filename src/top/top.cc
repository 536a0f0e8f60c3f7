#include "top/top.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/split.h"
#include "base/thread.h"
#include "base/utf8.h"
#include "control/diagnose_job.h"
#include "control/job_client.h"
#include "snapshot/lookup.h"
#include "top/job_poller.h"
#include "top/keys.h"
#include "top/layout.h"
#include "top/render.h"
#include "top/terminal.h"
#include "top/view_model.h"

namespace autodist::top {
namespace {

// A request to a job's autodist, made on its own thread. One kind of request; `Answer` is a Status
// or a Result. Thread-safe except the destructor, which blocks until the request has returned.
template <typename Answer>
class Request {
 public:
  using Ask = std::function<Answer(const std::stop_token& stop)>;

  // `changed` is called on any thread when an answer arrives; must not block.
  Request(Ask ask, std::function<void()> changed)
      : ask_(std::move(ask)), changed_(std::move(changed)) {}

  // Does nothing while a request is under way.
  void Start() {
    {
      const std::lock_guard lock(mutex_);
      if (std::exchange(asking_, true)) return;
    }
    auto thread = base::StartThread([this](const std::stop_token& stop) { Take(ask_(stop)); });
    if (!thread.ok()) return Take(thread.status());
    thread_ = *std::move(thread);
  }

  // Returns each answer once.
  std::optional<Answer> TakeAnswer() {
    const std::lock_guard lock(mutex_);
    return std::exchange(answer_, std::nullopt);
  }

 private:
  void Take(Answer answer) {
    {
      const std::lock_guard lock(mutex_);
      answer_ = std::move(answer);
      asking_ = false;
    }
    changed_();
  }

  const Ask ask_;
  const std::function<void()> changed_;
  std::mutex mutex_;  // guards the next two
  bool asking_ = false;
  std::optional<Answer> answer_;
  std::jthread thread_;  // last: uses the rest
};

using std::chrono::milliseconds;

constexpr milliseconds kEscapeWait{50};     // for the rest of a key sequence
constexpr milliseconds kAgeInterval{1000};  // between updates of the displayed age
constexpr std::array kTaken = {SIGWINCH, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT};

// Delivers signals through a descriptor; blocks them in this thread and those that it starts.
class TakenSignals {
 public:
  TakenSignals() {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : kTaken) sigaddset(&set, signal);
    pthread_sigmask(SIG_BLOCK, &set, &before_);
    fd_.Reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  TakenSignals(const TakenSignals&) = delete;
  TakenSignals& operator=(const TakenSignals&) = delete;
  ~TakenSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

  int fd() const { return fd_.get(); }
  int Next() const {
    signalfd_siginfo info;
    return read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo)
                                                              : 0;
  }

 private:
  sigset_t before_;
  base::UniqueFd fd_;
};

// Like Ctrl-C in the job's terminal.
Status AskToStop(const std::string& job_id, const std::stop_token&) {
  AD_ASSIGN_OR_RETURN(const control::JobClient client, control::JobClient::Connect(job_id));
  return client.Signal(SIGINT, "`autodist top`");
}

Result<v1::JobStacks> AskForStacks(const std::string& job_id, const std::stop_token& stop) {
  AD_ASSIGN_OR_RETURN(const control::JobClient client, control::JobClient::Connect(job_id));
  return client.GetStacks({}, true, stop);
}

std::shared_ptr<const TextLines> StacksAsLines(const Result<v1::JobStacks>& stacks,
                                               const TopOptions& options) {
  TextLines lines;
  const std::string text =
      stacks.ok() ? options.stacks_text(*stacks) : "not known: " + Message(stacks.status());
  for (const std::string_view line : base::Split(text, '\n')) {
    lines.push_back({std::string(line), false});
  }
  if (stacks.ok() && !stacks->file().empty()) {
    lines.push_back({"the stacks are in " + stacks->file(), false});
  }
  return std::make_shared<const TextLines>(std::move(lines));
}

// "Log of rank 3, pid 4711 on node2; stderr is yellow".
std::string LogTitle(const v1::JobSnapshot& snapshot, uint32_t rank) {
  std::string title = "Log of rank " + std::to_string(rank);
  const v1::RankSnapshot* const found = snapshot::FindRank(snapshot, rank);
  const v1::NodeSnapshot* const node = found ? snapshot::NodeOf(snapshot, *found) : nullptr;
  if (node && found->has_pid()) {
    title += ", pid " + std::to_string(found->pid()) + " on " + base::Printable(node->address());
  }
  return title + "; stderr is yellow";
}

// Breaks long lines, and indents their continuations.
std::shared_ptr<const TextLines> DiagnosisAsLines(const Result<v1::JobDiagnosis>& diagnosis,
                                                  const TopOptions& options, int columns) {
  constexpr int kIndent = 4;
  TextLines lines;
  const std::string text =
      diagnosis.ok() ? options.why_text(*diagnosis) : "not known: " + Message(diagnosis.status());
  for (const std::string_view line : base::Lines(text)) {
    std::string indent = line.starts_with("  ") ? "  " : "";
    for (const std::string& row : Wrapped(std::string(line), columns - kIndent - 2)) {
      lines.push_back({indent + row, false});
      indent.assign(kIndent, ' ');
    }
  }
  return std::make_shared<const TextLines>(std::move(lines));
}

// Draws on one thread, which others wake.
class Window {
 public:
  Window(const TopOptions& options, Terminal& terminal)
      : options_(options),
        terminal_(terminal),
        painter_(ColoursOf(std::getenv("TERM"), std::getenv("COLORTERM"), std::getenv("NO_COLOR"))),
        woken_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        view_(options.view) {}

  int Run() {
    TakeSize();
    terminal_.Enter();
    while (!done_) {
      Draw();
      Wait();
    }
    terminal_.Leave();
    return signal_;
  }

 private:
  void Wake() const {
    const uint64_t one = 1;
    (void)!write(woken_.get(), &one, sizeof one);
  }

  // Skips frames while the terminal is busy; the next one shows the newest state.
  void Draw() {
    if (changed_ && !terminal_.busy()) {
      changed_ = false;
      const Frame frame = update_.snapshot ? Render(*update_.snapshot, *update_.history, view_)
                                           : RenderWaiting(options_.job_id, view_);
      terminal_.Write(painter_.Draw(frame));
    }
    if (!terminal_.Flush()) done_ = true;
  }

  void Wait() {
    std::array<pollfd, 3> fds = {
        {{terminal_.fd(), POLLIN, 0}, {signals_.fd(), POLLIN, 0}, {woken_.get(), POLLIN, 0}}};
    if (terminal_.busy()) fds[0].events |= POLLOUT;
    const milliseconds limit = keys_.waits() ? kEscapeWait : kAgeInterval;
    const int ready = poll(fds.data(), fds.size(), static_cast<int>(limit.count()));
    if ((fds[1].revents & POLLIN) != 0) TakeSignals();
    if ((fds[2].revents & POLLIN) != 0) TakeNews();
    if ((fds[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) TakeKeys();
    if (ready == 0 && keys_.waits()) {
      std::vector<Key> keys;
      keys_.EndWait(keys);
      TakeKeys(keys);
    }
    TakeAge();
  }

  void TakeSize() {
    const Size size = terminal_.size();
    view_.columns = size.columns;
    view_.rows = size.rows;
    painter_.Forget();
    changed_ = true;
  }

  void TakeSignals() {
    while (const int signal = signals_.Next()) {
      if (signal == SIGWINCH) {
        TakeSize();
      } else if (signal == SIGTSTP) {
        Suspend();
      } else if (signal == SIGCONT) {
        Resume();
      } else {
        signal_ = signal;
        done_ = true;
      }
    }
  }

  // Stops this process until it is continued.
  void Suspend() {
    terminal_.Leave();
    (void)raise(SIGSTOP);
    Resume();
  }
  void Resume() {
    terminal_.Leave();  // another process may have changed its modes
    terminal_.Enter();
    TakeSize();
  }

  void TakeNews() {
    uint64_t count = 0;
    (void)!read(woken_.get(), &count, sizeof count);
    update_ = poller_.Get();
    if (view_.panel.kind == Panel::kLog && update_.log) view_.panel.Grow(update_.log);
    if (const auto stopped = stop_.TakeAnswer()) {
      view_.notice = stopped->ok() ? "asked the job to stop" : Message(*stopped);
    }
    const auto stacks = stacks_.TakeAnswer();
    if (stacks && view_.panel.kind == Panel::kStacks)
      view_.panel.text = StacksAsLines(*stacks, options_);
    const auto diagnosis = why_.TakeAnswer();
    if (diagnosis && view_.panel.kind == Panel::kWhy)
      view_.panel.text = DiagnosisAsLines(*diagnosis, options_, view_.columns);
    changed_ = true;
  }

  void TakeKeys() {
    std::string bytes;
    if (!terminal_.Read(bytes)) done_ = true;
    std::vector<Key> keys;
    keys_.Take(bytes, keys);
    TakeKeys(keys);
  }
  void TakeKeys(const std::vector<Key>& keys) {
    const v1::JobSnapshot unknown;
    for (const Key& key : keys) {
      const bool open = view_.panel.open();
      Obey(Press(key, update_.snapshot ? *update_.snapshot : unknown, view_));
      if (open && !view_.panel.open()) poller_.Follow(std::nullopt);
      changed_ = true;
    }
  }

  void Obey(Command command) {
    switch (command) {
      case Command::kNone:
        break;
      case Command::kQuit:
        done_ = true;
        break;
      case Command::kSuspend:
        Suspend();
        break;
      case Command::kRedraw:
        painter_.Forget();
        break;
      case Command::kOpenLog:
        view_.panel = {.kind = Panel::kLog, .title = LogTitle(*update_.snapshot, *view_.selected)};
        poller_.Follow(view_.selected);
        break;
      case Command::kTakeStacks:
        view_.panel = {.kind = Panel::kStacks, .title = "What each rank is doing"};
        stacks_.Start();
        break;
      case Command::kAskWhy:
        view_.panel = {.kind = Panel::kWhy,
                       .title = "Why: takes about 5 seconds, up to two minutes with gdb"};
        why_.Start();
        break;
      case Command::kStop:
        view_.notice = "asking to stop …";
        stop_.Start();
        break;
    }
  }

  void TakeAge() {
    constexpr milliseconds kToTell{3000};
    view_.no_answer = update_.issue;
    if (!update_.snapshot || !Runs(update_.snapshot->job())) {
      view_.chief_silence = milliseconds(0);
      return;
    }
    const auto age = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() -
                                                              poller_.Get().answered);
    changed_ = changed_ || age >= kToTell || view_.chief_silence >= kToTell;
    view_.chief_silence = age;
  }

  const TopOptions& options_;
  Terminal& terminal_;
  Painter painter_;
  const base::UniqueFd woken_;
  const TakenSignals signals_;  // created before any threads
  KeyReader keys_;
  ViewState view_;
  SnapshotUpdate update_{nullptr, std::make_shared<v1::History>(), nullptr, OkStatus(), {}};
  bool changed_ = true;
  bool done_ = false;
  int signal_ = 0;
  Request<Status> stop_{std::bind_front(AskToStop, options_.job_id), [this] { Wake(); }};
  Request<Result<v1::JobStacks>> stacks_{std::bind_front(AskForStacks, options_.job_id),
                                         [this] { Wake(); }};
  Request<Result<v1::JobDiagnosis>> why_{
      std::bind_front(control::DiagnoseJobNamed, options_.job_id), [this] { Wake(); }};
  // last: its thread wakes the window
  JobPoller poller_{options_.job_id, options_.interval, [this] { Wake(); }};
};

}  // namespace

Result<int> ShowTop(const TopOptions& options) {
  AD_ASSIGN_OR_RETURN(const std::unique_ptr<Terminal> terminal, Terminal::Open());
  Window window(options, *terminal);
  return window.Run();
}

Result<std::string> TopOnce(const TopOptions& options) {
  control::SnapshotClient reader(options.job_id);
  AD_ASSIGN_OR_RETURN(const auto snapshot, reader.Snapshot());
  const auto history = reader.History();
  ViewState view = options.view;
  view.rows = 0;
  return Render(*snapshot, history.ok() ? *history : v1::History(), view).Text();
}

}  // namespace autodist::top
