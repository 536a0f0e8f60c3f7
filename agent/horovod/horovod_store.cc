#include "agent/horovod/horovod_store.h"

#include <httplib.h>

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace autodist::agent {
namespace {

constexpr size_t kLargestValue = 1 << 20;   // bytes
constexpr size_t kLargestStore = 64 << 20;  // bytes, keys and values together
constexpr char kAnyKey[] = "/.+";

class Store {
 public:
  // false: the limit would be exceeded.
  bool Put(const std::string& key, const std::string& value) {
    const std::lock_guard lock(mutex_);
    const size_t more = key.size() + value.size();
    if (size_ + more > kLargestStore) return false;
    Remove(key);
    size_ += more;
    values_[key] = value;
    return true;
  }
  std::optional<std::string> Get(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = values_.find(key);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  void Delete(const std::string& key) {
    const std::lock_guard lock(mutex_);
    Remove(key);
  }

 private:
  void Remove(const std::string& key) {
    const auto found = values_.find(key);
    if (found == values_.end()) return;
    size_ -= found->first.size() + found->second.size();
    values_.erase(found);
  }

  std::mutex mutex_;
  size_t size_ = 0;  // guarded by mutex_
  std::map<std::string, std::string> values_;
};

int Serve(const std::string& address, int port) {
  Store store;
  httplib::Server server;
  server.set_payload_max_length(kLargestValue);
  // Without SO_REUSEPORT, with which another job's store could share the port.
  server.set_socket_options([](socket_t socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
  server.Put(kAnyKey, [&](const httplib::Request& request, httplib::Response& response) {
    response.status = store.Put(request.path, request.body) ? 200 : 507;
  });
  server.Get(kAnyKey, [&](const httplib::Request& request, httplib::Response& response) {
    if (const auto value = store.Get(request.path)) {
      response.set_content(*value, "application/octet-stream");
    } else {
      response.status = 404;
    }
  });
  server.Delete(kAnyKey, [&](const httplib::Request& request, httplib::Response&) {
    store.Delete(request.path);
  });
  if (!server.bind_to_port(address.c_str(), port)) {
    std::fprintf(stderr, "port %d of %s: %s\n", port, address.c_str(), std::strerror(errno));
    return 1;
  }
  return server.listen_after_bind() ? 0 : 1;  // until it is killed with the job
}

}  // namespace

int HorovodStore(int argc, char** argv) {
  uint16_t port = 0;
  const char* const end = argc == 4 ? argv[3] + std::strlen(argv[3]) : nullptr;
  if (!end || std::from_chars(argv[3], end, port).ptr != end || port == 0) {
    std::fprintf(stderr, "usage: autodist-agent horovod-store ADDRESS PORT\n");
    return 2;
  }
  return Serve(argv[2], port);
}

}  // namespace autodist::agent
