#include "web/server.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/embedded_file.h"
#include "base/listen_address.h"
#include "base/unix_socket.h"
#include "http/server.h"
#include "web/access.h"
#include "web/api.h"

namespace autodist::web {

std::span<const base::EmbeddedFile> PageFiles();  // the files of the page

namespace {

constexpr char kForwarded[] = "localhost:8080";

// Enough for the viewers' streams and their few other requests.
constexpr size_t kMaxConnections = 256;
// Of clients without the cookie: any local process that knows the port.
constexpr size_t kMaxStrangers = 128;

// Sent with all answers. The page loads and sends nothing across origins, and output of ranks stays
// text even if it gets into the page.
constexpr std::pair<const char*, const char*> kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
     "img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"},
    {"X-Content-Type-Options", "nosniff"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cache-Control", "no-store"}};

std::string_view TypeOf(std::string_view name) {
  return name.ends_with(".js")    ? "text/javascript; charset=utf-8"
         : name.ends_with(".css") ? "text/css; charset=utf-8"
                                  : "text/html; charset=utf-8";
}

http::Answer FileOf(const http::Request& request) {
  const std::string name = request.path == "/" ? "index.html" : request.path.substr(1);
  const auto file =
      std::ranges::find(PageFiles(), std::string_view(name), &base::EmbeddedFile::name);
  if (request.method != "GET" || file == PageFiles().end()) {
    return http::Refusal(404, "Not found.");
  }
  return {.type = std::string(TypeOf(name)), .body = std::string(file->content)};
}

http::Answer WithHeaders(http::Answer answer) {
  answer.headers.insert(answer.headers.end(), std::begin(kHeaders), std::end(kHeaders));
  return answer;
}

}  // namespace

Result<base::UniqueFd> ListenAtPath(const std::string& path) {
  struct stat info;
  if (lstat(path.c_str(), &info) == 0 && (!S_ISSOCK(info.st_mode) || base::HasListener(path))) {
    return Error(StatusCode::kAlreadyExists, path + " already exists");
  }
  return base::ListenAt(path);
}

Server::Server(Options options) : options_(std::move(options)) {}

Result<std::unique_ptr<Server>> Server::Start(Options options) {
  std::unique_ptr<Server> server(new Server(std::move(options)));
  AD_RETURN_IF_ERROR(server->Listen());
  return server;
}

Status Server::Listen() {
  base::UniqueFd listening;
  std::string host = options_.forwarded.empty() ? kForwarded : options_.forwarded;
  std::optional<base::IpAddress> address;
  if (options_.socket.empty()) {
    AD_ASSIGN_OR_RETURN(const auto wanted, base::ListenAddress::Parse(options_.address));
    AD_ASSIGN_OR_RETURN(base::Listening here, base::Listen(wanted));
    listening = std::move(here.socket);
    host = here.address.ToString();
    address = here.address.ip;
    is_local_ = here.address.ip.IsLoopback();
  } else {
    AD_ASSIGN_OR_RETURN(listening, ListenAtPath(options_.socket));
  }
  access_ = std::make_unique<Access>(options_.control);
  api_ = std::make_unique<Api>(*access_, options_.job, options_.only_job, stop_.get_token());
  url_ = "http://" + host + "/?token=" + access_->token();
  const http::Handlers handlers = {[this](const http::Request& request) -> http::Admission {
                                     auto instead = access_->Check(request);
                                     if (!instead) return {.authenticated = true};
                                     return {WithHeaders(*std::move(instead))};
                                   },
                                   [this](const http::Request& request) {
                                     return WithHeaders(request.path.starts_with("/api/")
                                                            ? api_->Handle(request)
                                                            : FileOf(request));
                                   }};
  AD_ASSIGN_OR_RETURN(http_, http::Server::Start(std::move(listening),
                                                 {.listening = address,
                                                  .max_strangers = kMaxStrangers,
                                                  .max_authenticated = kMaxConnections},
                                                 handlers));
  return OkStatus();
}

Server::~Server() {
  stop_.request_stop();
  http_.reset();
  if (!options_.socket.empty() && access_) unlink(options_.socket.c_str());
}

}  // namespace autodist::web
