// The store with which the ranks of Horovod programs exchange their addresses. Protocol:
// horovod/runner/http/http_server.py: PUT, GET and DELETE of /SCOPE/KEY; 404 means that the key is
// not set yet.
#pragma once

namespace autodist::agent {

// `autodist-agent horovod-store ADDRESS PORT`: serves until it is killed. Returns the exit code.
int HorovodStore(int argc, char** argv);

}  // namespace autodist::agent
